import { getScalars } from "../discovery/get-scalars.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { VarBind } from "../session/var-bind.ts";
import { walk } from "../session/walk.ts";
import type { Clock } from "../../base/report/index.ts";
import { holdValue, type HeldValue } from "../values/held-value.ts";
import type { MemoryLease } from "../discovery/memory-budget.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";

/** One row of a table, or the one of a group of scalars. */
export interface PolledRow {
  /** What follows the attributes' OIDs as text, without a leading dot; "0" for scalars. */
  readonly key: string;
  /** By the position of the column; undefined where the row has no value. */
  readonly values: (HeldValue | undefined)[];
}

/** What follows the attributes' OIDs. */
export function suffixOf({ key }: PolledRow): Oid {
  return key.includes(".") ? key.split(".").map(Number) : [Number(key)];
}

export interface PolledRows {
  /** In the order of their suffixes as the device gives them. */
  readonly rows: readonly PolledRow[];
  /** Whether the device answered for every column to its end. */
  readonly isComplete: boolean;
  /** Whether the device gave the rows in the order of their instances; where it did not, it may have passed over some. */
  readonly isOrdered: boolean;
  /** What went wrong first, or is odd. */
  readonly detail: string | undefined;
  /** The request that failed, where one did. */
  readonly error: SnmpError | undefined;
  /** Whether reading was given up because there was too much of it. */
  readonly isCut: boolean;
  /** The middle of the time that reading took, monotonic milliseconds. */
  readonly at: number;
}

/** What was read, and how that ended. */
type ReadRows = Omit<PolledRows, "at">;

/** How much is read of one table, and how. */
export interface ReadLimits {
  readonly maxOids: number;
  readonly maxRepetitions: number;
  readonly maxRows: number;
  readonly memory: MemoryLease;
  /** Resolves when a long table may go on. */
  readonly turn: () => Promise<void>;
  /** Whether to go on with a long table. */
  readonly isWanted: () => boolean;
}

/** Reads an object as it stands. What was read before a failure is there. Never rejects. */
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

/** An agent may give a row with each answer, for ever, and take its time. */
const maxRequests = 50_000;
const maxWalkMs = 600_000;
/** A walk of more requests than this gives way to others after each. */
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
  const paced: Session = {
    ...session,
    async getNext(oids) {
      if (++requests > longWalk) await turn();
      return session.getNext(oids);
    },
    async getBulk(...request) {
      if (++requests > longWalk) await turn();
      return session.getBulk(...request);
    },
  };
  let requests = 0;
  const summary = await walk(
    paced,
    roots,
    (root, varbinds) => {
      for (const varbind of varbinds) if (cut === undefined) add(root, varbind);
    },
    {
      maxOids,
      maxRepetitions,
      stop: (asked) => {
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

/** What follows the root, as text. Most rows have one number. */
function keyBelow({ length }: Oid, oid: Oid): string {
  return oid.length === length + 1 ? String(oid[length]) : oid.slice(length).join(".");
}

/** What a row takes without its values, roughly: the objects, the key and its place in the map. */
function bytesOfRow(key: string, columns: number): number {
  return 120 + key.length + 8 * columns;
}

function bytesOf({ value }: HeldValue): number {
  if (typeof value === "string") return 72 + value.length;
  return Array.isArray(value) ? 80 + 8 * value.length : 56;
}
