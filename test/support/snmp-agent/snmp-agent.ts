import { randomBytes } from "node:crypto";
import { systemClock, type Clock } from "../../../src/base/report/index.ts";
import {
  decodeMessage,
  encodeCommunityMessage,
  type CommunityMessage,
  type Message,
  type UsmMessage,
} from "../../../src/snmp/session/message-codec.ts";
import { readPduRest, type Pdu } from "../../../src/snmp/session/message-codec.ts";
import type { UsmCredential } from "../../../src/snmp/session/security.ts";
import { errorStatus } from "../../../src/snmp/session/snmp-error.ts";
import type { Oid } from "../../../src/snmp/session/ber.ts";
import { answerPdu } from "./agent-pdu.ts";
import { oidOf, type AgentTable } from "./agent-table.ts";
import { createAgentUsm, type AgentEngine, type UsmStatistic } from "./agent-usm.ts";

export interface AgentOptions {
  readonly table: AgentTable;
  /** Communities that are answered; default `public`. */
  readonly communities?: readonly string[];
  /** Users of version 3, each held to its security level. */
  readonly users?: readonly UsmCredential[];
  /** Versions that are answered; default all. */
  readonly versions?: readonly ("1" | "2c" | "3")[];
  /** Default: random, of the format of net-snmp. */
  readonly engineId?: Uint8Array;
  readonly boots?: number;
  /** Seconds that the agent is up already. */
  readonly uptime?: number;
  /** Largest message that it sends, in bytes; default 1472. */
  readonly maxMessageSize?: number;
  readonly clock?: Clock;
}

/** How an agent misbehaves. Every part may be set and taken away while it runs. */
export interface AgentFaults {
  /** Whether a request is lost on the way; it does not count as answered. */
  drops?: ((request: Message) => boolean) | undefined;
  /** Another response PDU than the right one. */
  liesAbout?: ((response: Pdu, request: Pdu) => Pdu) | undefined;
  /** What is sent in place of a datagram: none, another, several. */
  sends?: ((datagram: Uint8Array) => readonly Uint8Array[]) | undefined;
  /** Milliseconds before an answer goes out. */
  delay?: number | undefined;
  /** The engine that answers of version 3 pretend to come from. */
  pretends?: ((engine: AgentEngine) => AgentEngine) | undefined;
  /** What messages of version 3 to another engine are answered with, in place of unknownEngineIds. */
  disowns?: UsmStatistic | "silently" | undefined;
}

/** An SNMP agent without a socket: bytes in, bytes out. */
export interface SnmpAgent {
  /** The datagrams that answer one; usually one, or none. */
  handle(datagram: Uint8Array): readonly Uint8Array[];
  readonly faults: AgentFaults;
  /** What it answers from; may be replaced while it runs. */
  table: AgentTable;
  /** Starts again: uptime at zero, engine boots one up. */
  reboot(): void;
  /** Becomes another device: a new engine, booted once. */
  swap(engineId?: Uint8Array): void;
  engine(): AgentEngine;
  /** Seconds since the start. */
  uptime(): number;
  /** Requests that arrived, dropped ones too. */
  readonly requests: number;
}

const sysUpTime = oidOf("1.3.6.1.2.1.1.3.0");

