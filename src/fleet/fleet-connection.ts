import type { Sql } from "postgres";
import {
  createFollower,
  messageOf,
  migrate,
  migrateMs,
  showDatabase,
  type DatabaseAccess,
  type Session,
} from "../postgresql/index.ts";
import type { Clock, Component, Log } from "../report/index.ts";
import { fleetSchema } from "./fleet-schema.ts";

/** The one connection to the database that all parts of a fleet share. */
export interface FleetConnection extends Component {
  /** The database as a URL without a user. */
  readonly place: string;
  /**
   * Runs work that asks the database. Keep it short: renewals of the lease wait for it.
   *
   * @throws Error at once while the database is away.
   */
  ask<T>(work: (sql: Sql) => Promise<T>, timeoutMs?: number): Promise<T>;
  /** Calls the listener with each notification of a channel. Must be called before the start. */
  listen(channel: string, listener: (payload: string) => void): void;
  /** Calls the listener when the database was connected to. @returns what ends that. */
  watch(listener: () => void): () => void;
  isThere(): boolean;
  /** Why it is away. */
  reason(): string;
}

export interface FleetConnectionOptions {
  readonly access: DatabaseAccess;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly random: () => number;
  readonly clock: Clock;
  /** Limited in rate. */
  readonly log: Log;
}

export function createFleetConnection(options: FleetConnectionOptions): FleetConnection {
  const { access, log } = options;
  const place = showDatabase(access.address);
  const channels = new Map<string, ((payload: string) => void)[]>();
  const watchers = new Set<() => void>();

  const follower = createFollower({
    ...options,
    what: "the database of the fleet",
    async connected(session) {
      const made = await migrate(session, fleetSchema, migrateMs);
      if (made.length > 0) log.info({ database: place, steps: made }, "created the tables of the fleet");
      for (const channel of channels.keys()) await session.ask((sql) => sql.unsafe(`listen ${channel}`));
      log.info({ database: place, server: session.server }, "connected to the database of the fleet");
      // The session is of use once this has returned.
      queueMicrotask(() => setImmediate(() => watchers.forEach((listener) => listener())));
    },
    notified(_session, payload, channel) {
      for (const listener of channels.get(channel) ?? []) listener(payload);
    },
    beat: async (session) => void (await session.ask((sql) => sql`select`)),
    lost: (reason) => log.warn({ database: place, reason }, "the database of the fleet does not answer"),
  });

  const connected = (): Session => {
    const session = follower.session();
    if (session === undefined) throw new Error(`the database of the fleet, ${place}, is away: ${follower.reason()}`);
    return session;
  };

  return {
    name: "connection to the fleet",
    place,
    start: () => follower.start(),
    stop: () => follower.stop(),
    async ask(work, timeoutMs) {
      const session = connected();
      try {
        return await session.ask(work, timeoutMs);
      } catch (error) {
        throw new Error(`the database of the fleet, ${place}, has not done it: ${messageOf(error)}`, { cause: error });
      }
    },
    listen: (channel, listener) => void channels.set(channel, [...(channels.get(channel) ?? []), listener]),
    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    isThere: () => follower.session() !== undefined,
    reason: () => follower.reason(),
  };
}
