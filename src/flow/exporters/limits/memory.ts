import type { Budget } from "./options-share.ts";

/**
 * What things that exporters make the collector remember take in the heap, in bytes: measured with Node 20 and rounded up. The
 * bytes of texts and of what came from the wire are added.
 */
export const memoryCosts = {
  exporter: 6000,
  domain: 3000,
  /** A further port of a domain. */
  alias: 150,
  /** A template of a domain, without its plan. */
  template: 250,
  /** A plan, and each field of it. */
  plan: 1500,
  planField: 350,
  /** A data set that waits, with what it keeps of its datagram. */
  waitingSet: 1400,
  /** A data source of an sFlow agent. */
  source: 150,
  /** A flow that a firewall has reported and that has not ended. */
  firewallFlow: 250,
} as const;

/** What one exporter holds of the memory of all. */
export interface MemoryShare {
  /** With what it shares with others. */
  readonly bytes: number;
  /** Counts bytes that the exporter alone holds; negative ones are given back. */
  add(bytes: number): void;
  /** Counts bytes that are accounted for elsewhere, once for all that share them. */
  addShared(bytes: number): void;
}

/** @param all of all exporters together. One datagram may exceed it: room is made before the next. */
export function createMemoryShare(all: Budget): MemoryShare {
  let own = 0;
  return {
    get bytes() {
      return own;
    },
    add(bytes) {
      own += bytes;
      all.used += bytes;
    },
    addShared: (bytes) => void (own += bytes),
  };
}
