import type { Pdu, PduType } from "./message-codec.ts";
import { formatOid, isOid, type Oid, type VarBind, type ValueFault } from "./ber.ts";
import { SnmpError, errorStatus, unreadableAnswer } from "./snmp-error.ts";
import type { PeerCounts } from "./peer.ts";
import type { EngineView } from "./security.ts";

/** The number of full answers in a row before the size grows: it doubles until a size has failed, then grows by a quarter. */
const answersToDouble = 2;
const answersToGrow = 8;
/** The number of full answers in a row after which a failed size is tried again, because the network may have changed. */
const answersToForget = 512;

/**
 * Learns from an agent's answers how many values to request in one GetBulk. It is kept for as long as the agent is polled, so that one
 * walk learns for the next.
 *
 * The number doubles after some full answers, up to `most`. It is halved after a failure, and then grows by a quarter. It grows to at most
 * three quarters of a failed size until many answers were full.
 */
export class Repetitions {
  readonly #most: number;
  #values: number;
  #failedAt = Infinity;
  #full = 0;
  #sinceFailure = 0;
  #hasFailed = false;

  constructor(first = 60, most = 240) {
    this.#most = most;
    this.#values = Math.min(first, most);
  }

  /** Returns the number of values for one request, rows times columns. */
  values(): number {
    return this.#values;
  }

