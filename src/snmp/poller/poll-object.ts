import { getScalars } from "../session/walk.ts";
import type { Oid, VarBind } from "../session/ber.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { walk } from "../session/walk.ts";
import type { Clock } from "../../base/report/index.ts";
import { holdValue, type HeldValue, convertValue, heldValue, readNumber } from "../values/convert-value.ts";
import type { MemoryLease } from "../limits.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";
import type { Attribute, AttributeReference } from "../definitions/definitions.ts";

/** One row of a table, or the only row of a group of scalars. */
export interface PolledRow {
  /** The text of the suffix after the attributes' OIDs, without a leading dot; "0" for scalars. */
  readonly key: string;
  /** The values by the position of the column; undefined if the row has no value. */
  readonly values: (HeldValue | undefined)[];
}

/** Returns the suffix that follows the attributes' OIDs. */
export function suffixOf({ key }: PolledRow): Oid {
  return key.includes(".") ? key.split(".").map(Number) : [Number(key)];
}

export interface PolledRows {
  /** The rows in the order of their suffixes as the device gives them. */
  readonly rows: readonly PolledRow[];
  /** True if the device answered for every column to its end. */
  readonly isComplete: boolean;
  /** True if the device gave the rows in the order of their instances; otherwise some rows may be missing. */
  readonly isOrdered: boolean;
  /** A description of the first fault or oddity. */
  readonly detail: string | undefined;
  /** The error of the request that failed, if any. */
  readonly error: SnmpError | undefined;
  /** True if the reading was stopped because there was too much data. */
  readonly isCut: boolean;
  /** The middle of the time of reading, in monotonic ms. */
  readonly at: number;
}

/** The rows that were read, and how the reading ended. */
type ReadRows = Omit<PolledRows, "at">;

/** The limits for the reading of one table. */
interface ReadLimits {
  readonly maxOids: number;
  readonly maxRepetitions: number;
  readonly maxRows: number;
  readonly memory: MemoryLease;
  /** Resolves when a long table may continue. */
  readonly turn: () => Promise<void>;
  /** Reports whether to continue with a long table. */
  readonly isWanted: () => boolean;
}

/** Reads an object. After a failure, the result has what was read before it. Never rejects. */
export async function pollObject(
  session: Session,
  object: PolledObject,
  limits: ReadLimits,
  clock: Clock,
): Promise<PolledRows> {
  const start = clock.monotonic();
  const read = object.isTable
    ? await pollTable(session, object, limits, clock)
    : await pollScalars(session, object, limits.maxOids);
  return { ...read, at: (start + clock.monotonic()) / 2 };
}

async function pollScalars(session: Session, object: PolledObject, maxOids: number): Promise<ReadRows> {
  const oids = object.columns.map(({ oid }) => [...oid, 0]);
  const values: (HeldValue | undefined)[] = oids.map(() => undefined);
  let isComplete = false;
  let error: SnmpError | undefined;
  try {
    ({ isComplete } = await getScalars(session, oids, maxOids, (i, value) => void (values[i] = holdValue(value))));
  } catch (thrown) {
    if (!(thrown instanceof SnmpError)) throw thrown;
    error = thrown;
  }
  const rows = values.some((value) => value !== undefined) ? [{ key: "0", values }] : [];
  const detail = isComplete ? undefined : (error?.message ?? "the device answered with an error");
  return { rows, isComplete, isOrdered: true, detail, error, isCut: false };
}

/** The most requests for a table: an agent may return a row with each answer for ever, and slowly. */
const maxRequests = 50_000;
const maxWalkMs = 600_000;
/** The number of requests after which a walk yields to others after each request. */
const longWalk = 32;

