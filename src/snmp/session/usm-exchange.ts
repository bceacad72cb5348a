import { formatOid, oidStartsWith, type Oid, type VarBind } from "./ber.ts";
import { SnmpError, type SnmpErrorCode } from "./snmp-error.ts";
import {
  decodeScopedPdu,
  encodeScopedPdu,
  encodeUsmMessage,
  type Message,
  type ScopedPdu,
  type UsmMessage,
} from "./message-codec.ts";
import { DecodeError } from "./ber.ts";
import type { Exchange } from "./exchange.ts";
import { checkSize, maxDatagram, requestPdu, responseTo, type Request, type SnmpResponse } from "./session.ts";
import type { IgnoreReason } from "./peer.ts";
import type { SaltSource } from "./snmp-client.ts";
import { type Engine, type UsmKeys, isMessageAuthentic, signMessage, decrypt, encrypt } from "./security.ts";

/** The counters that an agent may report in place of an answer: RFC 3414 section 5 and RFC 3412 section 5. */
const usmStats: Oid = [1, 3, 6, 1, 6, 3, 15, 1, 1];
const usmStatsNames = [
  "unsupportedSecLevels",
  "notInTimeWindows",
  "unknownUserNames",
  "unknownEngineIds",
  "wrongDigests",
  "decryptionErrors",
] as const;
const mpdStats: Oid = [1, 3, 6, 1, 6, 3, 11, 2, 1];
const mpdStatsNames = ["unknownSecurityModels", "invalidMsgs", "unknownPduHandlers"] as const;

type ReportName = (typeof usmStatsNames)[number] | (typeof mpdStatsNames)[number] | "other";

interface Report {
  readonly name: ReportName;
  readonly oid: Oid | undefined;
  /** True if it comes from another engine than the request was sent to. */
  readonly isOfOtherEngine: boolean;
}

/** Reads a Report PDU by its first varbind. */
function readReport(varbinds: readonly VarBind[], isOfOtherEngine: boolean): Report {
  const oid = varbinds[0]?.oid;
  let name: ReportName | undefined;
  if (oid !== undefined && oidStartsWith(oid, usmStats)) name = usmStatsNames[(oid[usmStats.length] ?? 0) - 1];
  if (oid !== undefined && oidStartsWith(oid, mpdStats)) name = mpdStatsNames[(oid[mpdStats.length] ?? 0) - 1];
  return { name: name ?? "other", oid, isOfOtherEngine };
}

const errors: Partial<Record<ReportName, readonly [SnmpErrorCode, string]>> = {
  unsupportedSecLevels: ["auth", "the agent does not allow this user this security level"],
  unknownUserNames: ["auth", "the agent does not know the user"],
  wrongDigests: ["auth", "the agent does not accept the authentication passphrase or protocol"],
  decryptionErrors: ["auth", "the agent does not accept the privacy passphrase or protocol"],
  notInTimeWindows: ["not_in_time_window", "the agent finds our notion of its time wrong again and again"],
  unknownEngineIds: ["report", "the agent does not know the engine id that it gave"],
};

/** Returns the error of a request that was answered by a Report. */
export function reportError(report: Report): SnmpError {
  const [code, message] = errors[report.name] ?? ["report", "the agent reported a problem"];
  const oid = report.oid === undefined ? "without an object" : formatOid(report.oid);
  return new SnmpError(code, `${message} (Report ${report.name}, ${oid})`);
}

/** A user at an engine. */
export interface UsmParty {
  readonly user: Uint8Array;
  readonly contextName: Uint8Array;
  readonly keys: UsmKeys;
  readonly engine: Engine;
  readonly salts: SaltSource;
}

export type UsmAnswer = { readonly response: SnmpResponse } | { readonly report: Report };

/** Returns the messages of one request of version 3 (RFC 3412 section 7, RFC 3414 section 3). */
export function usmExchange(request: Request, party: UsmParty): Pick<Exchange<UsmAnswer>, "build" | "read"> {
  return {
    build: (id) => buildMessage(id, request, party),
    read: (message, datagram) => readAnswer(message, datagram, request, party),
  };
}

