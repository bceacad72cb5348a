import { getScalars } from "../discovery/get-scalars.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { Attribute, AttributeReference } from "../definitions/definitions.ts";
import { convertValue } from "../values/convert-value.ts";
import { heldValue, holdValue, type HeldValue } from "../values/held-value.ts";
import { readNumber } from "../values/read-number.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";
import { suffixOf, type PolledRow, type PolledRows } from "./poll-object.ts";
import type { ZeroLook } from "./stuck-zeros.ts";

/** Another object of the same poll with what was read of it; undefined when nothing was. */
export interface ReadObject {
  readonly object: PolledObject;
  readonly polled: PolledRows;
}

/** A value of a row, by the position of its column. */
interface Cell {
  readonly row: PolledRow;
  readonly column: number;
}

/** A cell whose overriding value is doubtful. */
interface DoubtedCell extends Cell {
  readonly zero: Cell;
}

/**
 * Gives each row the values of overridden columns that nothing overrides in this row, and takes away the others. Where
 * the overriding column could not be read to its end, a row without a value of it says nothing, and nothing is read. An
 * overriding 0, or speed that is hardly one, gives way to a value above 0, and is taken away from its own row.
 *
 * @param readingOf waits for the object to be read.
 * @param inTurn runs requests when it is their turn.
 * @param zeros says what is read behind an overriding 0.
 */
export async function fillOverridden(
  session: Session,
  { object, polled }: ReadObject,
  readingOf: (objectId: string) => Promise<ReadObject | undefined>,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  maxOids: number,
  zeros: ZeroLook,
): Promise<PolledRows> {
  const missing: Cell[] = [];
  const doubted: DoubtedCell[] = [];
  for (const { column, by } of object.overridden) {
    const overriding = await overridingColumn(by, by.object === object.id ? { object, polled } : readingOf(by.object));
    const isWalked = object.walked.includes(column);
    for (const row of polled.rows) {
      const other = overriding.rows.get(row.key);
      const isDoubted =
        other !== undefined &&
        !zeros.isOff &&
        isDoubtful(other.values[overriding.column], overriding.attribute) &&
        zeros.isLookedAt(nameOf({ row, column }));
      if (isDoubted) doubted.push({ row, column, zero: { row: other, column: overriding.column } });
      const isWanted = isDoubted || (other === undefined && overriding.isComplete);
      if (!isWanted && isWalked) row.values[column] = undefined;
      if (isWanted && !isWalked) missing.push({ row, column });
    }
  }
  const failed = missing.length === 0 ? {} : await fill(session, object, missing, inTurn, maxOids, polled);
  for (const { row, column, zero } of doubted) {
    if (isInstead(row.values[column], zero.row.values[zero.column])) {
      zeros.isStuck(nameOf({ row, column }));
      zero.row.values[zero.column] = undefined;
    } else row.values[column] = undefined;
  }
  const rows = object.isTable ? polled.rows.filter(hasValue) : polled.rows;
  return { ...polled, rows, ...failed };
}

/** Reads cells into their rows. @returns what makes the reading of the object incomplete. */
async function fill(
  session: Session,
  object: PolledObject,
  cells: readonly Cell[],
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  maxOids: number,
  before: PolledRows,
): Promise<Partial<PolledRows>> {
  const oids = cells.map(({ row, column }) => [...(object.columns[column] as PolledColumn).oid, ...suffixOf(row)]);
  try {
    const { isComplete } = await inTurn(() =>
      getScalars(session, oids, maxOids, (i, value) => {
        const { row, column } = cells[i] as Cell;
        row.values[column] = holdValue(value);
      }),
    );
    return isComplete ? {} : { isComplete: false, detail: before.detail ?? "the device answered with an error" };
  } catch (error) {
    if (!(error instanceof SnmpError)) throw error;
    return { isComplete: false, detail: before.detail ?? error.message, error: before.error ?? error };
  }
}

/** A column that overrides another one, with the rows that have a value of it. */
interface OverridingColumn {
  readonly column: number;
  readonly attribute: Attribute | undefined;
  readonly rows: ReadonlyMap<string, PolledRow>;
  /** Whether the other rows have no value of it. */
  readonly isComplete: boolean;
}

const unknownColumn: OverridingColumn = { column: -1, attribute: undefined, rows: new Map(), isComplete: false };

async function overridingColumn(
  by: AttributeReference,
  reading: ReadObject | undefined | Promise<ReadObject | undefined>,
): Promise<OverridingColumn> {
  const read = await reading;
  const column = read?.object.columns.findIndex(({ attribute }) => attribute.name === by.attribute) ?? -1;
  if (read === undefined || column < 0) return unknownColumn;
  const { rows, isComplete } = read.polled;
  const present = rows.filter(({ values }) => values[column] !== undefined);
  const { attribute } = read.object.columns[column] as PolledColumn;
  return { column, attribute, rows: new Map(present.map((row) => [row.key, row])), isComplete };
}

function nameOf({ row, column }: Cell): string {
  return `${column} ${row.key}`;
}

function isZero(value: HeldValue | undefined): boolean {
  return value?.value === 0 || value?.value === 0n;
}

/** Bits per second: no interface is as fast, few aggregates are. Some agents give in bits what is in megabits. */
const doubtfulSpeed = 1e13;

function isDoubtful(value: HeldValue | undefined, attribute: Attribute | undefined): boolean {
  if (isZero(value)) return true;
  if (value === undefined || attribute?.syntax.unit !== "bit/s") return false;
  return Number(convertValue(attribute.syntax, heldValue(value)) ?? 0) >= doubtfulSpeed;
}

/** Returns whether a value is more than 0. That of ifSpeed at its end says nothing against a doubtful speed (RFC 2863). */
function isInstead(value: HeldValue | undefined, overriding: HeldValue | undefined): boolean {
  const number = value && readNumber(heldValue(value));
  return number !== undefined && number > 0 && (isZero(overriding) || number < 0xffff_ffff);
}

function hasValue({ values }: PolledRow): boolean {
  return values.some((value) => value !== undefined);
}
