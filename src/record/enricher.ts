import type { LineEnricher } from "./line-enricher.ts";
import type { RecordFields } from "./record-fields.ts";
import type { RenderedFields } from "./rendered-fields.ts";

/** Adds to a record what is known about what it names. Never waits and never throws. */
export interface Enricher {
  /**
   * @param rendered for a record that is about to become a line: fields that no other field of the record can have the name
   *   of may be put there instead of into the record.
   */
  enrich(record: RecordFields, rendered?: RenderedFields[]): void;
  /** The same for lines that are written without a record. Without it every record becomes fields: correct, but slower. */
  readonly lines?: LineEnricher | undefined;
}
