import type { Clock } from "../../base/report/index.ts";
import { DecodeError } from "../session/ber.ts";
import {
  decodeMessage,
  decodeScopedPdu,
  encodeScopedPdu,
  encodeUsmMessage,
  type ScopedPdu,
  type UsmMessage,
} from "../session/message-codec.ts";
import type { Pdu } from "../session/message-codec.ts";
import type { UsmCredential } from "../session/security.ts";
import type { Oid } from "../session/ber.ts";
import { Engine } from "../session/security.ts";
import { KeyCache, type UsmKeys } from "../session/security.ts";
import { isMessageAuthentic, signMessage } from "../session/security.ts";
import { decrypt, encrypt, saltLength } from "../session/security.ts";
import type { TrapRefusal } from "./trap.ts";

/** The result of a version 3 message: a PDU with the way to answer it, or the reason why there is none. `reply` is sent at once. */
interface UsmReceived {
  readonly pdu?: Pdu;
  readonly user?: string;
  readonly refusal?: TrapRefusal;
  readonly reply?: Uint8Array;
  /** Creates the message that answers an inform. */
  readonly answer?: (pdu: Pdu) => Uint8Array;
}

const usmStats: Oid = [1, 3, 6, 1, 6, 3, 15, 1, 1];
const reports = {
  level: [...usmStats, 1, 0],
  time_window: [...usmStats, 2, 0],
  user: [...usmStats, 3, 0],
  engine: [...usmStats, 4, 0],
  digest: [...usmStats, 5, 0],
  decryption: [...usmStats, 6, 0],
} as const;
type ReportReason = keyof typeof reports;

/** The most senders whose time is kept. Further senders replace those that were silent longest. */
const maxEngines = 10_000;
const maxMessage = 65_507;
const timeWindow = 150;

/**
 * The receiving side of the user-based security model (RFC 3414 section 3.2). The sender's engine is authoritative for traps, ours for
 * informs.
 */
