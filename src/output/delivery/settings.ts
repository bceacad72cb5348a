import {
  bool,
  filterText,
  GiB,
  int,
  list,
  MiB,
  oneOf,
  plainText,
  row,
  size,
  type Revealed,
  type ValuesOf,
} from "../../base/settings/index.ts";

/** Kinds of records that outputs select by. `as_path_hop` is accepted for settings of NetObserv's users; no record has this type. */
export const recordTypes = ["flow", "flow_option", "telemetry", "as_path_hop"] as const;
export type RecordType = (typeof recordTypes)[number];

const spoolModes = ["off", "overflow", "always"] as const;
export type SpoolMode = (typeof spoolModes)[number];

export const filterRow = row(
  filterText,
  "",
  "Only records that match this filter go to this output. Empty is all records.",
  "src in 10.0.0.0/8 and dst.tag = pci",
);

export const thinRateRow = row(
  int(0, 10_000_000, "records a second"),
  0,
  "The most flow records that go to this output. Of more, one stands for several: its sampling rate, bytes and packets are multiplied. 0 is no limit.",
);

export const rollupFieldsRow = row(
  list(plainText),
  [],
  "Fields by which flow records of SVC_PROCESSOR_ROLLUP_INTERVAL become one, with their bytes and packets added up. Empty is every record as it is.",
  "src.as,dst.as,proto",
);

/** Returns the settings of every output to a store named `store`. */
export const commonRows = (store: string, addresses = "ADDRESSES") => ({
  ENABLE: row(bool, false, `Sends records to ${store}.`, { needs: [{ must: { [addresses]: "set" } }] }),
  ALLOWED_RECORD_TYPES: row(
    list(oneOf(recordTypes)),
    ["as_path_hop", "flow_option", "flow", "telemetry"],
    "The records that this output takes: `flow`, `flow_option` (options data of exporters), `telemetry` (SNMP and sFlow counters). `as_path_hop` is accepted; no such records exist.",
  ),
  FILTER: filterRow,
  THIN_RATE: thinRateRow,
  ROLLUP_FIELDS: rollupFieldsRow,
  DROP_FIELDS: row(
    list(plainText),
    [],
    "Fields that this output leaves out of its records.",
    "flow.export.sequence,flow.export.uptime",
  ),
  TIMESTAMP_SOURCE: row(
    oneOf(["collect", "export", "start", "end"]),
    "collect",
    "What `@timestamp` is of flows: when they were received, exported, began or ended. Records without that time, or with one more than a day from receipt, keep the time of receipt.",
  ),
  ECS_ENABLE: row(
    bool,
    false,
    "Gives fields the names of the Elastic Common Schema where it has them. Filters, DROP_FIELDS and other settings name fields as before.",
  ),
  BATCH_DEADLINE: row(
    int(1, 600_000, "milliseconds"),
    2000,
    "The longest time that a record waits for its batch to fill.",
  ),
  BATCH_MAX_BYTES: row(
    size(1024, 256 * MiB),
    8 * MiB,
    "The most bytes of a batch, before compression. A longer record is a batch by itself.",
  ),
  QUEUE_SIZE: row(
    size(MiB, 4 * GiB),
    64 * MiB,
    "The queue in memory, requests in flight included. When it is full, records go to the spool, or are dropped and counted.",
  ),
  SPOOL_MODE: row(
    oneOf(spoolModes),
    "overflow",
    "Where batches wait. `off`: in memory. `overflow`: on disk while half the queue is full or the store does not answer. `always`: on disk, synced. Without SVC_STATE_DIRECTORY_PATH it is `off`.",
    { needs: [{ is: "always", must: { SVC_STATE_DIRECTORY_PATH: "set" } }] },
  ),
  SPOOL_MAX_SIZE: row(size(8 * MiB, 1024 * GiB), 4 * GiB, "The most bytes of the spool on disk."),
  SPOOL_WHEN_FULL: row(
    oneOf(["drop_oldest", "drop_newest"]),
    "drop_oldest",
    "Which records are dropped and counted when the spool is full.",
  ),
  DEAD_LETTER_MAX_SIZE: row(
    size(MiB, 64 * GiB),
    64 * MiB,
    "Rotates the file of dead letters (refused records) to `.1` when it has reached this size. One rotated file is kept.",
  ),
  REQUESTS_IN_FLIGHT: row(int(1, 64, "requests"), 4, "The most batches that are sent at the same time."),
  TIMEOUT: row(int(1, 3600, "seconds"), 30, "How long to wait for the answer to a request before it is sent again."),
  RETRY_BACKOFF: row(
    int(1, 600_000, "milliseconds"),
    1000,
    "How long to wait before the first retry. The wait doubles with each further one. Retries do not end.",
  ),
  RETRY_BACKOFF_MAX: row(int(1, 3_600_000, "milliseconds"), 30_000, "The longest wait between retries."),
});

export type CommonRows = ReturnType<typeof commonRows>;

/** The values of the settings that all outputs to stores have, as an output's thread receives them: plain data. */
export type CommonSettings = Revealed<ValuesOf<CommonRows>>;

/** The data of the collector for an output to a store, besides its settings; plain data. */
export interface DeliveryContext {
  /** The label of its metrics, and the name of its state directory: lower-case letters, digits, dashes. */
  readonly name: string;
  /** The directory of the spool and the dead letters; empty: there are none. */
  readonly stateDirectory: string;
  readonly maxBatchRecords: number;
  /** True if `flow.bytes` and related fields are estimates by the sampling rate. */
  readonly hasScaledCounters: boolean;
}
