import type { AgentLimits } from "./agent-limits.ts";
import type { ValueFault } from "./codec/decode-error.ts";
import type { Oid } from "./oid.ts";
import type { PeerCounts } from "./peer.ts";
import type { EngineView } from "./usm/engine.ts";
import type { VarBind } from "./var-bind.ts";

/** What an agent answered. A response with an error status is an answer too. */
export interface SnmpResponse {
  /** With an error status, what the agent put there: often the request's own identifiers with Null. */
  readonly varbinds: readonly VarBind[];
  /** 0 is no error; names in {@link errorStatusNames}. */
  readonly errorStatus: number;
  /** Which varbind of the request is at fault, from 1; 0 for none. Not checked: agents put anything there. */
  readonly errorIndex: number;
  /** What is odd about its values; undefined: nothing. */
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
  /** What the agent can take, as far as its answers have shown; of its address and port, over all its sessions. */
  readonly limits: AgentLimits;
  /** Values of the agent that were odd, by what is odd about them. The object is live. */
  readonly valueFaults: Readonly<Record<ValueFault, number>>;
  /** Fails what waits with `closed`, and every later request. */
  close(): void;
}