async function pollTable(
  session: Session,
  object: PolledObject,
  { maxRows, memory, turn, isWanted, maxOids, maxRepetitions }: ReadLimits,
  clock: Clock,
): Promise<ReadRows> {
  const roots = object.walked.map((column) => (object.columns[column] as PolledColumn).oid);
  const rows = new Map<string, PolledRow>();
  const start = clock.monotonic();
  let cut: string | undefined;
  const add = (root: number, varbind: VarBind): void => {
    const key = keyBelow(roots[root] as Oid, varbind.oid);
    const value = holdValue(varbind);
    let row = rows.get(key);
    const bytes = bytesOf(value) + (row === undefined ? bytesOfRow(key, object.columns.length) : 0);
    if (row === undefined && rows.size === maxRows) cut = `more than ${maxRows} rows`;
    else if (!memory.take(bytes)) cut = "more rows than there is memory for";
    if (cut !== undefined) return;
    if (row === undefined) rows.set(key, (row = { key, values: object.columns.map(() => undefined) }));
    if (varbind.type !== "Malformed") row.values[object.walked[root] as number] = value;
  };
  const summary = await walk(
    session,
    roots,
    (root, varbinds) => {
      for (const varbind of varbinds) if (cut === undefined) add(root, varbind);
    },
    {
      maxOids,
      maxRepetitions,
      stop: async (asked) => {
        if (asked >= longWalk) await turn();
        if (asked > longWalk && !isWanted()) return "given up";
        if (asked >= maxRequests) cut ??= `more than ${maxRequests} requests`;
        if (clock.monotonic() - start > maxWalkMs) cut ??= `longer than ${maxWalkMs / 1000} seconds`;
        return cut;
      },
    },
  );
  const { isComplete, isOrdered, detail, error } = summary;
  return {
    rows: [...rows.values()],
    isComplete: isComplete && cut === undefined,
    isOrdered,
    detail,
    error,
    isCut: cut !== undefined,
  };
}

/** Returns the suffix after the root, as text. Most rows have one number. */
function keyBelow({ length }: Oid, oid: Oid): string {
  return oid.length === length + 1 ? String(oid[length]) : oid.slice(length).join(".");
}

/** Returns the approximate bytes of a row without its values: the objects, the key and its entry in the map. */
function bytesOfRow(key: string, columns: number): number {
  return 120 + key.length + 8 * columns;
}

function bytesOf({ value }: HeldValue): number {
  if (typeof value === "string") return 72 + value.length;
  return Array.isArray(value) ? 80 + 8 * value.length : 56;
}

/** Another object of the same poll with the rows read; undefined if there are none. */
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
 * Adds the values of overridden columns to each row in which nothing overrides them, and removes the others. If the overriding column
 * could not be read to its end, a row without its value proves nothing, so nothing is read. An overriding value of 0, or an implausible
 * speed, gives way to a value above 0 and is removed from its own row.
 *
 * @param readingOf waits for the object to be read.
 * @param inTurn runs requests when it is their turn.
 * @param zeros decides which values behind an overriding 0 are read.
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

/** Reads cells into their rows. @returns the reason if the reading of the object is incomplete. */
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
  /** True if the other rows certainly have no value of it. */
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

/** The doubtful speed in bits per second: no interface and few aggregates reach it. Some agents report bits in columns of megabits. */
const doubtfulSpeed = 1e13;

function isDoubtful(value: HeldValue | undefined, attribute: Attribute | undefined): boolean {
  if (isZero(value)) return true;
  if (value === undefined || attribute?.syntax.unit !== "bit/s") return false;
  return Number(convertValue(attribute.syntax, heldValue(value)) ?? 0) >= doubtfulSpeed;
}

/** Reports whether a value is more than 0. An ifSpeed at its maximum does not disprove a doubtful speed (RFC 2863). */
function isInstead(value: HeldValue | undefined, overriding: HeldValue | undefined): boolean {
  const number = value && readNumber(heldValue(value));
  return number !== undefined && number > 0 && (isZero(overriding) || number < 0xffff_ffff);
}

function hasValue({ values }: PolledRow): boolean {
  return values.some((value) => value !== undefined);
}

/** The polls of an object from one look at all zeros to the next. */
const pollsBetweenLooks = 16;

interface ZeroLook {
  /** True if no zero is looked at. */
  readonly isOff: boolean;
  /** Reports whether to read the value behind a zero. @param cell of the overridden column. */
  isLookedAt(cell: string): boolean;
  /** Notes that the cell has more than 0. */
  isStuck(cell: string): void;
}

/**
 * The cells of overridden columns that count although the overriding value exists, because that value stays 0. Some agents have wide
 * counters that never move, or a speed of 0 in megabits. To look at a zero costs a value, and most zeros are right. So all are looked
 * at in the first poll and in every sixteenth; the other polls look at those that were stuck then.
 */
export class StuckZeros {
  readonly #objects = new Map<string, { polls: number; stuck: Set<string> }>();

  /** Begins a poll of an object. */
  begin(objectId: string): ZeroLook {
    const known = this.#objects.get(objectId) ?? { polls: 0, stuck: new Set() };
    this.#objects.set(objectId, known);
    const isDue = known.polls++ % pollsBetweenLooks === 0;
    if (isDue) known.stuck = new Set();
    const { stuck } = known;
    return {
      isOff: !isDue && stuck.size === 0,
      isLookedAt: (cell) => isDue || stuck.has(cell),
      isStuck: (cell) => void stuck.add(cell),
    };
  }
}
