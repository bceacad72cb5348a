import { randomUUID } from "node:crypto";
import { FleetConnection } from "./fleet-connection.ts";
import { Membership, type MembershipOptions, type MembershipTables } from "./membership.ts";
import { PostgresqlMembershipTables } from "./postgresql-tables.ts";
import { limitLog, type Component } from "../base/report/index.ts";
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

/** Members ask each other through the database. Nothing is kept there: who is not connected has not been asked. */
export class FleetRequests {
  readonly #connection: FleetConnection;
  readonly #fleet: string;
  readonly #member: string;
  readonly #after: (action: () => void, ms: number) => () => void;
  readonly #asked = new Map<string, { readonly taken: () => void; readonly done: (body: string) => void }>();
  #handle: (body: string) => Promise<string> | undefined = () => undefined;

  constructor(
    connection: FleetConnection,
    fleet: string,
    member: string,
    after: (action: () => void, ms: number) => () => void,
  ) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#member = member;
    this.#after = after;
    connection.listen(requestChannel, (payload) => {
      const message = JSON.parse(payload) as Message;
      if (message.fleet !== fleet || message.to !== member) return;
      const waiting = this.#asked.get(message.id);
      if (message.kind === "taken") waiting?.taken();
      else if (message.kind === "done") waiting?.done(message.body);
      // The asker waits for no answer of a member that is cut off.
      else this.#serveOne(message).catch(() => {});
    });
  }

  /** @param body at most 4 KB. */
  ask(to: string, body: string): FleetRequest {
    const id = randomUUID();
    let done = (_body: string): void => {};
    const answer = new Promise<string>((resolve) => (done = resolve));
    const taken = new Promise<void>((resolve, reject) => {
      const cancel = this.#after(() => reject(new Error(`the collector ${to} does not answer`)), takenMs);
      const resume = (): void => {
        cancel();
        resolve();
      };
      this.#asked.set(id, {
        taken: resume,
        done: (text) => {
          this.#asked.delete(id);
          resume();
          done(text);
        },
      });
      this.#send({ id, kind: "ask", to, body }).catch((error: unknown) => {
        cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      });
    });
    return { taken, done: answer, forget: () => void this.#asked.delete(id) };
  }

  /** Answers requests to this member. @returns undefined for one that is not for it. */
  serve(handler: (body: string) => Promise<string> | undefined): void {
    this.#handle = handler;
  }

  async #send(message: Omit<Message, "fleet" | "from">): Promise<void> {
    const text = JSON.stringify({
      ...message,
      body: message.body.slice(0, maxBody),
      fleet: this.#fleet,
      from: this.#member,
    } satisfies Message);
    await this.#connection.ask((sql) => sql`select pg_notify(${requestChannel}, ${text})`);
  }

  async #serveOne({ id, from, body }: Message): Promise<void> {
    const answer = this.#handle(body);
    if (answer === undefined) return;
    await this.#send({ id, kind: "taken", to: from, body: "" });
    await this.#send({ id, kind: "done", to: from, body: await answer });
  }
}

export interface FleetOptions extends Omit<MembershipOptions, "tables" | "newSession"> {
  readonly access: DatabaseAccess;
  /** From 0 to 1. */
  readonly random: () => number;
}

/**
 * The fleet as one of its collectors sees it.
 *
 * Joins a fleet whose members share a database. A start does not wait for a database that is away.
 */
export class Fleet implements Component {
  readonly requests: FleetRequests;
  readonly name: string;
  readonly fleet: string;
  readonly connection: FleetConnection;
  readonly #tables: MembershipTables;
  readonly membership: Membership;

  constructor(options: FleetOptions) {
    const { fleet, metrics } = options;
    this.fleet = fleet;
    const log = limitLog(options.log, options.clock);
    this.connection = new FleetConnection({ ...options, log });
    this.#tables = new PostgresqlMembershipTables(this.connection, fleet);
    this.membership = new Membership({ ...options, log, tables: this.#tables, newSession: randomUUID });
    metrics.gaugeFrom("netgloss_fleet_connected", "Whether the database of the fleet is connected.", [], () =>
      this.connection.isThere() ? 1 : 0,
    );
    const { member } = options;
    const help = "Names of the fleet and of this member, as labels; the value is 1.";
    metrics.gaugeFrom("netgloss_fleet_info", help, ["fleet", "member"], () => [[{ fleet, member }, 1]]);
    this.name = `fleet ${fleet}`;
    this.requests = new FleetRequests(this.connection, fleet, options.member, options.after);
  }

  /** Calls the listener when who lives, or what the members hold, may have changed. @returns what ends that. */
  watch(listener: () => void): () => void {
    return this.#tables.watch(listener);
  }

  async start(): Promise<void> {
    await this.connection.start();
    await this.membership.start();
  }

  async stop(): Promise<void> {
    await this.membership.stop();
    await this.connection.stop();
  }
}