export function createSnmpAgent(options: AgentOptions): SnmpAgent {
  const { clock = systemClock, maxMessageSize = 1472, versions = ["1", "2c", "3"] } = options;
  const communities = (options.communities ?? ["public"]).map((text) => Buffer.from(text));
  const usm = createAgentUsm(options.users ?? []);
  let engineId = options.engineId ?? randomEngineId();
  let boots = options.boots ?? 1;
  let startedAt = clock.monotonic() - (options.uptime ?? 0) * 1000;
  let requests = 0;

  const uptime = (): number => (clock.monotonic() - startedAt) / 1000;
  const engine = (): AgentEngine => ({ id: engineId, boots, time: Math.floor(uptime()) });

  /** The response PDU, with the agent's own uptime in the place of the recorded one. */
  const answer = (request: Pdu, isVersion1: boolean): Pdu => {
    const right = answerPdu(request, { table: agent.table, uptime: uptime(), isVersion1 });
    const varbinds = right.varbinds.map((varbind) =>
      varbind.type === "TimeTicks" && isSame(varbind.oid, sysUpTime)
        ? { ...varbind, value: Math.floor(uptime() * 100) % 2 ** 32 }
        : varbind,
    );
    return agent.faults.liesAbout?.({ ...right, varbinds }, request) ?? { ...right, varbinds };
  };

  /** Encodes a response that fits: a GetBulk's is cut, any other becomes tooBig. */
  const fit = (response: Pdu, request: Pdu, limit: number, encode: (pdu: Pdu) => Uint8Array): Uint8Array => {
    const tooBig = { ...response, errorStatus: errorStatus.tooBig, errorIndex: 0 };
    let bytes = encode(response);
    if (bytes.length > limit && request.type === "getBulk") {
      let count = response.varbinds.length;
      while (bytes.length > limit && count > 1) {
        count = Math.max(1, Math.min(count - 1, Math.floor((count * limit) / bytes.length)));
        bytes = encode({ ...response, varbinds: response.varbinds.slice(0, count) });
      }
    }
    if (bytes.length <= limit) return bytes;
    return encode({ ...tooBig, varbinds: request.type === "getBulk" ? [] : request.varbinds });
  };

  const handleCommunity = (message: CommunityMessage): Uint8Array | undefined => {
    if (!versions.includes(message.version === 0 ? "1" : "2c")) return undefined;
    if (!communities.some((community) => community.equals(message.community))) return undefined;
    const request = readPduRest(message.pdu);
    const response = answer(request, message.version === 0);
    return fit(response, request, maxMessageSize, (pdu) =>
      encodeCommunityMessage(message.version, message.community, pdu),
    );
  };

  const handleUsm = (message: UsmMessage, datagram: Uint8Array): Uint8Array | undefined => {
    if (!versions.includes("3")) return undefined;
    const { disowns } = agent.faults;
    if (disowns !== undefined && message.engineId.length > 0 && Buffer.compare(message.engineId, engineId) !== 0)
      return disowns === "silently" ? undefined : usm.report(message, engine(), disowns);
    const admission = usm.admit(message, datagram, engine());
    if (admission === undefined || admission instanceof Uint8Array) return admission;
    const { scoped, keys } = admission;
    const response = answer(scoped.pdu, false);
    const apparent = agent.faults.pretends?.(engine()) ?? engine();
    return fit(response, scoped.pdu, Math.min(maxMessageSize, message.maxSize), (pdu) =>
      usm.seal(message, { ...scoped, pdu }, keys, apparent),
    );
  };

  const agent: SnmpAgent = {
    faults: {},
    table: options.table,
    handle(datagram) {
      requests++;
      let message: Message;
      try {
        message = decodeMessage(datagram);
      } catch {
        return [];
      }
      if (agent.faults.drops?.(message) === true) return [];
      const answered = message.version === 3 ? handleUsm(message, datagram) : handleCommunity(message);
      if (answered === undefined) return [];
      return agent.faults.sends?.(answered) ?? [answered];
    },
    reboot() {
      boots++;
      startedAt = clock.monotonic();
    },
    swap(newEngineId = randomEngineId()) {
      engineId = newEngineId;
      boots = 1;
      startedAt = clock.monotonic();
    },
    engine,
    uptime,
    get requests() {
      return requests;
    },
  };
  return agent;
}

function randomEngineId(): Uint8Array {
  return Buffer.concat([Buffer.from("80001f8880", "hex"), randomBytes(8)]);
}

function isSame(a: Oid, b: Oid): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}
