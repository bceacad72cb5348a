import { compareOids, formatOid, oidStartsWith, type Oid } from "./ber.ts";
import { hasNoValue, isException, type VarBind } from "./ber.ts";
import { errorStatus, errorStatusName } from "./snmp-error.ts";
import { askEach, isMissing, type Session, type SnmpResponse } from "./session.ts";
import type { SnmpError } from "./snmp-error.ts";

/**
 * The reasons why the walk of one root ended. After `end`, every instance below it was read. All others leave it incomplete:
 *
 * - `not_increasing`: the agent answered with an identifier that it has given before, or one before the root
 * - `no_instance`: the agent answered, within the column, that there is no instance
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

/** The progress of the walk of one root, and the reason of its end. */
interface WalkColumn {
  /** The index of the root among those of the walk. */
  readonly root: number;
  readonly prefix: Oid;
  /** The last identifier read; at first the prefix. */
  last: Oid;
  values: number;
  end: WalkEnd | undefined;
  /** A description of the fault or oddity. */
  detail: string | undefined;
  /** True if its identifiers have ascended so far. */
  isOrdered: boolean;
  /** The hashes of its identifiers so far: an array while they are in order, which needs no look-up. */
  readonly seen: number[];
  lookUp: Set<number> | undefined;
}

function createColumn(prefix: Oid, root: number): WalkColumn {
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

function endColumn(column: WalkColumn, end: WalkEnd, detail?: string): void {
  column.end = end;
  if (end !== "end") column.detail = `${formatOid(column.prefix)}: ${detail ?? end}`;
}

/**
 * Moves the column to its next answer, or ends it. Some agents have tables that are not in order; the walk continues as long as nothing
 * comes twice.
 *
 * @returns true if the answer is a value below its root.
 */
function advanceColumn(column: WalkColumn, varbind: VarBind, maxValues: number): boolean {
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
 * @param order the order of the identifier and the last one.
 * @returns false if the column ends there.
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

/** Returns 53 bits that represent the suffix after the root. Suffixes of one number always differ. */
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

export interface WalkSummary {
  /** True if every root was read to its end. */
  readonly isComplete: boolean;
  /** True if all identifiers came in ascending order; otherwise the agent may have skipped some. */
  readonly isOrdered: boolean;
  /** The ends of the roots, in the order given. */
  readonly ends: readonly WalkEnd[];
  /** A description of the fault of the first root that is incomplete or out of order; undefined if there is none. */
  readonly detail: string | undefined;
  /** The failed request that ended the walk of all remaining roots. */
  readonly error: SnmpError | undefined;
  /** The number of requests without retries. */
  readonly requests: number;
}

export interface WalkOptions {
  /** The rows per request, 1 by GetNext; 0 or left out is automatic. A failure halves the number in either case. */
  readonly maxRepetitions?: number;
  /** The most identifiers in one request; further roots are walked in groups. Default 64. */
  readonly maxOids?: number;
  /** The most values of one root, because an agent may invent new ones for ever. Default one million. */
  readonly maxValues?: number;
  /** Called before each request with the number of earlier ones: a text ends the walk, as its reason. */
  readonly stop?: (requests: number) => string | undefined | Promise<string | undefined>;
}

/** The most requests in a row that may time out before the walk ends. */
const maxTimeouts = 2;

/**
 * Reads every instance below each root, with all roots in the same requests, so that the columns of a table come row by row. It uses
 * GetBulk, or GetNext in version 1 and if the agent has no GetBulk. Values go to `onValues` as they come; `root` is an index of
 * `roots`. They are in ascending order within a root unless the agent has another order, and none comes twice.
 *
 * If the walk fails, delivered values stay valid, and the summary says which roots are incomplete. The limits of the agent are kept in
 * the session. It rejects only with what `onValues` throws.
 */
export async function walk(
  session: Session,
  roots: readonly Oid[],
  onValues: (root: number, varbinds: readonly VarBind[]) => void,
  options: WalkOptions = {},
): Promise<WalkSummary> {
  const { maxOids = 64, maxValues = 1_000_000 } = options;
  const columns = roots.map(createColumn);
  const asking = new Asking(session, maxOids, options.maxRepetitions ?? 0);
  let requests = 0;

  while (asking.error === undefined) {
    const group = asking.group(columns);
    if (group.length === 0) break;
    const reason = await options.stop?.(requests);
    if (reason !== undefined) {
      for (const column of columns) if (column.end === undefined) endColumn(column, "too_many", reason);
      break;
    }
    requests++;
    const varbinds = await asking.ask(group);
    if (varbinds !== undefined) deliver(group, varbinds, maxValues, onValues);
  }

  const { error } = asking;
  for (const column of columns) if (column.end === undefined) endColumn(column, "failed", error?.message);
  const odd = columns.find(({ end }) => end !== "end") ?? columns.find(({ isOrdered }) => !isOrdered);
  return {
    isComplete: columns.every(({ end }) => end === "end"),
    isOrdered: columns.every(({ isOrdered }) => isOrdered),
    ends: columns.map((column) => column.end ?? "failed"),
    detail: odd?.detail,
    error,
    requests,
  };
}

/** Decides the requests of one walk by the answers: with fewer rows, with fewer columns, or without GetBulk. */
class Asking {
  /** The error that ends the walk. */
  error: SnmpError | undefined;
  readonly #session: Session;
  readonly #maxOids: number;
  readonly #maxRepetitions: number;
  /** The columns in a request after silence; undefined if there was none since the last answer. */
  #tried: number | undefined;
  /** The columns in one request of this walk: the agent's error does not show which column is at fault. */
  #width = Infinity;
  #timeouts = 0;
  /** A column that the agent blames; it is requested alone. */
  #blamed: { readonly column: WalkColumn; readonly of: number } | undefined;
  /** The columns that fail with GetBulk; they are read by GetNext up to the faulty row. */
  readonly #withoutBulk = new Set<WalkColumn>();
  /** The rows of one request of this walk, after unreadable answers or an error. */
  #rowCap = Infinity;
  /**
   * The values of the last request whose answer was unreadable. 0 if there was none since the last readable one, or if fewer are known
   * to help.
   */
  #unreadable = 0;
  #knowsFewerHelp = false;
  /** True if the next request is a GetNext, to find out whether the agent answers that. */
  #triesNext = false;

  constructor(session: Session, maxOids: number, maxRepetitions: number) {
    this.#session = session;
    this.#maxOids = maxOids;
    this.#maxRepetitions = maxRepetitions;
  }

  /** Returns the columns of the next request; none if all have ended. */
  group(columns: readonly WalkColumn[]): readonly WalkColumn[] {
    if (this.#blamed?.column.end === undefined && this.#blamed !== undefined) return [this.#blamed.column];
    const open = columns.filter(({ end }) => end === undefined);
    const [first] = open;
    const isAlike = (column: WalkColumn): boolean =>
      this.#withoutBulk.has(column) === this.#withoutBulk.has(first as WalkColumn);
    return open
      .filter(isAlike)
      .slice(0, Math.min(this.#width, this.#tried ?? Infinity, this.#session.limits.oids(this.#maxOids)));
  }

  /**
   * Sends a request.
   *
   * @returns undefined if there is no answer to deliver; then a column at fault has ended, or {@link error} is set.
   */
  async ask(group: readonly WalkColumn[]): Promise<readonly VarBind[] | undefined> {
    const { limits, version } = this.#session;
    const { repetitions } = limits;
    const fitting = Math.max(1, Math.floor(repetitions.values() / group.length));
    const wanted = this.#maxRepetitions > 0 ? Math.min(fitting, this.#maxRepetitions) : fitting;
    const isBulkBarred =
      version === "1" || !limits.hasBulk || this.#triesNext || this.#withoutBulk.has(group[0] as WalkColumn);
    const rows = isBulkBarred ? 1 : Math.min(wanted, this.#rowCap);
    const response = await this.#request(group, rows);
    if ("code" in response) {
      this.#onFailure(response, group, rows);
      return undefined;
    }
    this.#timeouts = 0;
    if (this.#tried !== undefined) limits.narrow(this.#tried);
    this.#tried = undefined;
    const { errorStatus: status, varbinds } = response;
    if (status !== 0) {
      this.#onErrorStatus(response, group, rows);
      return undefined;
    }
    if (rows > 1 && !limits.isBulkProven) {
      if (varbinds.length < group.length) {
        // There is not even one row; the answer may be one to a GetNext.
        this.#triesNext = true;
        return undefined;
      }
      // One value could be the answer to a GetNext.
      if (varbinds.length > 1) limits.onBulk();
      this.#rowCap = Infinity;
    }
    if (this.#unreadable > 0 && !this.#knowsFewerHelp) {
      // At first the length of the answer may be the cause. If it happens again, one value is at fault, and the walk searches for it.
      repetitions.onFailure(this.#unreadable);
      this.#knowsFewerHelp = true;
    }
    this.#unreadable = 0;
    if (rows === 1 && version !== "1") this.#onNext();
    if (this.#blamed !== undefined) limits.onTooMany(this.#blamed.of);
    else limits.onAnswer(group.length);
    this.#blamed = undefined;
    if (rows === fitting && varbinds.length === rows * group.length) repetitions.onFull();
    return varbinds;
  }

  async #request(group: readonly WalkColumn[], rows: number): Promise<SnmpResponse | SnmpError> {
    const oids = group.map((column) => column.last);
    try {
      return await (rows === 1 ? this.#session.getNext(oids) : this.#session.getBulk(oids, 0, rows));
    } catch (error) {
      return error as SnmpError;
    }
  }

  #onNext(): void {
    const { limits } = this.#session;
    if (this.#triesNext) limits.onBulkMissing();
    this.#triesNext = false;
    limits.onNext();
  }

  #onFailure(error: SnmpError, group: readonly WalkColumn[], rows: number): void {
    const { limits } = this.#session;
    if (error.code === "timeout") {
      if (rows > 1) limits.repetitions.onFailure(rows * group.length);
      this.#tried = limits.onSilence(group.length) ?? this.#tried;
      const mayLackBulk = rows > 1 && !limits.isBulkProven;
      this.#timeouts++;
      if (this.#timeouts < maxTimeouts && (rows > 1 || this.#tried !== undefined)) return;
      this.#triesNext = mayLackBulk && this.#timeouts === maxTimeouts;
      if (this.#triesNext) return;
      limits.onBulkSilent();
      this.error = error;
    } else if (error.code !== "malformed") this.error = error;
    else if (rows > 1) {
      this.#unreadable = rows * group.length;
      this.#rowCap = rows >> 1;
    } else if (group.length > 1) this.#width = group.length >> 1;
    else this.#end(group[0] as WalkColumn, "failed", error.message);
  }

  #onErrorStatus({ errorStatus: status, errorIndex }: SnmpResponse, group: readonly WalkColumn[], rows: number): void {
    const { limits, version } = this.#session;
    const isTooBig = status === errorStatus.tooBig;
    if (isTooBig && rows > 1) {
      limits.repetitions.onFailure(rows * group.length);
      return;
    }
    const [only] = group as readonly [WalkColumn];
    if (group.length > 1) {
      const column = group[errorIndex - 1];
      // In version 1, noSuchName means that nothing comes after the identifier.
      if (isTooBig || column === undefined) this.#width = group.length >> 1;
      else if (version === "1" && status === errorStatus.noSuchName) this.#end(column, "end");
      else this.#blamed = { column, of: group.length };
    } else if (rows > 1) {
      // With two rows, it is unlikely that one of the values is at fault.
      if (limits.isBulkProven) this.#withoutBulk.add(only);
      else if (rows > 2) this.#rowCap = 2;
      else this.#triesNext = true;
    } else if (status === errorStatus.noSuchName) this.#end(only, "end");
    else this.#end(only, "error_status", errorStatusName(status));
  }

  #end(column: WalkColumn, end: WalkEnd, detail?: string): void {
    endColumn(column, end, detail);
    if (this.#blamed?.column === column) this.#blamed = undefined;
    // A fault of the column says nothing about GetBulk.
    this.#triesNext = false;
  }
}

/** Passes each column its part of an answer, which comes row by row. */
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

interface Scalars {
  /** The values by the position of the OID; undefined if the agent has none. */
  readonly values: readonly (VarBind | undefined)[];
  /** True if the agent answered for all OIDs, with a value or without. */
  readonly isComplete: boolean;
  /** The first error status other than that of a missing instance. */
  readonly errorStatus: number;
}

/**
 * Reads instances by Get, at most `maxOids` in one request. An instance for which the agent reports an error is left out, and the
 * others are requested again.
 *
 * @throws SnmpError if the agent does not answer; `onValue` has got the values read before.
 */
export async function getScalars(
  session: Session,
  oids: readonly Oid[],
  maxOids: number,
  onValue: (index: number, value: VarBind) => void = () => {},
): Promise<Scalars> {
  const values: (VarBind | undefined)[] = oids.map(() => undefined);
  let firstError = 0;
  await askEach(session, oids, { type: "get", maxOids }, (i, answer) => {
    if (typeof answer === "number") {
      if (!isMissing(session, answer)) firstError ||= answer;
    } else if (!hasNoValue(answer)) {
      values[i] = answer;
      onValue(i, answer);
    }
  });
  return { values, isComplete: firstError === 0, errorStatus: firstError };
}
