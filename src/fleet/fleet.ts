import { randomUUID } from "node:crypto";
import { limitLog, type Clock, type Component, type Health, type Log, type Metrics } from "../report/index.ts";
import type { DatabaseAccess } from "../postgresql/index.ts";
import { createFleetConnection, type FleetConnection } from "./fleet-connection.ts";
import { createMembershipTables } from "./membership-tables.ts";
import { createMembership, type Membership } from "./membership.ts";
import { createFleetRequests, type FleetRequests } from "./requests.ts";

/** The fleet as one of its collectors sees it. */
export interface Fleet extends Component {
  /** The name that its collectors share. */
  readonly fleet: string;
  readonly connection: FleetConnection;
  readonly membership: Membership;
  readonly requests: FleetRequests;
  /** Calls the listener when who lives, or what the members hold, may have changed. @returns what ends that. */
  watch(listener: () => void): () => void;
}

export interface FleetOptions {
  readonly access: DatabaseAccess;
  readonly fleet: string;
  readonly member: string;
  readonly leaseMs: number;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after: (action: () => void, ms: number) => () => void;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** Joins a fleet whose members share a database. A start does not wait for a database that is away. */
export function createFleet(options: FleetOptions): Fleet {
  const { fleet, metrics } = options;
  const log = limitLog(options.log, options.clock);
  const connection = createFleetConnection({ ...options, log });
  const tables = createMembershipTables(connection, fleet);
  const membership = createMembership({ ...options, log, tables, newSession: randomUUID });
  metrics.gaugeFrom("netgloss_fleet_connected", "Whether the database of the fleet is connected.", [], () =>
    connection.isThere() ? 1 : 0,
  );
  const { member } = options;
  const help = "Names of the fleet and of this member, as labels; the value is 1.";
  metrics.gaugeFrom("netgloss_fleet_info", help, ["fleet", "member"], () => [[{ fleet, member }, 1]]);
  return {
    name: `fleet ${fleet}`,
    fleet,
    connection,
    membership,
    requests: createFleetRequests(connection, fleet, options.member, options.after),
    watch: (listener) => tables.watch(listener),
    async start() {
      await connection.start();
      await membership.start();
    },
    async stop() {
      await membership.stop();
      await connection.stop();
    },
  };
}
