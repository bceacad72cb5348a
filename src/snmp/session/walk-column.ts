import { compareOids, formatOid, oidStartsWith, type Oid } from "./oid.ts";
import { isException, type VarBind } from "./var-bind.ts";

/**
 * Why the walk of one root ended. `end`: every instance below it was read. Everything else leaves it incomplete:
 *
 * - `not_increasing`: the agent answered with an identifier that it has given before, or one before the root
 * - `no_instance`: the agent said, amid the column, that there is no instance
 * - `error_status`: the agent answered with an error, such as genErr
 * - `empty_answer`: the agent answered without error and without values
 * - `too_many`: there were more values than allowed
 * - `failed`: a request failed
 */
export type WalkEnd =
  | "end"
  | "not_increasing"
  | "no_instance"
  | "error_status"
  | "empty_answer"
  | "too_many"
  | "failed";

/** A root being walked: how far it is, and why it ended when it has. */
export interface WalkColumn {
  /** Index of the root among those of the walk. */
  readonly root: number;
  readonly prefix: Oid;
  /** The last identifier read; the prefix at first. */
  last: Oid;
  values: number;
  end: WalkEnd | undefined;
  /** What ended it or is odd about it, in words. */
  detail: string | undefined;
  /** Whether its identifiers have ascended so far. */
  isOrdered: boolean;
  /** Hashes of what it has had: an array while it is in order, which needs no look-up. */
  readonly seen: number[];
  lookUp: Set<number> | undefined;
}

export function createColumn(prefix: Oid, root: number): WalkColumn {
  return {
    root,
    prefix,
    last: prefix,
    values: 0,
    end: undefined,
    detail: undefined,
    isOrdered: true,
    seen: [],
    lookUp: undefined,
  };
}

export function endColumn(column: WalkColumn, end: WalkEnd, detail?: string): void {
  column.end = end;
  if (end !== "end") column.detail = `${formatOid(column.prefix)}: ${detail ?? end}`;
}

/**
 * Moves the column to the next answer for it, or ends it. Agents have tables that are not in order: as long as nothing
 * comes twice, the walk goes on.
 *
 * @returns whether the answer is a value below its root.
 */
export function advanceColumn(column: WalkColumn, varbind: VarBind, maxValues: number): boolean {
  const { prefix, last } = column;
  const { oid, type } = varbind;
  const isBelow = oidStartsWith(oid, prefix);
  const order = compareOids(oid, last);
  if (type === "noSuchInstance" && isBelow && order !== 0) return moveTo(column, oid, order, maxValues) && false;
  if (type === "noSuchInstance" && column.values > 0)
    endColumn(column, "no_instance", "noSuchInstance amid the column");
  else if (isException(varbind)) endColumn(column, "end");
  else if (!isBelow && order > 0) endColumn(column, "end");
  else if (!isBelow || oid.length === prefix.length) endColumn(column, "not_increasing", orderText(oid, last));
  else return moveTo(column, oid, order, maxValues);
  return false;
}

/**
 * @param order of the identifier and the last one.
 * @returns false when the column ends there.
 */
function moveTo(column: WalkColumn, oid: Oid, order: number, maxValues: number): boolean {
  const { prefix, last } = column;
  if (order <= 0 && column.isOrdered) {
    column.isOrdered = false;
    column.lookUp = new Set(column.seen);
    column.detail = `${formatOid(prefix)}: not in order, ${orderText(oid, last)}`;
  }
  const hash = hashBelow(oid, prefix.length);
  if (column.lookUp?.has(hash) === true) endColumn(column, "not_increasing", orderText(oid, last));
  else if (column.values === maxValues) endColumn(column, "too_many", `more than ${maxValues} values`);
  else {
    if (column.lookUp === undefined) column.seen.push(hash);
    else column.lookUp.add(hash);
    column.last = oid;
    column.values++;
    return true;
  }
  return false;
}

function orderText(oid: Oid, last: Oid): string {
  return `${formatOid(oid)} follows ${formatOid(last)}`;
}

/** 53 bits of what follows the root. Of one number they are always different. */
function hashBelow(oid: Oid, from: number): number {
  let high = 0x811c9dc5;
  let low = 0x9e3779b9;
  for (let i = from; i < oid.length; i++) {
    const part = oid[i] as number;
    high = Math.imul(high ^ part, 0x01000193);
    low = Math.imul(low ^ part, 0x85ebca6b);
    low ^= low >>> 13;
  }
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}
