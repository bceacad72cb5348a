import { randomUUID } from "node:crypto";
import { runAfter } from "../base/file/index.ts";
import {
  type Clock,
  type Component,
  type Counter,
  type Health,
  isExpected,
  type Log,
  type Reporting,
  Rounds,
} from "../base/report/index.ts";

/** A living collector of a fleet. */
export interface FleetMember {
  readonly name: string;
  /** A UUID that changes each time that it joins. */
  readonly session: string;
  /** A digest of the devices that it can poll; undefined: it polls no shared devices. */
  readonly devices?: string | undefined;
}

/** The state of a session's lease in the database. */
export type LeaseState =
  | { readonly state: "held"; readonly members: readonly FleetMember[] }
  /** The lease ended or was given up. */
  | { readonly state: "expired" }
  /** Another session has the name. */
  | { readonly state: "replaced" };

/** A key that this collector holds from now on. */
export interface Share {
  readonly key: string;
  /** State that an earlier holder left for the next one. */
  readonly kept: string | undefined;
  /** Why the key was free: nobody had it, its holder gave it up, or its holder is dead. */
  readonly from: "nobody" | "released" | "dead";
  /** Milliseconds since the key was last given up or taken. */
  readonly ageMs: number;
}

/** The tables of a fleet in a database. Times are those of the database. All calls may fail with an Error while it is away. */
export interface FleetTables {
  /**
   * Takes the name for a session.
   *
   * @param replaces true ends an earlier session of that name; false keeps it and returns `replaced`.
   */
  join(member: FleetMember, leaseMs: number, replaces: boolean): Promise<LeaseState>;
  /** Extends the lease from now, unless it has ended. */
  renew(member: FleetMember, leaseMs: number): Promise<LeaseState>;
  /** Gives up the lease, which ends the session. */
  leave(member: FleetMember): Promise<void>;
  /** Stores the keys that a member can take, by a digest of the list. */
  offer(member: FleetMember, digest: string, keys: readonly string[]): Promise<void>;
  /** Withdraws the offer: others share the keys without this member. */
  withdraw(member: FleetMember): Promise<void>;
  /** Returns the keys of a list; undefined for an unknown digest. */
  list(digest: string): Promise<readonly string[] | undefined>;
  /** Takes those of the keys that no living member holds, and those that this session already holds. */
  take(member: FleetMember, keys: readonly string[]): Promise<readonly Share[]>;
  /** Gives up keys, with a text for the next holder. Without a text, the earlier one stays. */
  release(member: FleetMember, kept: ReadonlyMap<string, string | undefined>): Promise<void>;
  /** Stores a text for the next holder. It does nothing when the session does not hold the key. */
  keep(member: FleetMember, key: string, text: string): Promise<void>;
  /** Calls the listener when the living members, or what they hold, may have changed. @returns a function that ends that. */
  watch(listener: () => void): () => void;
}

/** When a request was sent, by both clocks. */
interface Held {
  readonly monotonic: number;
  readonly wall: number;
}

/** The interval between checks of the clocks. */
const lookMs = 500;
const results = ["ok", "failed", "expired", "replaced"] as const;
const losses = ["no_answer", "replaced"] as const;
/** Name of the readiness check. */
const checkName = "fleet";

/**
 * Keeps this collector a member of its fleet, and reports whether it is a living one and who the others are.
 *
 * - The lease counts from the time when the request was sent, not from its answer: the database counts from a later time.
 * - The lease ends a little earlier here than in the database, because clocks run at different speeds. The first clock of this host to reach the end
 * decides: the monotonic clock stops while a virtual machine is suspended, and the wall clock may be set back.
 * - A collector whose name another one has taken stays out until that one is gone. Otherwise two with one name would take it from each other.
 */
