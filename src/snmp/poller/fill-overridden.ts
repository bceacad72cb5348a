import { getScalars } from "../discovery/get-scalars.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { AttributeReference } from "../definitions/definitions.ts";
import { holdValue } from "../values/held-value.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";
import { suffixOf, type PolledRow, type PolledRows } from "./poll-object.ts";

/** Another object of the same poll with what was read of it; undefined when nothing was. */
export interface ReadObject {
  readonly object: PolledObject;
  readonly polled: PolledRows;
}

/**
 * Gives each row the values of overridden columns that nothing overrides in this row, and takes away the others. Where
 * the overriding column could not be read to its end, a row without a value of it says nothing, and nothing is read.
 *
 * @param readingOf waits for the object to be read.
 * @param inTurn runs requests when it is their turn.
 */
export async function fillOverridden(
  session: Session,
  { object, polled }: ReadObject,
  readingOf: (objectId: string) => Promise<ReadObject | undefined>,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  maxOids: number,
): Promise<PolledRows> {
  const missing: { readonly row: PolledRow; readonly column: number }[] = [];
  for (const { column, by } of object.overridden) {
    const isOverridden = await overriddenRows(by, by.object === object.id ? { object, polled } : readingOf(by.object));
    const isWalked = object.walked.includes(column);
    for (const row of polled.rows) {
      const overridden = isOverridden(row);
      if (overridden !== false && isWalked) row.values[column] = undefined;
      if (overridden === false && !isWalked) missing.push({ row, column });
    }
  }
  const rows = object.isTable ? polled.rows.filter(hasValue) : polled.rows;
  if (missing.length === 0) return { ...polled, rows };
  const oids = missing.map(({ row, column }) => [...(object.columns[column] as PolledColumn).oid, ...suffixOf(row)]);
  try {
    const { isComplete } = await inTurn(() =>
      getScalars(session, oids, maxOids, (i, value) => {
        const { row, column } = missing[i] as (typeof missing)[number];
        row.values[column] = holdValue(value);
      }),
    );
    if (isComplete) return { ...polled, rows };
    const detail = polled.detail ?? "the device answered with an error";
    return { ...polled, rows, isComplete: false, detail };
  } catch (error) {
    if (!(error instanceof SnmpError)) throw error;
    return { ...polled, rows, isComplete: false, detail: polled.detail ?? error.message, error: polled.error ?? error };
  }
}

/** Says of a row whether the attribute has a value there; undefined where that is not known. */
async function overriddenRows(
  by: AttributeReference,
  reading: ReadObject | undefined | Promise<ReadObject | undefined>,
): Promise<(row: PolledRow) => boolean | undefined> {
  const read = await reading;
  const position = read?.object.columns.findIndex(({ attribute }) => attribute.name === by.attribute) ?? -1;
  if (read === undefined || position < 0) return () => undefined;
  const { rows, isComplete } = read.polled;
  const present = new Set(rows.filter(({ values }) => values[position] !== undefined).map(({ key }) => key));
  return ({ key }) => present.has(key) || (isComplete ? false : undefined);
}

function hasValue({ values }: PolledRow): boolean {
  return values.some((value) => value !== undefined);
}
