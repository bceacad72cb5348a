import { hashText } from "../../text/index.ts";
import type { PolledRow } from "./poll-object.ts";

/** Remembers which rows each object had in its last complete poll. */
export interface VanishedRows {
  /** @returns how many rows the object had, and has no longer. */
  see(objectId: string, rows: readonly PolledRow[]): number;
  /** Forgets all objects but these. */
  keep(objects: { has(objectId: string): boolean }): void;
}

/** Rows are kept as hashes of 32 bits: two that share one are counted as one, which a metric can bear. */
export function createVanishedRows(): VanishedRows {
  const last = new Map<string, Uint32Array>();
  return {
    see(objectId, rows) {
      const present = Uint32Array.from(rows, ({ key }) => hashText(key));
      const before = last.get(objectId);
      last.set(objectId, present);
      if (before === undefined || isSame(before, present)) return 0;
      const known = new Set(present);
      return before.reduce((vanished, row) => vanished + (known.has(row) ? 0 : 1), 0);
    },
    keep(objects) {
      for (const objectId of last.keys()) if (!objects.has(objectId)) last.delete(objectId);
    },
  };
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
