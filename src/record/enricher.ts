import type { RecordFields } from "./record-fields.ts";

/** Adds to a record what is known about what it names. Never waits and never throws. */
export interface Enricher {
  enrich(record: RecordFields): void;
}
