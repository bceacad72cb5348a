import { errorStatus, unreadableAnswer } from "./error-status.ts";
import type { Oid } from "./oid.ts";
import type { Session, SnmpResponse } from "./session.ts";
import { SnmpError } from "./snmp-error.ts";
import type { VarBind } from "./var-bind.ts";

/**
 * Takes the answer for the OID at a position: its varbind, or the error status that the agent answered with.
 *
 * @returns further positions that the answer settles, which are not asked for.
 */
export type OnEach = (position: number, answer: VarBind | number) => Iterable<number> | void;

export interface AskEachOptions {
  readonly type: "get" | "getNext";
  /** The most OIDs of one request. */
  readonly maxOids: number;
  /** Whether OIDs far apart are asked for together, by how many there are in a request: an answer may settle those between. */
  readonly isSpread?: (oids: number) => boolean;
}

/** The OIDs behind so many answered with an error in a row are not asked for: they count as answered with the last one. */
const maxErrorsInRow = 100;

/**
 * Asks for each OID, as many in one request as the agent takes: fewer after an answer that is too big or makes no sense,
 * or after silence. An OID that the agent blames an error on is asked for alone: agents blame the first one for what they
 * cannot do with several.
 *
 * @throws SnmpError when the agent does not answer.
 */
export async function askEach(
  session: Session,
  oids: readonly Oid[],
  { type, maxOids, isSpread = () => false }: AskEachOptions,
  onEach: OnEach,
): Promise<void> {
  const { limits } = session;
  const open = new Set(oids.keys());
  let errorsInRow = 0;
  let lastError = 0;
  /** How many are tried after silence; undefined: there was none since the last answer. */
  let tried: number | undefined;
  /** How many these OIDs leave room for. That of others may be another number, so that it is not kept. */
  let fitting = Infinity;
  const width = (): number => Math.min(limits.oids(maxOids), tried ?? Infinity, fitting);

  const settle = (position: number, answer: VarBind | number): void => {
    if (typeof answer === "number" && !isMissing(session, answer)) {
      errorsInRow++;
      lastError = answer;
    } else errorsInRow = 0;
    open.delete(position);
    for (const other of onEach(position, answer) ?? []) open.delete(other);
  };

  /** @returns whether the agent can take as many. */
  const ask = async (asked: readonly number[]): Promise<boolean> => {
    const several = asked.length > 1;
    let response: SnmpResponse;
    try {
      response = await session[type](asked.map((position) => oids[position] as Oid));
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      if (several && (error.code === "malformed" || error.code === "too_big"))
        return halve(asked, error.code === "too_big");
      if (error.code === "malformed") return settleAll(asked, unreadableAnswer);
      tried = error.code === "timeout" ? limits.onSilence(asked.length) : undefined;
      if (tried === undefined) throw error;
      return false;
    }
    if (tried !== undefined) limits.narrow(tried);
    tried = undefined;
    const { errorStatus: status, errorIndex, varbinds } = response;
    if (status === 0) {
      limits.onAnswer(asked.length);
      asked.forEach((position, i) => settle(position, varbinds[i] as VarBind));
      return true;
    }
    if (!several) return settleAll(asked, status);
    const blamed = asked[errorIndex - 1];
    if (blamed === undefined || status === errorStatus.tooBig) return halve(asked, status === errorStatus.tooBig);
    if (isMissing(session, status)) return settleAll([blamed], status);
    await ask([blamed]);
    if (errorsInRow === 0) limits.onTooMany(asked.length);
    return errorsInRow > 0;
  };
  const settleAll = (positions: readonly number[], answer: number): true => {
    for (const position of positions) settle(position, answer);
    return true;
  };
  /** One of them may be at fault, or their number, or the length of their values. */
  const halve = async (asked: readonly number[], isLong: boolean): Promise<boolean> => {
    const errorsBefore = lastError;
    lastError = 0;
    let areFine = true;
    for (let at = 0, size = asked.length >> 1; at < asked.length; at += size, size = Math.min(size, width())) {
      const piece = asked.slice(at, at + size);
      areFine = (await ask(piece)) && areFine;
    }
    const isNumber = lastError === 0 && areFine;
    if (isNumber && isLong) fitting = Math.min(fitting, asked.length >> 1);
    else if (isNumber) limits.onTooMany(asked.length);
    lastError ||= errorsBefore;
    return !isNumber;
  };

  while (open.size > 0) {
    const size = width();
    await ask(choose([...open], size, isSpread(size)));
    if (errorsInRow >= maxErrorsInRow) settleAll([...open], lastError);
  }
}

function choose(open: readonly number[], size: number, isSpread: boolean): readonly number[] {
  if (!isSpread || open.length <= size) return open.slice(0, size);
  return Array.from({ length: size }, (_, i) => open[Math.floor((i * open.length) / size)] as number);
}

/** Version 1 has no other way to say that an instance does not exist. */
export function isMissing({ version }: Session, status: number): boolean {
  return version === "1" && status === errorStatus.noSuchName;
}
