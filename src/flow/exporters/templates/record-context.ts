import type { Value } from "../../../record/index.ts";
import type { ExportClock } from "../../elements/mapping/field-source.ts";

/** What the records of one datagram have in common. */
export interface RecordContext {
  /** Fields that come first in every record. */
  readonly head: readonly (readonly [name: string, value: Value])[];
  readonly clock: ExportClock;
  readonly bootTime: number | undefined;
}
