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

/** A collector of a fleet that lives. */
export interface FleetMember {
  readonly name: string;
  /** Another one after each time that it has joined: a UUID. */
  readonly session: string;
  /** A digest of the devices that it could poll; undefined: it polls none of those that are shared. */
  readonly devices?: string | undefined;
}

/** The state of the lease of a session, by the database. */
export type LeaseState =
  | { readonly state: "held"; readonly members: readonly FleetMember[] }
  /** Its lease was over, or was given up. */
  | { readonly state: "expired" }
  /** Another session has the name. */
  | { readonly state: "replaced" };

/** A key that this collector has from now on. */
export interface Share {
  readonly key: string;
  /** State that an earlier holder has kept for the next one. */
  readonly kept: string | undefined;
  /** The reason why it was free: nobody had it, its holder gave it up, or its holder lives no more. */
  readonly from: "nobody" | "released" | "dead";
  /** The time since it was given up or taken last, in milliseconds. */
  readonly ageMs: number;
}

/** The tables of a fleet in a database. Times are those of the database. All may fail with an Error while it is away. */
export interface FleetTables {
  /**
   * Takes the name for a session.
   *
   * @param replaces whether an earlier session of that name is over then: else it stays, and the answer is `replaced`.
   */
  join(member: FleetMember, leaseMs: number, replaces: boolean): Promise<LeaseState>;
  /** Sets the end of the lease, counted from now, unless it has ended. */
  renew(member: FleetMember, leaseMs: number): Promise<LeaseState>;
  /** Gives the lease up: from then on the session is over. */
  leave(member: FleetMember): Promise<void>;
  /** Says which keys a member could take, by a digest of the list. */
  offer(member: FleetMember, digest: string, keys: readonly string[]): Promise<void>;
  /** Takes the offer back: others share the keys without this member. */
  withdraw(member: FleetMember): Promise<void>;
  /** @returns the keys of a list; undefined when there is no such list. */
  list(digest: string): Promise<readonly string[] | undefined>;
  /** Takes those of the keys that no living member has, and those that this session has already. */
  take(member: FleetMember, keys: readonly string[]): Promise<readonly Share[]>;
  /** Gives keys up, with what the next holder is to know; without a text what was kept before stays. */
  release(member: FleetMember, kept: ReadonlyMap<string, string | undefined>): Promise<void>;
  /** Keeps a text for the next holder. Does nothing when the session does not hold the key. */
  keep(member: FleetMember, key: string, text: string): Promise<void>;
  /** Calls the listener when who lives, or what the members hold, may have changed. @returns what ends that. */
  watch(listener: () => void): () => void;
}

/** When a request was sent, by both clocks. */
interface Held {
  readonly monotonic: number;
  readonly wall: number;
}

/** The interval between looks at the clocks. */
const lookMs = 500;
const results = ["ok", "failed", "expired", "replaced"] as const;
const losses = ["no_answer", "replaced"] as const;
/** Name of the readiness check. */
const checkName = "fleet";

/**
 * Keeps this collector a member of its fleet, and says whether it is a living one, and who the others are.
 *
 * - The lease is counted from when the request was sent, not from its answer: the database counts from a later time.
 * - It ends a little earlier here than there, for clocks that run at different speeds, and by whichever clock of this host says so first: the
 *   monotonic one stands still while a virtual machine does, the other one may be set back.
 * - A collector whose name another one has taken stays out until that one is gone: two with one name would take it from each other.
 */
export class Membership implements Component {
  readonly name: string;
  readonly member: string;
  readonly leaseMs: number;
  readonly #tables: FleetTables;
  readonly #fleet: string;
  /** Limited in rate. */
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #after: typeof runAfter;
  readonly #rounds: Rounds;
  /** The wait after a failure. The lease ends earlier here than in the database by as much. */
  readonly #retryMs: number;
  readonly #watchers = new Set<() => void>();
  /** The session in the database; undefined: this collector is to join. */
  #mine: FleetMember | undefined;
  #members: readonly FleetMember[] = [];
  /** When the request was sent that the lease counts from. */
  #heldSince: Held | undefined;
  #isHeld = false;
  #isReplaced = false;
  #cancelEnd = (): void => {};
  readonly #renewals: Counter;
  readonly #lost: Counter;
  #problem = "it has not joined yet";
  #endWatch = (): void => {};

  /**
   * @param reporting its log is limited in rate.
   * @param after runs an action once after a time, without keeping the process alive. Returns what calls it off.
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

  /** The session while its lease is held by this collector's own clocks; undefined: it must not do what members share. */
  session(): string | undefined {
    return this.#isHeldNow() ? this.#mine?.session : undefined;
  }

  /** Why it is not a member; undefined while it is. */
  problem(): string | undefined {
    return this.#isHeldNow() ? undefined : this.#problem;
  }

  /** Returns whether another collector has the name of this one. */
  isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Returns the members that lived at the last answer, this one included, by name; none while the lease is not held. */
  members(): readonly FleetMember[] {
    return this.#isHeldNow() ? this.#members : [];
  }

  /** Calls the listener when `session` or `members` have changed. @returns what ends that. */
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
    // The work under this session has ended: nobody is to wait for it.
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
    // A host that stood still is found out soon after it goes on.
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
      // The lease was lost meanwhile.
      this.#rounds.ask();
      return leaseMs / 3;
    }
    if (lease.state === "held") this.#mine = asking;
    this.#renewals.add(1, { result: lease.state === "held" ? "ok" : lease.state });
    this.#take(lease, sent);
    if (lease.state === "expired") this.#rounds.ask();
    return leaseMs / 3;
  }

  /** Returns the milliseconds until it is tried again. */
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