function buildMessage(id: number, request: Request, party: UsmParty): Uint8Array {
  const { engine, contextName } = party;
  const { authentication, privacy } = party.keys;
  const { boots, time } = engine.view();
  const plain = encodeScopedPdu({ contextEngineId: engine.id, contextName, pdu: requestPdu(request, id) });
  const salt = privacy === undefined ? new Uint8Array(0) : party.salts.next();
  // The first half of a DES salt is the engine boots (RFC 3414 section 8.1.1.1).
  if (privacy?.protocol === "des") new DataView(salt.buffer, salt.byteOffset).setUint32(0, boots);
  const { bytes, macAt } = encodeUsmMessage({
    id,
    maxSize: maxDatagram,
    isAuthenticated: authentication !== undefined,
    isPrivate: privacy !== undefined,
    isReportable: true,
    engineId: engine.id,
    boots: authentication === undefined ? 0 : boots,
    time: authentication === undefined ? 0 : time,
    user: party.user,
    macLength: authentication?.algorithm.macLength ?? 0,
    privacyParameters: salt,
    data: privacy === undefined ? plain : encrypt(privacy, boots, time, salt, plain),
  });
  if (authentication !== undefined) signMessage(authentication.algorithm, authentication.key, bytes, macAt);
  return checkSize(bytes, Math.min(engine.maxSize, maxDatagram));
}

function readAnswer(
  message: Message,
  datagram: Uint8Array,
  request: Request,
  party: UsmParty,
): UsmAnswer | IgnoreReason {
  if (message.version !== 3) return "version";
  const { engine, keys } = party;
  const doubt = checkAuthenticity(message, datagram, party);
  if (doubt !== undefined) return doubt;
  const scoped = readScopedPdu(message, keys);
  if (scoped === undefined) return "malformed";
  const { pdu } = scoped;
  if (pdu.type === "report") {
    const report = readReport(pdu.varbinds, message.engineId.length > 0 && !isSame(message.engineId, engine.id));
    // The id is authenticated and was unpredictable, so this message is no replay, whatever its time. An agent that lost its boots is
    // reachable again in this way. Without authentication the time is only a guess for the next try.
    if (report.name === "notInTimeWindows" && !report.isOfOtherEngine)
      engine.setTime(message.boots, message.time, message.isAuthenticated);
    return { report };
  }
  if (pdu.type !== "response") return "pdu_type";
  if (message.isAuthenticated !== (keys.authentication !== undefined)) return "credential";
  if (message.isPrivate !== (keys.privacy !== undefined)) return "credential";
  if (!isSame(message.user, party.user)) return "credential";
  if (!isSame(message.engineId, engine.id) || !isSame(scoped.contextEngineId, engine.id)) return "engine";
  if (!isSame(scoped.contextName, party.contextName)) return "engine";
  if (pdu.requestId !== message.id) return "unknown_id";
  if (message.isAuthenticated && !engine.accept(message.boots, message.time)) return "time_window";
  return { response: responseTo(request, pdu) };
}

/** Returns why a message that claims to be authenticated is not; undefined if it is authentic, or makes no such claim. */
function checkAuthenticity(message: UsmMessage, datagram: Uint8Array, party: UsmParty): IgnoreReason | undefined {
  if (!message.isAuthenticated) return message.isPrivate ? "credential" : undefined;
  const { authentication } = party.keys;
  if (authentication === undefined) return "credential";
  if (!isSame(message.engineId, party.engine.id)) return "engine";
  return isMessageAuthentic(authentication.algorithm, authentication.key, datagram, message.mac) ? undefined : "digest";
}

/** Reads the scoped PDU. Undefined if a message that anybody may have sent cannot be decoded; an authentic one fails the request. */
function readScopedPdu(message: UsmMessage, keys: UsmKeys): ScopedPdu | undefined {
  try {
    if (!message.isPrivate) return decodeScopedPdu(message.data);
    if (keys.privacy === undefined) throw new DecodeError("encrypted without a privacy protocol");
    const { boots, time, privacyParameters, data } = message;
    return decodeScopedPdu(decrypt(keys.privacy, boots, time, privacyParameters, data));
  } catch (error) {
    if (message.isAuthenticated || keys.authentication === undefined) throw error;
    return undefined;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
