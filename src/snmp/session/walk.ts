import { errorStatus, errorStatusName } from "./error-status.ts";
import type { Oid } from "./oid.ts";
import { createRepetitions, type Repetitions } from "./repetitions.ts";
import type { Session, SnmpResponse } from "./session.ts";
import type { SnmpError } from "./snmp-error.ts";
import type { VarBind } from "./var-bind.ts";
import { advanceColumn, createColumn, endColumn, type WalkColumn, type WalkEnd } from "./walk-column.ts";

export interface WalkSummary {
  /** Whether every root was read to its end. */
  readonly isComplete: boolean;
  /** For each root, in the order given. */
  readonly ends: readonly WalkEnd[];
  /** What went wrong with the first root that is incomplete, in words; undefined when complete. */
  readonly detail: string | undefined;
  /** The failed request that ended the walk of all roots that had not ended by then. */
  readonly error: SnmpError | undefined;
  /** Requests asked, retries left out. */
  readonly requests: number;
}

export interface WalkOptions {
  /** Rows to ask for in one request; 0 or left out is automatic. A failure halves it in either case. */
  readonly maxRepetitions?: number;
  /** Most identifiers in one request; more roots than that are walked one group after the other. Default 64. */
  readonly maxOids?: number;
  /** What is known of the agent from earlier walks, and learns from this one. */
  readonly repetitions?: Repetitions;
  /** Most values of one root, against an agent that makes up new ones for ever. Default one million. */
  readonly maxValues?: number;
  /** Asked before each request with the number of those before it: a text ends the walk, and says why. */
  readonly stop?: (requests: number) => string | undefined;
}

/** An agent that lets this many requests in a row time out is asked no more in this walk. */
const maxTimeouts = 2;

/**
 * Reads every instance below each root, all roots in the same requests, so that the columns of a table come row by row:
 * by GetBulk, in version 1 by GetNext. Values go to `onValues` as they come, `root` being an index of `roots`; they are
 * in ascending order within a root. What was delivered stays delivered when the walk fails: the summary says which
 * roots are incomplete. Rejects only with what `onValues` throws.
 */
export async function walk(
  session: Session,
  roots: readonly Oid[],
  onValues: (root: number, varbinds: readonly VarBind[]) => void,
  options: WalkOptions = {},
): Promise<WalkSummary> {
  const { maxRepetitions = 0, maxOids = 64, maxValues = 1_000_000 } = options;
  const repetitions = options.repetitions ?? createRepetitions();
  const columns = roots.map(createColumn);
  let requests = 0;
  let timeouts = 0;
  let error: SnmpError | undefined;
  /** Columns in one request; halved when the agent finds even one row too big. */
  let width = Math.max(1, maxOids);

  while (error === undefined) {
    const group = columns.filter((column) => column.end === undefined).slice(0, width);
    if (group.length === 0) break;
    const reason = options.stop?.(requests);
    if (reason !== undefined) {
      for (const column of columns) if (column.end === undefined) endColumn(column, "too_many", reason);
      break;
    }
    const fitting = Math.max(1, Math.floor(repetitions.values() / group.length));
    const rows = session.version === "1" ? 1 : Math.min(fitting, maxRepetitions > 0 ? maxRepetitions : fitting);
    const asked = rows * group.length;
    requests++;
    const response = await askNext(session, group, rows);
    if ("code" in response) {
      if (response.code === "timeout" && rows > 1) {
        repetitions.onFailure(asked);
        if (++timeouts < maxTimeouts) continue;
      }
      error = response;
    } else if (response.errorStatus === errorStatus.tooBig && rows > 1) {
      repetitions.onFailure(asked);
    } else if (response.errorStatus !== 0) {
      if (!endAtFault(group, response)) width = Math.floor(group.length / 2);
    } else {
      if (rows === fitting && response.varbinds.length === asked) repetitions.onFull();
      deliver(group, response.varbinds, maxValues, onValues);
    }
    if (error === undefined) timeouts = 0;
  }

  for (const column of columns) if (column.end === undefined) endColumn(column, "failed", error?.message);
  const incomplete = columns.find((column) => column.end !== "end");
  return {
    isComplete: incomplete === undefined,
    ends: columns.map((column) => column.end ?? "failed"),
    detail: incomplete?.detail,
    error,
    requests,
  };
}

async function askNext(
  session: Session,
  group: readonly WalkColumn[],
  rows: number,
): Promise<SnmpResponse | SnmpError> {
  const oids = group.map((column) => column.last);
  try {
    return await (session.version === "1" ? session.getNext(oids) : session.getBulk(oids, 0, rows));
  } catch (error) {
    return error as SnmpError;
  }
}

/**
 * Ends the column that an error status is about. False when it is about all of several, or about one that the agent does
 * not name: fewer in a request will show.
 */
function endAtFault(group: readonly WalkColumn[], { errorStatus: status, errorIndex }: SnmpResponse): boolean {
  const isAlone = group.length === 1;
  if (status === errorStatus.tooBig && !isAlone) return false;
  const column = isAlone ? group[0] : group[errorIndex - 1];
  if (column === undefined) return false;
  // In version 1 noSuchName says that nothing comes after the identifier.
  if (status === errorStatus.noSuchName) endColumn(column, "end");
  else endColumn(column, "error_status", errorStatusName(status));
  return true;
}

/** Hands each column its part of an answer, which comes row by row. */
function deliver(
  group: readonly WalkColumn[],
  varbinds: readonly VarBind[],
  maxValues: number,
  onValues: (root: number, varbinds: readonly VarBind[]) => void,
): void {
  for (const [i, column] of group.entries()) {
    if (varbinds.length === 0) endColumn(column, "empty_answer");
    const taken: VarBind[] = [];
    for (let j = i; j < varbinds.length && column.end === undefined; j += group.length) {
      const varbind = varbinds[j] as VarBind;
      if (advanceColumn(column, varbind, maxValues)) taken.push(varbind);
    }
    if (taken.length > 0) onValues(column.root, taken);
  }
}
