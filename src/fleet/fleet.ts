import { randomUUID } from "node:crypto";
import type { ISql, TransactionSql } from "postgres";
import {
  type FleetConnection,
  createFleetConnection,
  fleetChannel,
  lockFleet,
  notifyFleet,
} from "./fleet-connection.ts";
import {
  type FleetMember,
  type MembershipTables,
  type Standing,
  createMembership,
  type Membership,
} from "./membership.ts";
import { limitLog, type Clock, type Component, type Health, type Log, type Metrics } from "../base/report/index.ts";
import type { DatabaseAccess } from "../base/postgresql/index.ts";

/** Something that one member has asked another one to do. */
export interface FleetRequest {
  /** Resolves when the other one has begun. Rejects when it does not say so in time, or the database is away. */
  readonly taken: Promise<void>;
  /** Its answer; never rejects, and waits without end. */
  readonly done: Promise<string>;
  /** The answer is not waited for any more. */
  readonly forget: () => void;
}

/** Members ask each other through the database. Nothing is kept there: who is not connected has not been asked. */
export interface FleetRequests {
  /** @param body at most 4 KB. */
  ask(member: string, body: string): FleetRequest;
  /** Answers requests to this member. @returns undefined for one that is not for it. */
  serve(handle: (body: string) => Promise<string> | undefined): void;
}

interface Message {
  readonly fleet: string;
  readonly id: string;
  readonly kind: "ask" | "taken" | "done";
  readonly to: string;
  readonly from: string;
  readonly body: string;
}

const requestChannel = "netgloss_fleet_request";
const takenMs = 5000;
/** A notification has less than 8000 bytes. */
const maxBody = 4000;

function createFleetRequests(
  connection: FleetConnection,
  fleet: string,
  member: string,
  after: (action: () => void, ms: number) => () => void,
): FleetRequests {
  const asked = new Map<string, { readonly taken: () => void; readonly done: (body: string) => void }>();
  let handle: (body: string) => Promise<string> | undefined = () => undefined;

  const send = async (message: Omit<Message, "fleet" | "from">): Promise<void> => {
    const text = JSON.stringify({
      ...message,
      body: message.body.slice(0, maxBody),
      fleet,
      from: member,
    } satisfies Message);
    await connection.ask((sql) => sql`select pg_notify(${requestChannel}, ${text})`);
  };
  const serveOne = async ({ id, from, body }: Message): Promise<void> => {
    const answer = handle(body);
    if (answer === undefined) return;
    await send({ id, kind: "taken", to: from, body: "" });
    await send({ id, kind: "done", to: from, body: await answer });
  };
  connection.listen(requestChannel, (payload) => {
    const message = JSON.parse(payload) as Message;
    if (message.fleet !== fleet || message.to !== member) return;
    const waiting = asked.get(message.id);
    if (message.kind === "taken") waiting?.taken();
    else if (message.kind === "done") waiting?.done(message.body);
    // Who asked waits for no answer of a member that is cut off.
    else serveOne(message).catch(() => {});
  });

  return {
    ask(to, body) {
      const id = randomUUID();
      let done = (_body: string): void => {};
      const answer = new Promise<string>((resolve) => (done = resolve));
      const taken = new Promise<void>((resolve, reject) => {
        const cancel = after(() => reject(new Error(`the collector ${to} does not answer`)), takenMs);
        const settle = (): void => {
          cancel();
          resolve();
        };
        asked.set(id, {
          taken: settle,
          done(text) {
            asked.delete(id);
            settle();
            done(text);
          },
        });
        send({ id, kind: "ask", to, body }).catch((error: unknown) => {
          cancel();
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      });
      return { taken, done: answer, forget: () => void asked.delete(id) };
    },
    serve: (handler) => void (handle = handler),
  };
}

/**
 * The members of a fleet in the table `fleet_member`.
 *
 * A member lives as long as its row is there. Rows go once their lease is over, and never come back: what was removed in one transaction
 * cannot be renewed by one that began before, as both lock the row.
 */
export function createMembershipTables(connection: FleetConnection, fleet: string): MembershipTables {
  const watchers = new Set<() => void>();
  const notify = (): void => watchers.forEach((listener) => listener());
  connection.listen(fleetChannel, (payload) => {
    if (payload === fleet) notify();
  });
  connection.watch(notify);

  /** Who is busy with a row is left out: its own renewal, or another one's removal. */
  const removeExpired = async (sql: ISql): Promise<void> => {
    const gone = await sql`delete from netgloss.fleet_member where fleet = ${fleet} and session in (
      select session from netgloss.fleet_member where fleet = ${fleet} and until <= clock_timestamp() for update skip locked)
      returning member`;
    if (gone.length > 0) await notifyFleet(sql, fleet);
  };
  const held = async (sql: ISql): Promise<Standing> => {
    const rows = await sql<{ name: string; session: string; devices: string | null }[]>`
      select member as name, session::text as session, devices from netgloss.fleet_member
      where fleet = ${fleet} order by member`;
    const members = rows.map(({ name, session, devices }): FleetMember => ({
      name,
      session,
      devices: devices ?? undefined,
    }));
    return { state: "held", members };
  };
  const transaction = <T>(work: (sql: TransactionSql) => Promise<T>): Promise<T> =>
    connection.ask((sql) => sql.begin("isolation level read committed read write", work) as Promise<T>);

  return {
    join: ({ name, session }, leaseMs, replaces) =>
      transaction(async (sql) => {
        await lockFleet(sql, fleet);
        await removeExpired(sql);
        const [joined] = await sql`insert into netgloss.fleet_member (fleet, member, session, joined, until)
          values (${fleet}, ${name}, ${session}, clock_timestamp(), clock_timestamp() + ${leaseMs} * interval '1 ms')
          on conflict (fleet, member) do update
          set session = excluded.session, joined = excluded.joined, until = excluded.until, devices = null
          where ${replaces} returning member`;
        if (joined === undefined) return { state: "replaced" };
        await notifyFleet(sql, fleet);
        return await held(sql);
      }),
    renew: ({ name, session }, leaseMs) =>
      transaction(async (sql) => {
        await removeExpired(sql);
        const [renewed] = await sql`update netgloss.fleet_member
          set until = clock_timestamp() + ${leaseMs} * interval '1 ms'
          where fleet = ${fleet} and member = ${name} and session = ${session} returning member`;
        if (renewed !== undefined) return await held(sql);
        const [other] = await sql`select from netgloss.fleet_member where fleet = ${fleet} and member = ${name}`;
        return { state: other === undefined ? "expired" : "replaced" };
      }),
    leave: ({ session }) =>
      transaction(async (sql) => {
        await sql`delete from netgloss.fleet_member where fleet = ${fleet} and session = ${session}`;
        await notifyFleet(sql, fleet);
      }),
    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
  };
}

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
