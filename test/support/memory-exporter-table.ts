import type { SharedStateTable, StateRow } from "../../src/flow/index.ts";

/** The table of exporters of a fleet in memory, with the clock of a database. */
export interface MemoryExporterTables {
  /** The table as one member has it. */
  table(member: string): SharedStateTable;
  /** Calls fail while it is away. */
  isAway: boolean;
  /** Calls so far, by name. */
  readonly calls: Record<"write" | "touch" | "remove" | "find" | "prune", number>;
  readonly rows: Map<string, StoredRow>;
  /** It is connected to again. */
  comeBack(): void;
}

interface StoredRow extends StateRow {
  readonly member: string;
  readonly written: number;
  readonly seen: number;
}

export function createMemoryExporterTables(now: () => number): MemoryExporterTables {
  const rows = new Map<string, StoredRow>();
  const watchers = new Set<() => void>();
  const tables: MemoryExporterTables = {
    rows,
    isAway: false,
    calls: { write: 0, touch: 0, remove: 0, find: 0, prune: 0 },
    comeBack() {
      tables.isAway = false;
      for (const listener of watchers) listener();
    },
    table(member) {
      const keyOf = ({ sender, exporter }: { sender: string; exporter: string }): string =>
        `${sender} ${exporter} ${member}`;
      const call = async <T>(name: keyof MemoryExporterTables["calls"], action: () => T): Promise<T> => {
        await Promise.resolve();
        tables.calls[name]++;
        if (tables.isAway) throw new Error("the database is away");
        return action();
      };
      return {
        isThere: () => !tables.isAway,
        watch(listener) {
          watchers.add(listener);
          return () => void watchers.delete(listener);
        },
        write: (given) =>
          call("write", () => {
            for (const row of given) {
              rows.set(keyOf(row), { ...row, member, written: now() - row.ageMs, seen: now() - row.silentMs });
            }
          }),
        touch: (given) =>
          call("touch", () =>
            given.flatMap((row) => {
              const stored = rows.get(keyOf(row));
              if (stored === undefined) return [{ sender: row.sender, exporter: row.exporter }];
              rows.set(keyOf(row), { ...stored, seen: now() - row.silentMs });
              return [];
            }),
          ),
        remove: (keys) => call("remove", () => keys.forEach((key) => rows.delete(keyOf(key)))),
        find: (senders, maxSilentMs) =>
          call("find", () => {
            const found = [...rows.values()]
              .filter(({ sender, seen }) => senders.includes(sender) && now() - seen < maxSilentMs)
              .toSorted((a, b) => b.seen - a.seen || (a.member < b.member ? -1 : 1));
            const places = new Map<string, number>();
            return found
              .filter(({ sender, exporter }) => {
                const place = (places.get(`${sender} ${exporter}`) ?? 0) + 1;
                places.set(`${sender} ${exporter}`, place);
                return place <= 8;
              })
              .map(({ sender, exporter, text, clock, written, seen }): StateRow => {
                return { sender, exporter, text, clock, ageMs: now() - written, silentMs: now() - seen };
              });
          }),
        prune: (silentMs) =>
          call("prune", () => {
            const old = [...rows].filter(([, { seen }]) => now() - seen > silentMs);
            for (const [key] of old) rows.delete(key);
            return old.length;
          }),
      };
    },
  };
  return tables;
}
