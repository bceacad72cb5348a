import type { SpoolMode } from "./delivery-queue.ts";
import type { RecordType } from "./record-type.ts";

/** The configuration that all outputs to stores have; plain data. */
export interface DeliveryConfig {
  /** The label of its metrics, and the name of its directory of state: lower-case letters, digits, dashes. */
  readonly name: string;
  readonly recordTypes: readonly RecordType[];
  /** Of the records that it takes, in the language of filters; empty: all. It was checked. */
  readonly filter: string;
  /** Flow records a second; 0: as many as there are. */
  readonly thinRate: number;
  /** Whether `flow.bytes` and its kin are estimates by the sampling rate. */
  readonly hasScaledCounters: boolean;
  readonly dropFields: readonly string[];
  /** Whether fields have the names of the Elastic Common Schema. Whatever else names fields does so before that. */
  readonly isEcs: boolean;
  /** The field of time that `@timestamp` is taken from; left out: it stays. */
  readonly timestampField?: string;
  readonly batchBytes: number;
  readonly batchRecords: number;
  readonly batchDeadlineMs: number;
  /** Bytes that may wait in memory, and are being sent. */
  readonly queueBytes: number;
  readonly spoolMode: SpoolMode;
  /** Where the spool and the dead letters are; empty: there are none. */
  readonly stateDirectory: string;
  readonly spoolBytes: number;
  readonly spoolWhenFull: "drop_oldest" | "drop_newest";
  readonly deadLetterBytes: number;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}
