import { isExpected, type Clock, type Component, type Health, type Log, type Metrics } from "../base/report/index.ts";

/** A collector of a fleet that lives. */
export interface FleetMember {
  readonly name: string;
  /** Another one after each time that it has joined: a UUID. */
  readonly session: string;
  /** A digest of the devices that it could poll; undefined: it polls none of those that are shared. */
  readonly devices?: string | undefined;
}

/** What the database says of a session. */
export type Standing =
  | { readonly state: "held"; readonly members: readonly FleetMember[] }
  /** Its lease was over, or was given up. */
  | { readonly state: "expired" }
  /** Another session has the name. */
  | { readonly state: "replaced" };

/** What membership asks of a database. Times are those of the database. All may fail with an Error while it is away. */
export interface MembershipTables {
  /**
   * Takes the name for a session.
   *
   * @param replaces whether an earlier session of that name is over then: else it stays, and the answer is `replaced`.
   */
  join(member: FleetMember, leaseMs: number, replaces: boolean): Promise<Standing>;
  /** Sets the end of the lease, counted from now, unless it has ended. */
  renew(member: FleetMember, leaseMs: number): Promise<Standing>;
  /** Gives the lease up: from then on the session is over. */
  leave(member: FleetMember): Promise<void>;
  /** Calls the listener when who lives may have changed. @returns what ends that. */
  watch(listener: () => void): () => void;
}

/** Whether this collector is a living member of its fleet, and who the others are. */
export interface Membership extends Component {
  /** The name of this collector. */
  readonly member: string;
  /** The session while its lease is held by this collector's own clocks; undefined: it must not do what members share. */
  session(): string | undefined;
  /** Why it is not a member; undefined while it is. */
  problem(): string | undefined;
  /** Whether another collector has the name of this one. */
  isReplaced(): boolean;
  /** Those that lived at the last answer, this one included, by name; none while the lease is not held. */
  members(): readonly FleetMember[];
  /** Calls the listener when `session` or `members` have changed. @returns what ends that. */
  watch(listener: () => void): () => void;
}

