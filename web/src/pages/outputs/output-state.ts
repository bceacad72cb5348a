import type { Refusal } from "../../api/refusals.ts";

/** What `GET /api/v1/outputs` says of one output. An output to a file or a pipe has its state and its counts alone. */
export interface OutputState {
  readonly name: string;
  readonly state: "connecting" | "working" | "failing" | "restarting";
  readonly fault?: string;
  readonly faultSince?: number;
  readonly queueBytes?: number;
  readonly waitingRecords?: number;
  readonly oldestAt?: number;
  readonly spoolMode?: "off" | "overflow" | "always";
  readonly spoolBytes?: number;
  readonly spoolMaxBytes?: number;
  readonly inFlight?: number;
  readonly deliveredRecords?: number;
  readonly retriedRecords?: number;
  readonly refusedRecords?: number;
  readonly droppedRecords?: number;
  readonly drops?: readonly { readonly reason: string; readonly records: number }[];
  readonly latency?: { readonly medianMs: number; readonly slowestMs: number };
  readonly refusals?: readonly Refusal[];
  readonly deadLetters?: DeadLetters;
  readonly canTest?: boolean;
}

/** Refused records that are kept. */
export interface DeadLetters {
  readonly records: number;
  readonly bytes: number;
  readonly isResending: boolean;
  /** The most frequent first. Times are milliseconds since the epoch. */
  readonly reasons: readonly {
    readonly reason: string;
    readonly records: number;
    readonly firstAt: number;
    readonly at: number;
  }[];
}

/** The result of a test. */
export interface OutputTest {
  readonly ok: boolean;
  readonly steps: readonly string[];
  readonly warnings: readonly string[];
  readonly fault?: string;
  readonly ms: number;
}
