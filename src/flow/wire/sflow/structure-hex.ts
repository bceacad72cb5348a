import type { Scalar } from "../../../record/index.ts";

/** What a structure is of: each has numbers of its own. */
export type StructureKind = "sample" | "flow" | "counters";

/**
 * Structures that do not become fields, in hex: `flow.ie.sflow.<kind>.<enterprise>.<format>`. Each is an array, because a sample may have
 * several of one format.
 */
export interface StructureHex {
  /** @param key enterprise in the upper twenty bits, format in the lower twelve. */
  add(kind: StructureKind, key: number, bytes: Buffer, at: number, end: number): void;
  /** Whether there are any. */
  readonly isEmpty: boolean;
  /** Hands over what was added, and forgets it. */
  take(put: (name: string, values: readonly Scalar[]) => void): void;
}

export function createStructureHex(): StructureHex {
  const known = new Map<string, string[]>();
  return {
    add(kind, key, bytes, at, end) {
      const name = `flow.ie.sflow.${kind}.${key >>> 12}.${key & 0xfff}`;
      const text = `0x${bytes.toString("hex", at, end)}`;
      const before = known.get(name);
      if (before === undefined) known.set(name, [text]);
      else before.push(text);
    },
    get isEmpty() {
      return known.size === 0;
    },
    take(put) {
      known.forEach((values, name) => put(name, values));
      known.clear();
    },
  };
}