export class Membership implements Component {
  readonly name: string;
  readonly member: string;
  readonly leaseMs: number;
  readonly #tables: FleetTables;
  readonly #fleet: string;
  /** A log with a rate limit. */
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #after: typeof runAfter;
  readonly #rounds: Rounds;
  /** The wait after a failure. The lease ends earlier here than in the database by the same time. */
  readonly #retryMs: number;
  readonly #watchers = new Set<() => void>();
  /** The session in the database; undefined: this collector has to join. */
  #mine: FleetMember | undefined;
  #members: readonly FleetMember[] = [];
  /** When the request was sent from which the lease counts. */
  #heldSince: Held | undefined;
  #isHeld = false;
  #isReplaced = false;
  #cancelEnd = (): void => {};
  readonly #renewals: Counter;
  readonly #lost: Counter;
  #problem = "it has not joined yet";
  #endWatch = (): void => {};

  /**
   * @param reporting its log has a rate limit.
   * @param after runs an action once after a time, without keeping the process alive. It returns a function that cancels it.
   */
  constructor(
    tables: FleetTables,
    fleet: string,
    member: string,
    leaseMs: number,
    { log, metrics, clock, health }: Reporting,
    after = runAfter,
  ) {
    this.member = member;
    this.leaseMs = leaseMs;
    this.#tables = tables;
    this.#fleet = fleet;
    this.#log = log;
    this.#clock = clock;
    this.#health = health;
    this.#after = after;
    this.#retryMs = Math.max(100, leaseMs / 20);
    this.#rounds = new Rounds(
      () => this.#renew(),
      (error) => this.#failed(error),
      after,
    );
    this.#renewals = metrics.counter(
      "netgloss_fleet_renewals_total",
      "Renewals of the lease in the fleet, by result.",
      {
        result: results,
      },
    );
    this.#lost = metrics.counter("netgloss_fleet_leases_lost_total", "Leases in the fleet that were lost, by reason.", {
      reason: losses,
    });
    metrics.gaugeFrom("netgloss_fleet_members", "Living members of the fleet that this collector knows of.", [], () =>
      this.#isHeldNow() ? this.#members.length : 0,
    );
    metrics.gaugeFrom("netgloss_fleet_lease_held", "Whether this collector is a living member of its fleet.", [], () =>
      this.#isHeldNow() ? 1 : 0,
    );
    this.name = `fleet ${fleet}`;
  }

  /** Returns the session while its lease lasts by this collector's own clocks. Undefined: it must not do shared work. */
  session(): string | undefined {
    return this.#isHeldNow() ? this.#mine?.session : undefined;
  }

  /** Returns why it is not a member; undefined while it is. */
  problem(): string | undefined {
    return this.#isHeldNow() ? undefined : this.#problem;
  }

  /** Reports whether another collector has the name of this one. */
  isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Returns the living members at the last answer by name, including this one; none while the lease is not held. */
  members(): readonly FleetMember[] {
    return this.#isHeldNow() ? this.#members : [];
  }

  /** Calls the listener when `session` or `members` changed. @returns a function that ends that. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  start(): Promise<void> {
    this.#say("it has not joined yet");
    this.#endWatch = this.#tables.watch(() => this.#rounds.ask());
    return this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#endWatch();
    await this.#rounds.stop();
    this.#cancelEnd();
    const leaving = this.#mine;
    this.#mine = undefined;
    this.#heldSince = undefined;
    if (this.#isHeld) {
      this.#isHeld = false;
      this.#members = [];
      this.#notify();
    }
    if (leaving === undefined) return;
    await this.#tables.leave(leaving).catch((error: unknown) => {
      this.#log.warn(
        { fleet: this.#fleet, member: this.member, error },
        "the lease in the fleet was not given up: it ends by itself",
      );
    });
  }

  #leftMs(): number {
    if (this.#heldSince === undefined) return 0;
    const passed = Math.max(
      this.#clock.monotonic() - this.#heldSince.monotonic,
      this.#clock.now() - this.#heldSince.wall,
    );
    return this.leaseMs - this.#retryMs - passed;
  }

  #isHeldNow(): boolean {
    return this.#isHeld && this.#leftMs() > 0;
  }

  #notify(): void {
    this.#watchers.forEach((listener) => listener());
  }

  #say(detail: string): void {
    this.#problem = detail;
    this.#health.set({
      name: checkName,
      ready: true,
      degraded: true,
      detail: `not a member of the fleet ${this.#fleet}: ${detail}`,
    });
  }

  #lose(reason: (typeof losses)[number], detail: string): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#members = [];
    // The work of this session has ended, so nobody has to wait for it.
    this.#mine = undefined;
    this.#heldSince = undefined;
    this.#cancelEnd();
    this.#lost.add(1, { reason });
    this.#log.warn({ fleet: this.#fleet, member: this.member, reason: detail }, "the lease in the fleet is lost");
    this.#say(detail);
    this.#notify();
  }

  #watchEnd(): void {
    this.#cancelEnd();
    const left = this.#leftMs();
    if (left <= 0) this.#lose("no_answer", "the database did not renew the lease in time");
    // A host that was suspended notices it soon after it resumes.
    else this.#cancelEnd = this.#after(() => this.#watchEnd(), Math.min(Math.ceil(left), lookMs));
  }

  #take(lease: LeaseState, sent: Held): void {
    if (lease.state !== "held") {
      this.#heldSince = undefined;
      this.#mine = undefined;
      const isTaken = lease.state === "replaced";
      if (isTaken && !this.#isReplaced)
        this.#log.error(
          { fleet: this.#fleet, member: this.member },
          "another collector has the name of this one in the fleet",
        );
      this.#isReplaced = isTaken;
      if (isTaken) this.#say(`another collector has the name ${this.member}; give each its own SVC_FLEET_MEMBER`);
      this.#lose(
        isTaken ? "replaced" : "no_answer",
        isTaken ? `another collector has the name ${this.member}` : "the lease is over",
      );
      return;
    }
    this.#heldSince = sent;
    this.#isReplaced = false;
    const wasHeld = this.#isHeld;
    const isSame = wasHeld && sameMembers(this.#members, lease.members);
    this.#members = lease.members;
    this.#isHeld = this.#leftMs() > 0;
    if (!this.#isHeld) return;
    this.#watchEnd();
    if (!wasHeld) {
      this.#health.set({
        name: checkName,
        ready: true,
        detail: `a member of the fleet ${this.#fleet} as ${this.member}`,
      });
      this.#log.info({ fleet: this.#fleet, member: this.member, members: this.#members.length }, "joined the fleet");
    }
    if (!isSame) this.#notify();
  }

  /** Renews the lease, or joins. Returns the milliseconds until the next renewal. */
  async #renew(): Promise<number> {
    const { leaseMs } = this;
    const sent = { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
    const before = this.#mine;
    const asking = before ?? { name: this.member, session: randomUUID() };
    const lease = await (before === undefined
      ? this.#tables.join(asking, leaseMs, !this.#isReplaced)
      : this.#tables.renew(asking, leaseMs));
    if (before !== this.#mine) {
      // The lease was lost in the meantime.
      this.#rounds.ask();
      return leaseMs / 3;
    }
    if (lease.state === "held") this.#mine = asking;
    this.#renewals.add(1, { result: lease.state === "held" ? "ok" : lease.state });
    this.#take(lease, sent);
    if (lease.state === "expired") this.#rounds.ask();
    return leaseMs / 3;
  }

  /** Handles a failure. Returns the milliseconds until the next try. */
  #failed(error: unknown): number {
    this.#renewals.add(1, { result: "failed" });
    if (!this.#isHeldNow()) this.#say(error instanceof Error ? error.message : String(error));
    if (!isExpected(error)) this.#log.debug({ fleet: this.#fleet, error }, "the lease in the fleet was not renewed");
    return this.#retryMs;
  }
}

function sameMembers(a: readonly FleetMember[], b: readonly FleetMember[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ session, devices }, i) => session === b[i]?.session && devices === b[i]?.devices)
  );
}
