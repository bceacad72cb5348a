import { randomBytes } from "node:crypto";
import {
  decodeScopedPdu,
  encodeScopedPdu,
  encodeUsmMessage,
  type ScopedPdu,
  type UsmMessage,
} from "../../../src/snmp/session/message-codec.ts";
import type { Pdu } from "../../../src/snmp/session/message-codec.ts";
import type { UsmCredential } from "../../../src/snmp/session/security.ts";
import { SaltSource } from "../../../src/snmp/session/snmp-client.ts";
import { KeyCache, type UsmKeys } from "../../../src/snmp/session/security.ts";
import { isMessageAuthentic, signMessage } from "../../../src/snmp/session/security.ts";
import { decrypt, encrypt } from "../../../src/snmp/session/security.ts";
import { oidOf } from "./agent-table.ts";

/** A snapshot of an agent's engine. */
export interface AgentEngine {
  readonly id: Uint8Array;
  readonly boots: number;
  readonly time: number;
}

/** A request that passed every check, or the datagram that refuses it; undefined for one that gets no answer. */
export type Admission = { readonly scoped: ScopedPdu; readonly keys: UsmKeys } | Uint8Array | undefined;

/** The agent's half of the user-based security model: RFC 3414 section 3.2, in its order of checks. */
export interface AgentUsm {
  admit(message: UsmMessage, datagram: Uint8Array, engine: AgentEngine): Admission;
  /** Refuses a message; undefined: without an answer. */
  report(message: UsmMessage, engine: AgentEngine, name: UsmStatistic): Uint8Array | undefined;
  /** A message with a PDU for the sender of `request`, at the security level of its keys. */
  seal(request: UsmMessage, scoped: ScopedPdu, keys: UsmKeys, engine: AgentEngine): Uint8Array;
}

export type UsmStatistic = keyof typeof statistics;

const statistics = {
  unsupportedSecLevels: 1,
  notInTimeWindows: 2,
  unknownUserNames: 3,
  unknownEngineIds: 4,
  wrongDigests: 5,
  decryptionErrors: 6,
} as const;

// Deriving a key from a passphrase is slow, and thousands of agents may share a user.
const keyCache = new KeyCache();

export function createAgentUsm(users: readonly UsmCredential[]): AgentUsm {
  const salts = new SaltSource(randomBytes);
  const counters = new Map<keyof typeof statistics, number>();

  const seal: AgentUsm["seal"] = (request, scoped, { authentication, privacy }, engine) => {
    const plain = encodeScopedPdu(scoped);
    const salt = privacy === undefined ? new Uint8Array(0) : salts.next();
    if (privacy?.protocol === "des") new DataView(salt.buffer).setUint32(0, engine.boots);
    const { bytes, macAt } = encodeUsmMessage({
      id: request.id,
      maxSize: 65_507,
      isAuthenticated: authentication !== undefined,
      isPrivate: privacy !== undefined,
      isReportable: false,
      engineId: engine.id,
      boots: engine.boots,
      time: engine.time,
      user: request.user,
      macLength: authentication?.algorithm.macLength ?? 0,
      privacyParameters: salt,
      data: privacy === undefined ? plain : encrypt(privacy, engine.boots, engine.time, salt, plain),
    });
    if (authentication !== undefined) signMessage(authentication.algorithm, authentication.key, bytes, macAt);
    return bytes;
  };

  const report = (
    request: UsmMessage,
    engine: AgentEngine,
    name: UsmStatistic,
    keys: UsmKeys = {},
  ): Uint8Array | undefined => {
    const count = (counters.get(name) ?? 0) + 1;
    counters.set(name, count);
    if (!request.isReportable) return undefined;
    const oid = oidOf(`1.3.6.1.6.3.15.1.1.${statistics[name]}.0`);
    const pdu: Pdu = {
      type: "report",
      requestId: request.id,
      errorStatus: 0,
      errorIndex: 0,
      varbinds: [{ oid, type: "Counter32", value: count }],
    };
    const { authentication } = keys;
    const level = authentication === undefined ? {} : { authentication };
    return seal(request, { contextEngineId: engine.id, contextName: new Uint8Array(0), pdu }, level, engine);
  };

  return {
    seal,
    report,
    admit(message, datagram, engine) {
      if (Buffer.compare(message.engineId, engine.id) !== 0) return report(message, engine, "unknownEngineIds");
      const user = users.find(({ username }) => Buffer.from(username).equals(message.user));
      if (user === undefined) return report(message, engine, "unknownUserNames");
      const keys = keyCache.keysFor(user, engine.id);
      const { authentication, privacy } = keys;
      // Like snmpd by default, a user is held to the level that it was set up with.
      if (message.isAuthenticated !== (authentication !== undefined) || message.isPrivate !== (privacy !== undefined)) {
        return report(message, engine, "unsupportedSecLevels");
      }
      if (authentication !== undefined) {
        if (!isMessageAuthentic(authentication.algorithm, authentication.key, datagram, message.mac)) {
          return report(message, engine, "wrongDigests");
        }
        if (message.boots !== engine.boots || Math.abs(message.time - engine.time) > 150) {
          return report(message, engine, "notInTimeWindows", keys);
        }
      }
      try {
        const plain =
          privacy === undefined
            ? message.data
            : decrypt(privacy, message.boots, message.time, message.privacyParameters, message.data);
        return { scoped: decodeScopedPdu(plain), keys };
      } catch {
        return privacy === undefined ? undefined : report(message, engine, "decryptionErrors");
      }
    },
  };
}