export class UsmReceiver {
  readonly #engineId: Uint8Array;
  readonly #boots: number;
  readonly #users: () => readonly UsmCredential[];
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #keys = new KeyCache();
  readonly #engines = new Map<string, Engine>();
  readonly #counts: Record<ReportReason, number> = {
    level: 0,
    time_window: 0,
    user: 0,
    engine: 0,
    digest: 0,
    decryption: 0,
  };
  #salt: bigint;

  /** @param boots grows with every start. */
  constructor(
    engineId: Uint8Array,
    boots: number,
    users: () => readonly UsmCredential[],
    clock: Clock,
    randomBytes: (length: number) => Uint8Array,
  ) {
    this.#engineId = engineId;
    this.#boots = boots;
    this.#users = users;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#salt = Buffer.from(randomBytes(saltLength)).readBigUInt64BE();
  }

  /**
   * Reads a message.
   *
   * @param acceptsUntimely true if a trap counts although its time is that of an earlier start of its sender.
   * @throws DecodeError if it is not a message of version 3.
   */
  receive(datagram: Uint8Array, acceptsUntimely: boolean): UsmReceived {
    const message = decodeMessage(datagram);
    if (message.version !== 3) throw new DecodeError("version");
    const isOurs = isSame(message.engineId, this.#engineId);
    // A sender of informs discovers our engine with such a message (RFC 3414 section 4).
    if (message.engineId.length === 0 || (!isOurs && message.isReportable)) return this.#refuse(message, "engine");
    const name = Buffer.from(message.user).toString("utf8");
    const credential = this.#users().find(({ username }) => username === name);
    if (credential === undefined) return this.#refuse(message, "user");
    const keys = this.#keys.keysFor(credential, message.engineId);
    if (message.isAuthenticated !== (keys.authentication !== undefined)) return this.#refuse(message, "level");
    if (message.isPrivate !== (keys.privacy !== undefined)) return this.#refuse(message, "level");
    const { authentication } = keys;
    if (authentication !== undefined) {
      if (!isMessageAuthentic(authentication.algorithm, authentication.key, datagram, message.mac))
        return this.#refuse(message, "digest");
      if (!this.#isTimely(message, isOurs)) {
        if (isOurs || !acceptsUntimely) return this.#refuse(message, "time_window", keys);
        this.#engineOf(message).setTime(message.boots, message.time, true);
      }
    }
    const scoped = readScoped(message, keys);
    if (scoped === undefined) return this.#refuse(message, "decryption");
    const answer = (pdu: Pdu): Uint8Array => this.#reply(message, { ...scoped, pdu }, keys);
    return { pdu: scoped.pdu, user: name, ...(isOurs && { answer }) };
  }

  #isTimely(message: UsmMessage, isOurs: boolean): boolean {
    if (isOurs) return message.boots === this.#boots && Math.abs(message.time - this.#timeNow()) <= timeWindow;
    return this.#engineOf(message).accept(message.boots, message.time);
  }

  #engineOf(message: UsmMessage): Engine {
    const key = Buffer.from(message.engineId).toString("hex");
    const engine = this.#engines.get(key) ?? new Engine(message.engineId, maxMessage, this.#clock);
    this.#engines.delete(key);
    this.#engines.set(key, engine);
    if (this.#engines.size > maxEngines) this.#engines.delete(this.#engines.keys().next().value as string);
    return engine;
  }

  /** Refuses a message. Only senders of informs get a report, because nobody waits for an answer to a trap. */
  #refuse(message: UsmMessage, reason: ReportReason, keys: UsmKeys = {}): UsmReceived {
    this.#counts[reason]++;
    if (!message.isReportable) return { refusal: reason };
    const pdu: Pdu = {
      type: "report",
      // The request id of a message that could not be decrypted is unknown (RFC 3412 section 7.1, step 3).
      requestId: message.isPrivate ? 0 : requestIdOf(message),
      errorStatus: 0,
      errorIndex: 0,
      varbinds: [{ oid: reports[reason], type: "Counter32", value: this.#counts[reason] }],
    };
    const isAuthenticated = keys.authentication !== undefined;
    const scoped = { contextEngineId: this.#engineId, contextName: new Uint8Array(0), pdu };
    return { refusal: reason, reply: this.#reply(message, scoped, isAuthenticated ? withoutPrivacy(keys) : {}) };
  }

  #reply(message: UsmMessage, scoped: ScopedPdu, { authentication, privacy }: UsmKeys): Uint8Array {
    const plain = encodeScopedPdu(scoped);
    const time = this.#timeNow();
    const privacyParameters = privacy === undefined ? new Uint8Array(0) : this.#nextSalt(privacy.protocol === "des");
    const { bytes, macAt } = encodeUsmMessage({
      id: message.id,
      maxSize: maxMessage,
      isAuthenticated: authentication !== undefined,
      isPrivate: privacy !== undefined,
      isReportable: false,
      engineId: this.#engineId,
      boots: this.#boots,
      time,
      user: message.user,
      macLength: authentication?.algorithm.macLength ?? 0,
      privacyParameters,
      data: privacy === undefined ? plain : encrypt(privacy, this.#boots, time, privacyParameters, plain),
    });
    if (authentication !== undefined) signMessage(authentication.algorithm, authentication.key, bytes, macAt);
    return bytes;
  }

  #timeNow(): number {
    return Math.floor((this.#clock.monotonic() - this.#startedAt) / 1000);
  }

  /** Returns the next salt. The first half of a DES salt is the engine boots (RFC 3414 section 8.1.1.1). */
  #nextSalt(isDes: boolean): Uint8Array {
    const octets = Buffer.alloc(saltLength);
    this.#salt = BigInt.asUintN(64, this.#salt + 1n);
    octets.writeBigUInt64BE(this.#salt);
    if (isDes) octets.writeUInt32BE(this.#boots);
    return octets;
  }
}

function withoutPrivacy({ authentication }: UsmKeys): UsmKeys {
  return authentication === undefined ? {} : { authentication };
}

function requestIdOf({ data }: UsmMessage): number {
  try {
    return decodeScopedPdu(data).pdu.requestId;
  } catch {
    return 0;
  }
}

/** Returns the scoped PDU; undefined if a wrong key gave no PDU. */
function readScoped(
  { isPrivate, boots, time, privacyParameters, data }: UsmMessage,
  { privacy }: UsmKeys,
): ScopedPdu | undefined {
  if (!isPrivate || privacy === undefined) return decodeScopedPdu(data);
  try {
    return decodeScopedPdu(decrypt(privacy, boots, time, privacyParameters, data));
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
