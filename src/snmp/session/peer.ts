import type { Family } from "../../base/ip/index.ts";
import { AgentLimits } from "./agent-limits.ts";
import { noValueFaults, type ValueFault } from "./codec/decode-error.ts";
import type { Engine } from "./usm/engine.ts";

/** What went to and came from one agent, since its first session was opened. */
export interface PeerCounts {
  /** Requests, each counted once, however often it was sent. */
  requests: number;
  /** Requests sent again. */
  retries: number;
  /** Requests without an acceptable answer after the last try. */
  timeouts: number;
  /** Answers that were accepted. */
  responses: number;
  /** Datagrams from the agent's address and port that answered nothing, or could not be trusted or decoded. */
  ignored: number;
  sentBytes: number;
  receivedBytes: number;
}

/** How messages travel: by UDP, or by TCP (RFC 3430). */
export const transports = ["udp", "tcp"] as const;
export type Transport = (typeof transports)[number];

/** An agent by address, port and transport; its sessions share what is known of it. */
export interface Peer {
  readonly family: Family;
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
  readonly transport: Transport;
  readonly counts: PeerCounts;
  readonly valueFaults: Record<ValueFault, number>;
  readonly limits: AgentLimits;
  engine: Engine | undefined;
  /** Requests of version 3 without an answer since the last one that had one. */
  silent: number;
}

export function createPeer(family: Family, address: string, port: number, transport: Transport): Peer {
  const counts: PeerCounts = {
    requests: 0,
    retries: 0,
    timeouts: 0,
    responses: 0,
    ignored: 0,
    sentBytes: 0,
    receivedBytes: 0,
  };
  return {
    family,
    address,
    port,
    transport,
    counts,
    valueFaults: noValueFaults(),
    limits: new AgentLimits(),
    engine: undefined,
    silent: 0,
  };
}

/** Name of a peer for look-ups and messages: `192.0.2.1:161`, `[2001:db8::1]:161`. */
export function peerName(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
