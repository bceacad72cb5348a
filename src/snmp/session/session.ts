import type { Pdu, PduType } from "./message-codec.ts";
import { formatOid, isOid, type Oid, type VarBind, type ValueFault } from "./ber.ts";
import { SnmpError, errorStatus, unreadableAnswer } from "./snmp-error.ts";
import type { PeerCounts } from "./peer.ts";
import type { EngineView } from "./security.ts";

/** Full answers in a row before more is tried: twice as much until a size has failed, then a quarter more. */
const answersToDouble = 2;
const answersToGrow = 8;
/** Answers in a row, each full, after which a size that failed is tried again: the network may have changed. */
const answersToForget = 512;

/**
 * Learns how many values to ask an agent for in one GetBulk from how it answers. It is kept for as long as the agent
 * is polled, so that one walk learns for the next.
 *
 * Doubles after some full answers, up to `most`. It halves at a failure, and grows by a quarter from then on; a size that
 * failed is approached to three quarters only, until many answers went well.
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

  /** Values to ask for in one request, rows times columns. */
  values(): number {
    return this.#values;
  }

  /** An answer held all the values that were asked for, about as many as {@link values} says. */
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

  /** The agent said tooBig, or did not answer, when asked for this many values. */
  onFailure(asked: number): void {
    this.#hasFailed = true;
    this.#failedAt = asked;
    this.#values = Math.max(1, Math.floor(asked / 2));
    this.#full = 0;
    this.#sinceFailure = 0;
  }
}

/** The number of OIDs that most agents that drop long requests still answer. */
const fewOids = 8;

/** Counts answers until it is time to try again what has failed; each time in vain it takes twice as many. */
class Patience {
  readonly #first: number;
  #answers = 0;
  #wanted: number;

  constructor(answers: number) {
    this.#first = answers;
    this.#wanted = answers;
  }

  /** @returns whether it is time. */
  onAnswer(): boolean {
    if (++this.#answers < this.#wanted) return false;
    this.#answers = 0;
    this.#wanted = Math.min(65_536, 2 * this.#wanted);
    return true;
  }

  restart(): void {
    this.#answers = 0;
  }

  /** It was not in vain. */
  reward(): void {
    this.#wanted = this.#first;
  }
}

/**
 * Limits of an agent, learnt from how it answers. They are kept for as long as a session of the agent is open, so that
 * one discovery or poll learns for the next.
 */
export class AgentLimits {
  /** The number of values to ask for in one GetBulk. */
  readonly repetitions: Repetitions = new Repetitions();
  #width = Infinity;
  /** The most OIDs that one request had when it was answered. */
  #proven = 0;
  #bulk: "unknown" | "works" | "missing" = "unknown";
  readonly #untilWider = new Patience(500);
  readonly #untilBulk = new Patience(1000);

  /** Returns how many OIDs to put into one request, at most `most`. */
  oids(most: number): number {
    return Math.max(1, Math.min(most, this.#width));
  }

  /** A request with this many OIDs was answered for all of them. */
  onAnswer(asked: number): void {
    if (asked > this.#proven) {
      this.#proven = asked;
      this.#untilWider.reward();
    }
    // The network may have changed, or only lost something.
    if (asked >= this.#width && this.#untilWider.onAnswer()) this.#width *= 2;
  }

  /** The agent cannot take as many as this: it said so, or its answer was none to them. */
  onTooMany(asked: number): void {
    this.narrow(asked >> 1);
  }

  /** The agent answers this many, after more were in vain. */
  narrow(oids: number): void {
    this.#width = Math.max(1, Math.min(this.#width, oids));
    this.#proven = Math.min(this.#proven, this.#width);
    this.#untilWider.restart();
  }

  /**
   * No answer came to this many OIDs. An agent that has answered as many before, or nothing yet, is silent; any other may
   * drop what is long.
   *
   * @returns how many to try; undefined: the agent is silent. Call {@link narrow} if that many are answered.
   */
  onSilence(asked: number): number | undefined {
    if (asked === 1 || this.#proven === 0) return undefined;
    if (asked <= this.#proven) {
      // Another agent may answer at this address some day.
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

  /** A GetBulk was answered with a whole row at least. */
  onBulk(): void {
    this.#bulk = "works";
    this.#untilBulk.reward();
  }

  /** The agent has answered GetBulk before, and now it does not. Another agent may answer at this address. */
  onBulkSilent(): void {
    if (this.#bulk === "works") this.#bulk = "unknown";
  }

  /** The agent does not answer GetBulk as it should, but GetNext. */
  onBulkMissing(): void {
    this.#bulk = "missing";
    this.#untilBulk.restart();
  }

  /** A GetNext in place of a GetBulk was answered. */
  onNext(): void {
    if (this.#bulk === "missing" && this.#untilBulk.onAnswer()) this.#bulk = "unknown";
  }
}

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
