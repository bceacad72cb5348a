import type { FleetMember, FleetTables, LeaseState, Share } from "../../src/fleet/index.ts";

/** Tables of a fleet in memory, with the clock of a database. `cut` decides what happens to a call. */
export interface MemoryFleet {
  readonly tables: FleetTables;
  readonly rows: ReadonlyMap<string, { readonly session: string; readonly until: number }>;
  /** Whose calls fail: before they do anything, or after. */
  cut: (member: string, call: keyof FleetTables) => "before" | "after" | undefined;
}

interface DeviceRow {
  session: string | undefined;
  since: number;
  kept: string | undefined;
}

export function createMemoryFleet(now: () => number): MemoryFleet {
  const rows = new Map<string, { session: string; until: number; devices: string | undefined }>();
  const lists = new Map<string, readonly string[]>();
  const devices = new Map<string, DeviceRow>();
  const watchers = new Set<() => void>();
  const changed = (): void => queueMicrotask(() => watchers.forEach((listener) => listener()));
  const removeExpired = (): void => {
    for (const [name, { until }] of rows) {
      if (until > now()) continue;
      rows.delete(name);
      changed();
    }
  };
  const held = (): LeaseState => ({
    state: "held",
    members: Array.from(rows, ([name, { session, devices: list }]): FleetMember => ({
      name,
      session,
      devices: list,
    })).sort((a, b) => (a.name < b.name ? -1 : 1)),
  });
  const rowOf = (session: string) => [...rows.values()].find((row) => row.session === session);
  const lives = (session: string | undefined): boolean => session !== undefined && rowOf(session) !== undefined;
  const call = async <T>(member: string, name: keyof FleetTables, action: () => T): Promise<T> => {
    await Promise.resolve();
    const cut = fleet.cut(member, name);
    if (cut === "before") throw new Error("the connection was cut");
    const result = action();
    await Promise.resolve();
    if (cut === "after") throw new Error("the connection was cut");
    return result;
  };

  const fleet: MemoryFleet = {
    rows,
    cut: () => undefined,
    tables: {
      join: ({ name, session }, leaseMs, replaces) =>
        call(name, "join", () => {
          removeExpired();
          if (rows.has(name) && !replaces) return { state: "replaced" };
          rows.set(name, { session, until: now() + leaseMs, devices: undefined });
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
      offer: ({ name, session }, digest, keys) =>
        call(name, "offer", () => {
          lists.set(digest, keys);
          const row = rowOf(session);
          if (row !== undefined) row.devices = digest;
          changed();
        }),
      withdraw: ({ name, session }) =>
        call(name, "withdraw", () => {
          const row = rowOf(session);
          if (row !== undefined) row.devices = undefined;
          changed();
        }),
      list: (digest) => call("", "list", () => lists.get(digest)),
      take: ({ name, session }, keys) =>
        call(name, "take", () => {
          if (!lives(session)) return [];
          return keys.flatMap((key): Share[] => {
            const row = devices.get(key);
            if (row !== undefined && row.session !== session && lives(row.session)) return [];
            devices.set(key, { session, since: now(), kept: row?.kept });
            const isDead = row?.session !== undefined && row.session !== session;
            const from = row === undefined ? "nobody" : isDead ? "dead" : "released";
            return [{ key, kept: row?.kept, from, ageMs: row === undefined ? 0 : now() - row.since }];
          });
        }),
      release: ({ name, session }, kept) =>
        call(name, "release", () => {
          for (const [key, text] of kept) {
            const row = devices.get(key);
            if (row?.session === session)
              devices.set(key, { session: undefined, since: now(), kept: text ?? row.kept });
          }
          changed();
        }),
      keep: ({ name, session }, key, text) =>
        call(name, "keep", () => {
          const row = devices.get(key);
          if (row?.session === session) row.kept = text;
        }),
    },
  };
  return fleet;
}
