import type { Metrics } from "../../base/report/index.ts";
import { snmpErrorCodes, type SnmpErrorCode } from "./snmp-error.ts";
import type { Family } from "../../base/ip/index.ts";
import { AgentLimits } from "./session.ts";
import { noValueFaults } from "./ber.ts";
import type { Engine } from "./security.ts";

/**
 * The reasons why a datagram was not accepted as an answer:
 *
 * - `malformed`: not an SNMP message
 * - `wrong_source`: the id of a request to another address or port
 * - `late`: for a request that was given up; `duplicate`: for one that was answered; `unknown_id`: for no request
 * - `pdu_type`: not a response
 * - `version`, `credential`, `engine`: another version, another community, user or security level, or another engine than that of the
 *   request
 * - `digest`: the MAC is wrong; `time_window`: authenticated, but as old as a replay
 */
const ignoreReasons = [
  "malformed",
  "wrong_source",
  "late",
  "duplicate",
  "unknown_id",
  "pdu_type",
  "version",
  "credential",
  "engine",
  "digest",
  "time_window",
] as const;
export type IgnoreReason = (typeof ignoreReasons)[number];

/** Plain counts, because every datagram is counted; the metrics read them. */
export class SessionCounts {
  requests = 0;
  retries = 0;
  responses = 0;
  reports = 0;
  sentBytes = 0;
  receivedBytes = 0;
  sendErrors = 0;
  socketErrors = 0;
  readonly ignored = Object.fromEntries(ignoreReasons.map((reason) => [reason, 0])) as Record<IgnoreReason, number>;
  readonly errors = new Map<SnmpErrorCode, number>();
  /** The bytes that the kernel granted last; 0 before the first request. */
  receiveBufferBytes = 0;
}

/** Registers the metrics of the session layer and returns the counts that they show. */
export function registerSessionMetrics(metrics: Metrics): SessionCounts {
  const counts = new SessionCounts();
  const counter = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_snmp_${name}_total`, help, [], read);

  counter("requests", "SNMP requests, each counted once however often it was sent", () => counts.requests);
  counter("retries", "SNMP requests sent again because no answer came in time", () => counts.retries);
  counter("responses", "SNMP answers that were accepted", () => counts.responses);
  counter("reports", "Report PDUs taken as the answer to a request of version 3", () => counts.reports);
  counter("sent_bytes", "Bytes of SNMP datagrams sent", () => counts.sentBytes);
  counter("received_bytes", "Bytes of SNMP datagrams received", () => counts.receivedBytes);
  counter("send_errors", "SNMP datagrams that the host refused to send", () => counts.sendErrors);
  counter("socket_errors", "SNMP sockets closed because of an error", () => counts.socketErrors);
  metrics.counterFrom(
    "netgloss_snmp_ignored_datagrams_total",
    "Datagrams not taken as an answer, by reason",
    ["reason"],
    () => ignoreReasons.map((reason) => [{ reason }, counts.ignored[reason]] as const),
  );
  metrics.counterFrom("netgloss_snmp_request_errors_total", "SNMP requests that failed, by code", ["code"], () =>
    snmpErrorCodes.map((code) => [{ code }, counts.errors.get(code) ?? 0] as const),
  );
  metrics.gaugeFrom(
    "netgloss_snmp_receive_buffer_bytes",
    "Receive buffer of the SNMP socket as granted by the kernel",
    [],
    () => counts.receiveBufferBytes,
  );
  return counts;
}

/** The counts of messages to and from one agent since its first session was opened. */
export class PeerCounts {
  /** Requests, each counted once, however often it was sent. */
  requests = 0;
  /** Requests sent again. */
  retries = 0;
  /** Requests without an acceptable answer after the last try. */
  timeouts = 0;
  /** Answers that were accepted. */
  responses = 0;
  /** Datagrams from the agent's address and port that answered nothing, or could not be trusted or decoded. */
  ignored = 0;
  sentBytes = 0;
  receivedBytes = 0;
}

/** The transports of messages: UDP, or TCP (RFC 3430). */
export const transports = ["udp", "tcp"] as const;
export type Transport = (typeof transports)[number];

/** An agent by address, port and transport; its sessions share the facts about it. */
export class Peer {
  readonly family: Family;
  /** The address as canonical text. */
  readonly address: string;
  readonly port: number;
  readonly transport: Transport;
  readonly counts = new PeerCounts();
  readonly valueFaults = noValueFaults();
  readonly limits = new AgentLimits();
  engine: Engine | undefined;
  /** The number of version 3 requests without an answer since the last answered one. */
  silent = 0;
  /** The number of open sessions. */
  sessions = 0;

  constructor(family: Family, address: string, port: number, transport: Transport) {
    this.family = family;
    this.address = address;
    this.port = port;
    this.transport = transport;
  }
}

/** Returns the name of a peer for look-ups and messages: `192.0.2.1:161`, `[2001:db8::1]:161`. */
export function peerName(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
