import { randomUUID } from "node:crypto";
import { type FleetTables, Membership } from "./membership.ts";
import { FleetConnection, PostgresqlFleetTables, requestChannel } from "./postgresql-tables.ts";
import { limitLog, Pause, type Component, type Reporting } from "../base/report/index.ts";
import type { DatabaseAccess } from "../base/postgresql/index.ts";

interface Message {
  readonly fleet: string;
  readonly id: string;
  readonly kind: "ask" | "taken" | "done";
  readonly to: string;
  readonly from: string;
  readonly body: string;
}

const takenMs = 5000;
/** A notification has less than 8000 bytes. */
const maxBody = 4000;

/** Members ask each other through the database. Nothing is kept there: who is not connected has not been asked. */
export class FleetRequests {
  readonly #connection: FleetConnection;
  readonly #fleet: string;
  readonly #member: string;
  /** Receives what is said to each request of this member, by its id. */
  readonly #asked = new Map<string, (message: Message) => void>();
  #handle: (body: string) => Promise<string> | undefined = () => undefined;

  constructor(connection: FleetConnection, fleet: string, member: string) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#member = member;
    connection.listen(requestChannel, (payload) => {
      const message = JSON.parse(payload) as Message;
      if (message.fleet !== fleet || message.to !== member) return;
      if (message.kind !== "ask") this.#asked.get(message.id)?.(message);
      // The asker waits for no answer of a member that is cut off.
      else this.#serveOne(message).catch(() => {});
    });
  }

  /**
   * Resolves when the other one has begun. Its answer, `done`, never rejects and may never come: who no longer waits for it calls `forget`.
   *
   * @param body at most 4 KB.
   * @throws Error when it does not say in time that it has begun, or the database is away.
   */
  async ask(to: string, body: string): Promise<{ readonly done: Promise<string>; readonly forget: () => void }> {
    const id = randomUUID();
    const forget = (): void => void this.#asked.delete(id);
    const late = new Pause();
    let isTaken = false;
    const done = new Promise<string>((resolve) => {
      this.#asked.set(id, ({ kind, body: answer }) => {
        isTaken = true;
        late.end();
        if (kind !== "done") return;
        forget();
        resolve(answer);
      });
    });
    try {
      const isOver = late.pause(takenMs);
      const sent = this.#send({ id, kind: "ask", to, body });
      await Promise.race([isOver, sent.then(() => isOver)]);
      if (!isTaken) throw new Error(`the collector ${to} does not answer`);
    } catch (error) {
      late.end();
      forget();
      throw error;
    }
    return { done, forget };
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

/**
 * The fleet as one of its collectors sees it.
 *
 * Joins a fleet whose members share a database. A start does not wait for a database that is away.
 */
export class Fleet implements Component {
  readonly name: string;
  readonly fleet: string;
  readonly connection: FleetConnection;
  readonly tables: FleetTables;
  readonly membership: Membership;
  readonly requests: FleetRequests;

  /** @param member the name of this collector. */
  constructor(access: DatabaseAccess, fleet: string, member: string, leaseMs: number, reporting: Reporting) {
    const { metrics, clock } = reporting;
    const log = limitLog(reporting.log, clock);
    this.name = `fleet ${fleet}`;
    this.fleet = fleet;
    this.connection = new FleetConnection(access, log);
    this.tables = new PostgresqlFleetTables(this.connection, fleet);
    this.membership = new Membership(this.tables, fleet, member, leaseMs, { ...reporting, log });
    this.requests = new FleetRequests(this.connection, fleet, member);
    metrics.gaugeFrom("netgloss_fleet_connected", "Whether the database of the fleet is connected.", [], () =>
      this.connection.isThere() ? 1 : 0,
    );
    const help = "Names of the fleet and of this member, as labels; the value is 1.";
    metrics.gaugeFrom("netgloss_fleet_info", help, ["fleet", "member"], () => [[{ fleet, member }, 1]]);
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