export interface MembershipOptions {
  readonly tables: MembershipTables;
  readonly fleet: string;
  readonly member: string;
  readonly leaseMs: number;
  readonly newSession: () => string;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly clock: Clock;
  /** Limited in rate. */
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** How often the clocks are looked at. */
const lookMs = 500;
const results = ["ok", "failed", "expired", "replaced"] as const;
const losses = ["no_answer", "replaced"] as const;
/** Name of the readiness check. */
const checkName = "fleet";

/**
 * Keeps this collector a member of its fleet.
 *
 * - The lease is counted from when the request was sent, not from its answer: the database counts from a later time.
 * - It ends a little earlier here than there, for clocks that run at different speeds, and by whichever clock of this host says so first: the
 *   monotonic one stands still while a virtual machine does, the other one may be set back.
 * - A collector whose name another one has taken stays out until that one is gone: two with one name would take it from each other.
 */
export function createMembership(options: MembershipOptions): Membership {
  const { tables, fleet, member, leaseMs, newSession, after, clock, log, metrics, health } = options;
  const renewMs = leaseMs / 3;
  const retryMs = Math.max(100, leaseMs / 20);
  const ownMs = leaseMs - Math.max(100, leaseMs / 20);
  const watchers = new Set<() => void>();
  let isRunning = false;
  /** The session in the database; undefined: this collector is to join. */
  let mine: FleetMember | undefined;
  let members: readonly FleetMember[] = [];
  /** When the request was sent that the lease counts from. */
  let heldSince: { readonly monotonic: number; readonly wall: number } | undefined;
  let isHeld = false;
  let isReplaced = false;
  let busy: Promise<void> | undefined;
  let isAskedAgain = false;
  /** Until it is tried again nothing else asks: a request whose answer is lost may itself notify the others. */
  let hasFailed = false;
  let cancelNext = (): void => {};
  let cancelEnd = (): void => {};

  const renewals = metrics.counter("netgloss_fleet_renewals_total", "Renewals of the lease in the fleet, by result.", {
    result: results,
  });
  const lost = metrics.counter("netgloss_fleet_leases_lost_total", "Leases in the fleet that were lost, by reason.", {
    reason: losses,
  });
  metrics.gaugeFrom("netgloss_fleet_members", "Living members of the fleet that this collector knows of.", [], () =>
    isHeldNow() ? members.length : 0,
  );
  metrics.gaugeFrom("netgloss_fleet_lease_held", "Whether this collector is a living member of its fleet.", [], () =>
    isHeldNow() ? 1 : 0,
  );

  const leftMs = (): number => {
    if (heldSince === undefined) return 0;
    const passed = Math.max(clock.monotonic() - heldSince.monotonic, clock.now() - heldSince.wall);
    return ownMs - passed;
  };
  const isHeldNow = (): boolean => isHeld && leftMs() > 0;
  const notify = (): void => watchers.forEach((listener) => listener());
  let problem = "it has not joined yet";
  const say = (detail: string): void => {
    problem = detail;
    health.set({
      name: checkName,
      ready: true,
      degraded: true,
      detail: `not a member of the fleet ${fleet}: ${detail}`,
    });
  };

  const lose = (reason: (typeof losses)[number], detail: string): void => {
    if (!isHeld) return;
    isHeld = false;
    members = [];
    // What was done under this session has ended: nobody is to wait for it.
    mine = undefined;
    heldSince = undefined;
    cancelEnd();
    lost.add(1, { reason });
    log.warn({ fleet, member, reason: detail }, "the lease in the fleet is lost");
    say(detail);
    notify();
  };
  const watchEnd = (): void => {
    cancelEnd();
    const left = leftMs();
    if (left <= 0) lose("no_answer", "the database did not renew the lease in time");
    // A host that stood still is found out soon after it goes on.
    else cancelEnd = after(watchEnd, Math.min(Math.ceil(left), lookMs));
  };

  const take = (standing: Standing, sent: NonNullable<typeof heldSince>): void => {
    if (standing.state !== "held") {
      heldSince = undefined;
      mine = undefined;
      const isTaken = standing.state === "replaced";
      if (isTaken && !isReplaced)
        log.error({ fleet, member }, "another collector has the name of this one in the fleet");
      isReplaced = isTaken;
      if (isTaken) say(`another collector has the name ${member}; give each its own SVC_FLEET_MEMBER`);
      lose(
        isTaken ? "replaced" : "no_answer",
        isTaken ? `another collector has the name ${member}` : "the lease is over",
      );
      return;
    }
    heldSince = sent;
    isReplaced = false;
    const wasHeld = isHeld;
    const isSame = wasHeld && sameMembers(members, standing.members);
    members = standing.members;
    isHeld = leftMs() > 0;
    if (!isHeld) return;
    watchEnd();
    if (!wasHeld) {
      health.set({ name: checkName, ready: true, detail: `a member of the fleet ${fleet} as ${member}` });
      log.info({ fleet, member, members: members.length }, "joined the fleet");
    }
    if (!isSame) notify();
  };

  const ask = async (): Promise<void> => {
    const sent = { monotonic: clock.monotonic(), wall: clock.now() };
    try {
      const before = mine;
      const asking = before ?? { name: member, session: newSession() };
      const standing: Standing = await (before === undefined
        ? tables.join(asking, leaseMs, !isReplaced)
        : tables.renew(asking, leaseMs));
      if (before !== mine) {
        // The lease was lost meanwhile.
        isAskedAgain = true;
        return;
      }
      if (standing.state === "held") mine = asking;
      renewals.add(1, { result: standing.state === "held" ? "ok" : standing.state });
      take(standing, sent);
      if (standing.state === "expired") isAskedAgain = true;
    } catch (error) {
      renewals.add(1, { result: "failed" });
      if (!isHeldNow()) say(error instanceof Error ? error.message : String(error));
      if (!isExpected(error)) log.debug({ fleet, error }, "the lease in the fleet was not renewed");
      hasFailed = true;
      isAskedAgain = false;
      next(retryMs);
      return;
    }
    next(renewMs);
  };
  const next = (ms: number): void => {
    cancelNext();
    if (isRunning) cancelNext = after(() => void renew(), ms);
  };
  /** One request at a time; what is asked meanwhile is one more. */
  const renew = (): Promise<void> => {
    if (busy !== undefined) {
      isAskedAgain = true;
      return busy;
    }
    isAskedAgain = false;
    hasFailed = false;
    busy = ask().finally(() => {
      busy = undefined;
      if (isAskedAgain && isRunning) void renew();
    });
    return busy;
  };

  let endWatch = (): void => {};
  return {
    name: `fleet ${fleet}`,
    member,
    session: () => (isHeldNow() ? mine?.session : undefined),
    problem: () => (isHeldNow() ? undefined : problem),
    isReplaced: () => isReplaced,
    members: () => (isHeldNow() ? members : []),
    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    async start() {
      isRunning = true;
      say("it has not joined yet");
      endWatch = tables.watch(() => void (isRunning && !hasFailed && renew()));
      await renew();
    },
    async stop() {
      isRunning = false;
      endWatch();
      cancelNext();
      await busy;
      cancelNext();
      cancelEnd();
      const leaving = mine;
      mine = undefined;
      heldSince = undefined;
      if (isHeld) {
        isHeld = false;
        members = [];
        notify();
      }
      if (leaving === undefined) return;
      await tables.leave(leaving).catch((error: unknown) => {
        log.warn({ fleet, member, error }, "the lease in the fleet was not given up: it ends by itself");
      });
    },
  };
}

function sameMembers(a: readonly FleetMember[], b: readonly FleetMember[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ session, devices }, i) => session === b[i]?.session && devices === b[i]?.devices)
  );
}
