import type { Pdu, PduType } from "./message-codec.ts";
import { formatOid, isOid, type Oid, type VarBind } from "./var-bind.ts";
import { SnmpError, errorStatus, unreadableAnswer } from "./snmp-error.ts";
import type { AgentLimits } from "./agent-limits.ts";
import type { ValueFault } from "./ber.ts";
import type { PeerCounts } from "./peer.ts";
import type { EngineView } from "./security.ts";

/** A request before it has an id. */
export interface Request {
  readonly type: Extract<PduType, "get" | "getNext" | "getBulk">;
  readonly oids: readonly Oid[];
  /** 0 unless it is a getBulk. */
  readonly nonRepeaters: number;
  readonly maxRepetitions: number;
}

/** Fails with `invalid` when the request cannot be put into bytes. */
export function checkRequest({ oids, nonRepeaters, maxRepetitions }: Request): void {
  if (oids.length === 0) throw new SnmpError("invalid", "a request without object identifiers");
  const bad = oids.find((oid) => !isOid(oid));
  if (bad !== undefined) throw new SnmpError("invalid", `not an object identifier: ${formatOid(bad).slice(0, 128)}`);
  for (const count of [nonRepeaters, maxRepetitions]) {
    if (!Number.isInteger(count) || count < 0 || count > 0x7fffffff) {
      throw new SnmpError("invalid", `not a number of repetitions: ${count}`);
    }
  }
}

export function requestPdu(request: Request, id: number): Pdu {
  const varbinds = request.oids.map((oid): VarBind => ({ oid, type: "Null", value: null }));
  return {
    type: request.type,
    requestId: id,
    errorStatus: request.nonRepeaters,
    errorIndex: request.maxRepetitions,
    varbinds,
  };
}

/**
 * Turns a response PDU into the answer to the request; fails with `malformed` when it does not answer what was asked.
 * Rows beyond max-repetitions are cut off: the next request finds them again.
 */
export function responseTo(request: Request, pdu: Pdu): SnmpResponse {
  const asked = request.oids.length;
  if (pdu.errorStatus !== 0) return responseWith(pdu, pdu.varbinds.slice(0, asked));
  if (request.type === "getBulk") {
    const repeaters = Math.max(asked - request.nonRepeaters, 0);
    const most = asked - repeaters + repeaters * request.maxRepetitions;
    const varbinds = pdu.varbinds.length > most ? pdu.varbinds.slice(0, most) : pdu.varbinds;
    return responseWith(pdu, varbinds);
  }
  if (pdu.varbinds.length !== asked) {
    throw new SnmpError("malformed", `${pdu.varbinds.length} varbinds answer ${asked}`);
  }
  if (request.type === "get") {
    for (const [i, oid] of request.oids.entries()) {
      const answered = (pdu.varbinds[i] as VarBind).oid;
      if (!isSameOid(oid, answered)) {
        throw new SnmpError("malformed", `${formatOid(answered)} answers ${formatOid(oid)}`);
      }
    }
  }
  return responseWith(pdu, pdu.varbinds);
}

function responseWith(pdu: Pdu, varbinds: readonly VarBind[]): SnmpResponse {
  return { varbinds, errorStatus: pdu.errorStatus, errorIndex: pdu.errorIndex, faults: pdu.faults };
}

function isSameOid(a: Oid, b: Oid): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

/** The largest UDP payload over IPv4; IPv6 without jumbograms takes 20 more. */
export const maxDatagram = 65_507;

/** Fails with `too_big` when the datagram is larger than the agent or UDP takes. */
export function checkSize(datagram: Uint8Array, limit: number): Uint8Array {
  if (datagram.length > limit) {
    throw new SnmpError("too_big", `a request of ${datagram.length} bytes where ${limit} are allowed`);
  }
  return datagram;
}

/**
 * Takes the answer for the OID at a position: its varbind, or the error status that the agent answered with.
 *
 * @returns further positions that the answer completes, which are not asked for.
 */
type OnEach = (position: number, answer: VarBind | number) => Iterable<number> | void;

interface AskEachOptions {
  readonly type: "get" | "getNext";
  /** The most OIDs of one request. */
  readonly maxOids: number;
  /** Tells whether OIDs far apart are asked for together, by how many there are in a request: an answer may complete those between. */
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
  /** The number of OIDs that are tried after silence; undefined: there was none since the last answer. */
  let tried: number | undefined;
  /** The number of OIDs that there is room for with these. That of others may be another number, so that it is not kept. */
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

/** The answer of an agent. A response with an error status is an answer too. */
export interface SnmpResponse {
  /** With an error status, what the agent put there: often the request's own identifiers with Null. */
  readonly varbinds: readonly VarBind[];
  /** 0 is no error; names in {@link errorStatusNames}. */
  readonly errorStatus: number;
  /** The varbind of the request that is at fault, from 1; 0 for none. Not checked: agents put anything there. */
  readonly errorIndex: number;
  /** Faults of its values; undefined: none. */
  readonly faults?: readonly ValueFault[] | undefined;
}

/**
 * Talks to one agent with one credential. Requests may run at the same time. Every method rejects with SnmpError and
 * nothing else.
 */
export interface Session {
  readonly version: "1" | "2c" | "3";
  /**
   * Values of instances. Without an error status there is exactly one varbind for each identifier, in order. Version 1
   * answers a missing instance with `noSuchName` for all, the others with an exception in its place.
   */
  get(oids: readonly Oid[]): Promise<SnmpResponse>;
  /** The instance after each identifier, one varbind for each. That it does come after is not checked. */
  getNext(oids: readonly Oid[]): Promise<SnmpResponse>;
  /**
   * The instance after each of the first `nonRepeaters` identifiers, and up to `maxRepetitions` after each of the
   * others, row by row; an agent may answer with fewer. Rejected as `unsupported` in version 1.
   */
  getBulk(oids: readonly Oid[], nonRepeaters: number, maxRepetitions: number): Promise<SnmpResponse>;
  /** The agent's engine in version 3, once it is known; its boots show a restart. */
  engine(): EngineView | undefined;
  /** Counts of the agent's address and port, over all its sessions. The object is live. */
  readonly counts: Readonly<PeerCounts>;
  /** Limits of the agent, as far as its answers have shown them; of its address and port, over all its sessions. */
  readonly limits: AgentLimits;
  /** Values of the agent that were odd, by what is odd about them. The object is live. */
  readonly valueFaults: Readonly<Record<ValueFault, number>>;
  /** Fails what waits with `closed`, and every later request. */
  close(): void;
}
