import type { PolledRow } from "./poll-object.ts";

/** Remembers which rows each object had in its last complete poll. */
export interface VanishedRows {
  /** @returns how many rows the object had, and has no longer. */
  see(objectId: string, rows: readonly PolledRow[]): number;
  /** Forgets all objects but these. */
  keep(objects: { has(objectId: string): boolean }): void;
}

export function createVanishedRows(): VanishedRows {
  const last = new Map<string, ReadonlySet<string>>();
  return {
    see(objectId, rows) {
      const present = new Set(rows.map(({ key }) => key));
      let vanished = 0;
      for (const suffix of last.get(objectId) ?? []) if (!present.has(suffix)) vanished++;
      last.set(objectId, present);
      return vanished;
    },
    keep(objects) {
      for (const objectId of last.keys()) if (!objects.has(objectId)) last.delete(objectId);
    },
  };
}
