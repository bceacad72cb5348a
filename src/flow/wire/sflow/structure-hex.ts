import type { Span } from "../steps/step-list.ts";

/** What a structure is of: each has numbers of its own. */
export type StructureKind = "sample" | "flow" | "counters";

/**
 * Structures that do not become fields, in hex: `flow.ie.sflow.<kind>.<enterprise>.<format>`. Each is an array, because a sample may have
 * several of one format.
 */
export interface StructureHex {
  /** @param key enterprise in the upper twenty bits, format in the lower twelve. */
  add(kind: StructureKind, key: number, at: number, end: number): void;
  /** Whether there are any. */
  isEmpty(): boolean;
  /** Hands over where those that were added are, by their names, and forgets them. */
  take(put: (name: string, spans: readonly Span[]) => void): void;
}

/** Formats come from the network: names of this many are kept. */
const maxNames = 1024;

export function createStructureHex(): StructureHex {
  const known = new Map<string, Span[]>();
  const names = {
    sample: new Map<number, string>(),
    flow: new Map<number, string>(),
    counters: new Map<number, string>(),
  };

  const nameOf = (kind: StructureKind, key: number): string => {
    const ofKind = names[kind];
    const before = ofKind.get(key);
    if (before !== undefined) return before;
    if (ofKind.size >= maxNames) ofKind.clear();
    const name = `flow.ie.sflow.${kind}.${key >>> 12}.${key & 0xfff}`;
    ofKind.set(key, name);
    return name;
  };

  return {
    add(kind, key, at, end) {
      const name = nameOf(kind, key);
      const before = known.get(name);
      if (before === undefined) known.set(name, [{ at, end }]);
      else before.push({ at, end });
    },
    isEmpty: () => known.size === 0,
    take(put) {
      known.forEach((spans, name) => put(name, spans));
      known.clear();
    },
  };
}