  /** Notes an answer with all requested values, about as many as {@link values} returns. */
  onFull(): void {
    this.#full++;
    this.#sinceFailure++;
    if (this.#sinceFailure >= answersToForget) this.#failedAt = Infinity;
    if (this.#full < (this.#hasFailed ? answersToGrow : answersToDouble)) return;
    this.#full = 0;
    const ceiling = Math.min(this.#most, Math.floor(this.#failedAt * 0.75));
    this.#values = Math.max(
      this.#values,
      Math.min(ceiling, this.#hasFailed ? this.#values + Math.ceil(this.#values / 4) : 2 * this.#values),
    );
  }

  /** Notes that the agent answered tooBig, or did not answer, when this many values were requested. */
  onFailure(asked: number): void {
    this.#hasFailed = true;
    this.#failedAt = asked;
    this.#values = Math.max(1, Math.floor(asked / 2));
    this.#full = 0;
    this.#sinceFailure = 0;
  }
}

/** The number of OIDs to which most agents still answer if they drop long requests. */
const fewOids = 8;

/** Counts answers until it is time to retry a failed size; after each failure the count doubles. */
class Patience {
  readonly #first: number;
  #answers = 0;
  #wanted: number;

  constructor(answers: number) {
    this.#first = answers;
    this.#wanted = answers;
  }

  /** Counts an answer. @returns true if it is time to retry. */
  onAnswer(): boolean {
    if (++this.#answers < this.#wanted) return false;
    this.#answers = 0;
    this.#wanted = Math.min(65_536, 2 * this.#wanted);
    return true;
  }

  restart(): void {
    this.#answers = 0;
  }

  /** Notes that the retry succeeded. */
  reward(): void {
    this.#wanted = this.#first;
  }
}

/**
 * The limits of an agent, learnt from its answers. They are kept for as long as a session of the agent is open, so that one discovery
 * or poll learns for the next.
 */
export class AgentLimits {
  /** The number of values to request in one GetBulk. */
  readonly repetitions: Repetitions = new Repetitions();
  #width = Infinity;
  /** The most OIDs in an answered request. */
  #proven = 0;
  #bulk: "unknown" | "works" | "missing" = "unknown";
  readonly #untilWider = new Patience(500);
  readonly #untilBulk = new Patience(1000);

  /** Returns the number of OIDs for one request, at most `most`. */
  oids(most: number): number {
    return Math.max(1, Math.min(most, this.#width));
  }

  /** Notes that the agent answered all OIDs of a request with this many. */
  onAnswer(asked: number): void {
    if (asked > this.#proven) {
      this.#proven = asked;
      this.#untilWider.reward();
    }
    // The network may have changed, or may only have lost a packet.
    if (asked >= this.#width && this.#untilWider.onAnswer()) this.#width *= 2;
  }

  /** Notes that this many OIDs are too many for the agent: it said so, or its answer did not fit the request. */
  onTooMany(asked: number): void {
    this.narrow(asked >> 1);
  }

  /** Notes that the agent answers this many OIDs after it did not answer more. */
  narrow(oids: number): void {
    this.#width = Math.max(1, Math.min(this.#width, oids));
    this.#proven = Math.min(this.#proven, this.#width);
    this.#untilWider.restart();
  }

  /**
   * Notes that this many OIDs got no answer. An agent that has answered as many before, or nothing yet, is silent. Any other agent may
   * be dropping long requests.
   *
   * @returns the number of OIDs to try; undefined if the agent is silent. Call {@link narrow} if the agent answers that many.
   */
  onSilence(asked: number): number | undefined {
    if (asked === 1 || this.#proven === 0) return undefined;
    if (asked <= this.#proven) {
      // Another agent may answer at this address later.
      this.#proven = 1;
      return undefined;
    }
    return Math.max(this.#proven, asked > fewOids ? fewOids : 1);
  }

  /** True if GetBulk is to be used. */
  get hasBulk(): boolean {
    return this.#bulk !== "missing";
  }

  /** True if the agent has answered a GetBulk before. */
  get isBulkProven(): boolean {
    return this.#bulk === "works";
  }

  /** Notes that a GetBulk was answered with at least one whole row. */
  onBulk(): void {
    this.#bulk = "works";
    this.#untilBulk.reward();
  }

  /** Notes that the agent does not answer GetBulk any longer. Another agent may answer at this address. */
  onBulkSilent(): void {
    if (this.#bulk === "works") this.#bulk = "unknown";
  }

  /** Notes that the agent answers GetNext, but not GetBulk as it should. */
  onBulkMissing(): void {
    this.#bulk = "missing";
    this.#untilBulk.restart();
  }

  /** Notes that a GetNext in place of a GetBulk was answered. */
  onNext(): void {
    if (this.#bulk === "missing" && this.#untilBulk.onAnswer()) this.#bulk = "unknown";
  }
}

/** A request without an id. */
export interface Request {
  readonly type: Extract<PduType, "get" | "getNext" | "getBulk">;
  readonly oids: readonly Oid[];
  /** The number of non-repeaters; 0 unless it is a getBulk. */
  readonly nonRepeaters: number;
  readonly maxRepetitions: number;
}

/** Checks that a request can be encoded. @throws SnmpError `invalid` if it cannot. */
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
 * Turns a response PDU into the answer to the request. Rows beyond max-repetitions are cut; the next request finds them again.
 *
 * @throws SnmpError `malformed` if it does not answer the request.
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

/** The largest UDP payload over IPv4; IPv6 without jumbograms allows 20 bytes more. */
export const maxDatagram = 65_507;

/** Checks the size of a datagram. @throws SnmpError `too_big` if it is larger than the agent or UDP allows. */
export function checkSize(datagram: Uint8Array, limit: number): Uint8Array {
  if (datagram.length > limit) {
    throw new SnmpError("too_big", `a request of ${datagram.length} bytes where ${limit} are allowed`);
  }
  return datagram;
}

/**
 * Takes the answer for the OID at a position: its varbind, or the error status from the agent.
 *
 * @returns further positions that the answer completes; they are not requested.
 */
type OnEach = (position: number, answer: VarBind | number) => Iterable<number> | void;

interface AskEachOptions {
  readonly type: "get" | "getNext";
  /** The most OIDs of one request. */
  readonly maxOids: number;
  /**
   * Reports whether OIDs far apart are requested together, by the number of OIDs in a request. An answer may complete those between.
   */
  readonly isSpread?: (oids: number) => boolean;
}

/** The most answers with an error in a row. The OIDs behind them are not requested; they count as answered with the last error. */
const maxErrorsInRow = 100;

/**
 * Requests each OID, with as many in one request as the agent allows: fewer after silence, or after an answer that is too big or makes
 * no sense. An OID that the agent blames for an error is requested alone, because agents blame the first one if they cannot handle
 * several.
 *
 * @throws SnmpError if the agent does not answer.
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
  /** The number of OIDs to try after silence; undefined if there was no silence since the last answer. */
  let tried: number | undefined;
  /** The number of OIDs whose answer fits. Other OIDs may fit in another number, so it is not kept. */
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

  /** @returns true if the agent can answer as many. */
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
  /** Splits a request, because one of its OIDs may be at fault, or their number, or the length of their values. */
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

/** Reports whether an error status means a missing instance; version 1 has no other way to say so. */
export function isMissing({ version }: Session, status: number): boolean {
  return version === "1" && status === errorStatus.noSuchName;
}

/** The answer of an agent. A response with an error status is an answer, too. */
export interface SnmpResponse {
  /** The variables. With an error status they are whatever the agent sends: often the identifiers of the request with Null. */
  readonly varbinds: readonly VarBind[];
  /** The error status, named in {@link errorStatusNames}; 0 is no error. */
  readonly errorStatus: number;
  /** The position from 1 of the request's varbind at fault; 0 for none. It is not checked, because agents send any number. */
  readonly errorIndex: number;
  /** The faults of its values; undefined for none. */
  readonly faults?: readonly ValueFault[] | undefined;
}

/** Communicates with one agent by one credential. Requests may run at the same time. Every method rejects only with SnmpError. */
export interface Session {
  readonly version: "1" | "2c" | "3";
  /**
   * Returns the values of instances. Without an error status there is exactly one varbind for each identifier, in order. For a missing
   * instance, version 1 answers `noSuchName` for all; the others have an exception in its place.
   */
  get(oids: readonly Oid[]): Promise<SnmpResponse>;
  /** Returns the instance after each identifier, one varbind for each. Their order is not checked. */
  getNext(oids: readonly Oid[]): Promise<SnmpResponse>;
  /**
   * Returns the instance after each of the first `nonRepeaters` identifiers, and up to `maxRepetitions` after each of the others, row
   * by row. An agent may answer with fewer. It rejects with `unsupported` in version 1.
   */
  getBulk(oids: readonly Oid[], nonRepeaters: number, maxRepetitions: number): Promise<SnmpResponse>;
  /** Returns the agent's engine in version 3, once it is known; its boots show a restart. */
  engine(): EngineView | undefined;
  /** The counts of the agent's address and port over all its sessions. The object is live. */
  readonly counts: Readonly<PeerCounts>;
  /** The limits that the agent's answers have shown, for its address and port over all its sessions. */
  readonly limits: AgentLimits;
  /** The counts of the agent's odd values by fault. The object is live. */
  readonly valueFaults: Readonly<Record<ValueFault, number>>;
  /** Fails waiting requests and all later ones with `closed`. */
  close(): void;
}
