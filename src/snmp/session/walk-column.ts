import { compareOids, formatOid, oidStartsWith, type Oid } from "./oid.ts";
import { isException, type VarBind } from "./var-bind.ts";

/**
 * Why the walk of one root ended. `end`: every instance below it was read. Everything else leaves it incomplete:
 *
 * - `not_increasing`: the agent answered with an identifier that does not come after the last
 * - `error_status`: the agent answered with an error, such as genErr
 * - `empty_answer`: the agent answered without error and without values
 * - `too_many`: there were more values than allowed
 * - `failed`: a request failed
 */
export type WalkEnd = "end" | "not_increasing" | "error_status" | "empty_answer" | "too_many" | "failed";

/** A root being walked: how far it is, and why it ended when it has. */
export interface WalkColumn {
  /** Index of the root among those of the walk. */
  readonly root: number;
  readonly prefix: Oid;
  /** The last identifier read; the prefix at first. */
  last: Oid;
  values: number;
  end: WalkEnd | undefined;
  /** What ended it, in words, unless that was the end. */
  detail: string | undefined;
}

export function createColumn(prefix: Oid, root: number): WalkColumn {
  return { root, prefix, last: prefix, values: 0, end: undefined, detail: undefined };
}

export function endColumn(column: WalkColumn, end: WalkEnd, detail?: string): void {
  column.end = end;
  if (end !== "end") column.detail = `${formatOid(column.prefix)}: ${detail ?? end}`;
}

/** Moves the column to the next answer for it, or ends it. @returns whether the answer lies below its root. */
export function advanceColumn(column: WalkColumn, varbind: VarBind, maxValues: number): boolean {
  if (isException(varbind)) endColumn(column, "end");
  else if (compareOids(varbind.oid, column.last) <= 0) {
    endColumn(column, "not_increasing", `${formatOid(varbind.oid)} follows ${formatOid(column.last)}`);
  } else if (!oidStartsWith(varbind.oid, column.prefix)) endColumn(column, "end");
  else if (column.values === maxValues) endColumn(column, "too_many", `more than ${maxValues} values`);
  else {
    column.last = varbind.oid;
    column.values++;
    return true;
  }
  return false;
}
