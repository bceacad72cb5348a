import type { FleetMember, MembershipTables, Standing } from "../../src/fleet/index.ts";

/** Tables of a fleet in memory, with the clock of a database. `cut` decides what becomes of a call. */
export interface MemoryFleet {
  tables(name?: string): MembershipTables;
  readonly rows: ReadonlyMap<string, { readonly session: string; readonly until: number }>;
  /** Whose calls fail: before they do anything, or after. */
  cut: (member: string, call: keyof MembershipTables) => "before" | "after" | undefined;
}

export function createMemoryFleet(now: () => number): MemoryFleet {
  const rows = new Map<string, { session: string; until: number }>();
  const watchers = new Set<() => void>();
  const changed = (): void => queueMicrotask(() => watchers.forEach((listener) => listener()));
  const removeExpired = (): void => {
    for (const [name, { until }] of rows) {
      if (until > now()) continue;
      rows.delete(name);
      changed();
    }
  };
  const held = (): Standing => ({
    state: "held",
    members: Array.from(rows, ([name, { session }]): FleetMember => ({ name, session })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  });
  const fleet: MemoryFleet = {
    rows,
    cut: () => undefined,
    tables() {
      const call = async <T>(member: string, name: keyof MembershipTables, action: () => T): Promise<T> => {
        await Promise.resolve();
        const cut = fleet.cut(member, name);
        if (cut === "before") throw new Error("the connection was cut");
        const result = action();
        if (cut === "after") throw new Error("the connection was cut");
        return result;
      };
      return {
        join: ({ name, session }, leaseMs, replaces) =>
          call(name, "join", () => {
            removeExpired();
            if (rows.has(name) && !replaces) return { state: "replaced" };
            rows.set(name, { session, until: now() + leaseMs });
            changed();
            return held();
          }),
        renew: ({ name, session }, leaseMs) =>
          call(name, "renew", () => {
            removeExpired();
            const row = rows.get(name);
            if (row?.session !== session) return { state: row === undefined ? "expired" : "replaced" };
            row.until = now() + leaseMs;
            return held();
          }),
        leave: ({ name, session }) =>
          call(name, "leave", () => {
            if (rows.get(name)?.session === session) rows.delete(name);
            changed();
          }),
        watch(listener) {
          watchers.add(listener);
          return () => void watchers.delete(listener);
        },
      };
    },
  };
  return fleet;
}
