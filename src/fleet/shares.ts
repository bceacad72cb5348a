import { hash } from "node:crypto";
import type { FleetMember, FleetTables, Membership, Share } from "./membership.ts";
import { runAfter } from "../base/file/index.ts";
import { type Metrics, isExpected, type Component, type Log, type Reporting, Rounds } from "../base/report/index.ts";

/** A hash of a name as two 32-bit numbers. */
export type NamePoint = readonly [number, number];

export function pointOf(name: string): NamePoint {
  const digest = Buffer.from(hash("sha256", name, "hex").slice(0, 16), "hex");
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

/**
 * Finds the member that owns a key: the one with the highest hash of key and member together. Each member owns about the same number of keys. When a
 * member comes or goes, only its own keys change hands.
 *
 * @returns the index of the member; -1 when there are none.
 */
export function ownerOf(key: NamePoint, members: readonly NamePoint[]): number {
  let owner = -1;
  let most = -1;
  let second = -1;
  for (const [i, member] of members.entries()) {
    const weight = mix(key[0] ^ mix(member[0]));
    if (weight < most) continue;
    const tie = mix(key[1] ^ mix(member[1]));
    if (weight === most && tie <= second) continue;
    [owner, most, second] = [i, weight, tie];
  }
  return owner;
}

/** Applies the final steps of MurmurHash3: each bit of the number changes half of the bits of the result. */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** A member that shares keys, with the keys that it knows. */
interface Sharer {
  readonly name: string;
  readonly point: NamePoint;
  readonly keys: Pick<ReadonlySet<string>, "has">;
}

/** Returns the owner of a key among those that know it; undefined when nobody does. @param point the hash of the key. */
function sharerOf(key: string, point: NamePoint, sharers: readonly Sharer[]): Sharer | undefined {
  const knowing = sharers.every(({ keys }) => keys.has(key)) ? sharers : sharers.filter(({ keys }) => keys.has(key));
  return ownerAmong(point, knowing);
}

/** Returns the keys of one sharer; none when it is not in the list. */
function keysOf(name: string, keys: ReadonlyMap<string, NamePoint>, sharers: readonly Sharer[]): readonly string[] {
  const isMine = ([key, point]: readonly [string, NamePoint]): boolean => sharerOf(key, point, sharers)?.name === name;
  return [...keys].filter(isMine).map(([key]) => key);
}

/** Returns the sharer that does the work meant for one member only. */
function leaderOf(sharers: readonly Sharer[]): Sharer | undefined {
  return ownerAmong(pointOf("lead"), sharers);
}

function ownerAmong(point: NamePoint, sharers: readonly Sharer[]): Sharer | undefined {
  return sharers[
    ownerOf(
      point,
      sharers.map((sharer) => sharer.point),
    )
  ];
}

const origins = ["nobody", "released", "dead"] as const;

/** Creates the metrics of shared keys. @param counts returns the number of keys by place, at each scrape. */
function createShareMetrics(metrics: Metrics, counts: () => Readonly<Record<string, number>>) {
  metrics.gaugeFrom("netgloss_fleet_devices", "Devices of the definitions, by where they are polled.", ["state"], () =>
    Object.entries(counts()).map(([state, count]) => [{ state }, count] as const),
  );
  return {
    taken: metrics.counter(
      "netgloss_fleet_devices_taken_total",
      "Devices that this collector has taken, by what they were before: nobody's, given up, or of a collector that lives no more.",
      { from: origins },
    ),
    released: metrics.counter(
      "netgloss_fleet_devices_released_total",
      "Devices that this collector has given up for another one, or at its end.",
    ),
    stopped: metrics.counter(
      "netgloss_fleet_devices_stopped_total",
      "Devices that this collector no longer polls because its lease was lost.",
    ),
    failures: metrics.counter(
      "netgloss_fleet_share_failures_total",
      "Attempts to divide devices that the database did not carry out.",
    ),
  };
}

/** Does the work for keys. */
export interface ShareTaker {
  take(shares: readonly Share[]): Promise<void>;
  /** Ends the work at once. @returns texts for the next holders, by key. */
  release(keys: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
}

/** Maximum number of keys in one request: the renewal of the lease waits for its end. */
const keysAtOnce = 200;

/**
 * Keys divided among the members of a fleet; each key has one holder.
 *
 * Rendezvous hashing over the members that know a key names its preferred owner. The owner takes the key in the database, which allows only one holder.
 * So members with different views of the fleet never both take it.
 */
export class Shares implements Component {
  readonly name = "devices of the fleet";
  readonly #membership: Membership;
  readonly #tables: FleetTables;
  readonly #taker: ShareTaker;
  readonly #keepsWithoutLease: boolean;
  readonly #retryMs: number;
  readonly #rounds: Rounds;
  /** A log with a rate limit. */
  readonly #log: Log;
  /** The session that holds each key. */
  readonly #held = new Map<string, string>();
  /** Keys that may be held in the database but must not be, each with the session that holds it there. */
  #unreleased = new Map<string, string | undefined>();
  #unreleasedBy: string | undefined;
  #offered: { readonly digest: string; readonly points: ReadonlyMap<string, NamePoint> } | undefined;
  #announced: string | undefined;
  readonly #lists = new Map<string, ReadonlySet<string>>();
  #waiting = 0;
  #ends: readonly (() => void)[] = [];
  readonly #count: ReturnType<typeof createShareMetrics>;

  /**
   * @param keepsWithoutLease true keeps keys while the database is away: two collectors may then have one.
   * @param reporting its log has a rate limit.
   * @param after runs an action once after a time, without keeping the process alive. It returns a function that cancels it.
   */
  constructor(
    membership: Membership,
    tables: FleetTables,
    taker: ShareTaker,
    keepsWithoutLease: boolean,
    { log, metrics }: Pick<Reporting, "log" | "metrics">,
    after = runAfter,
  ) {
    this.#membership = membership;
    this.#tables = tables;
    this.#taker = taker;
    this.#keepsWithoutLease = keepsWithoutLease;
    this.#log = log;
    this.#retryMs = Math.max(200, membership.leaseMs / 15);
    this.#rounds = new Rounds(
      () => this.#divide(),
      (error) => this.#failed(error),
      after,
    );
    this.#count = createShareMetrics(metrics, () => this.counts());
  }

  counts(): { readonly held: number; readonly waiting: number; readonly elsewhere: number } {
    const all = this.#offered?.points.size ?? 0;
    return {
      held: this.#held.size,
      waiting: this.#waiting,
      elsewhere: Math.max(0, all - this.#held.size - this.#waiting),
    };
  }

  start(): Promise<void> {
    this.#ends = [this.#membership.watch(() => this.#onMembership()), this.#tables.watch(() => this.#rounds.ask())];
    return this.#rounds.start();
  }

  /** Sets the keys that this collector can take. It takes none before the first call. */
  offer(keys: readonly string[]): void {
    const sorted = [...keys].sort();
    this.#offered = {
      digest: hash("sha256", JSON.stringify(sorted), "hex"),
      points: new Map(sorted.map((key) => [key, pointOf(key)])),
    };
    this.#rounds.ask();
  }

  /** Stores a text for the next holder of a key that this collector holds. */
  async keep(key: string, text: string): Promise<void> {
    const session = this.#held.get(key);
    if (session === undefined) return;
    try {
      await this.#tables.keep(this.#me(session), key, text);
    } catch (error) {
      this.#count.failures.add(1);
      this.#log.debug({ key, error }, "the state of a device for its next collector was not saved");
    }
  }

  holds(key: string): boolean {
    return this.#held.has(key);
  }

  /** Returns the member that owns a key, as far as this collector knows; undefined while it is no member. */
  memberOf(key: string): string | undefined {
    return this.#held.has(key) ? this.#membership.member : sharerOf(key, pointOf(key), this.#sharers())?.name;
  }

  /** Reports whether this collector does the work meant for one member only. */
  leads(): boolean {
    return leaderOf(this.#sharers())?.name === this.#membership.member;
  }

  /** Gives up all keys, and takes no more. */
  async stop(): Promise<void> {
    for (const end of this.#ends) end();
    await this.#rounds.stop();
    const session = this.#membership.session();
    if (session === undefined) {
      const keys = [...this.#held.keys()];
      this.#held.clear();
      await this.#taker.release(keys);
      return;
    }
    try {
      await this.#release(session, [...this.#held.keys()]);
      await this.#tables.withdraw(this.#me(session));
    } catch (error) {
      this.#log.warn({ error }, "SNMP devices were not given up: others take them when the lease ends");
    }
  }

  #me(session: string): FleetMember {
    return { name: this.#membership.member, session };
  }

  /** Returns the members that share, with the keys that they know. */
  #sharers(): readonly Sharer[] {
    return this.#membership.members().flatMap(({ name, session, devices }) => {
      const isMe = session === this.#membership.session();
      const keys = isMe ? this.#offered?.points : devices === undefined ? undefined : this.#lists.get(devices);
      return keys === undefined ? [] : [{ name, point: pointOf(name), keys }];
    });
  }

  /** Ends the work at once without asking the database: the session has ended there, or soon will. */
  async #dropAll(): Promise<void> {
    const keys = [...this.#held.keys()];
    this.#held.clear();
    if (keys.length === 0) return;
    this.#count.stopped.add(keys.length);
    this.#log.warn(
      { devices: keys.length },
      "SNMP devices are not polled here any more: the lease in the fleet is lost",
    );
    await this.#taker.release(keys);
  }

  async #repeatReleases(session: string): Promise<void> {
    if (this.#unreleased.size === 0) return;
    if (this.#unreleasedBy !== session) {
      // The keys are free, because their session is over.
      this.#unreleased = new Map();
      return;
    }
    const entries = [...this.#unreleased];
    for (let i = 0; i < entries.length; i += keysAtOnce) {
      const some = new Map(entries.slice(i, i + keysAtOnce));
      await this.#tables.release(this.#me(session), some);
      for (const key of some.keys()) this.#unreleased.delete(key);
    }
  }

  async #release(session: string, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const isOurs = keys.filter((key) => this.#held.get(key) === session);
    for (const key of keys) this.#held.delete(key);
    const kept = await this.#taker.release(keys);
    for (const key of isOurs) this.#unreleased.set(key, kept.get(key));
    this.#unreleasedBy = session;
    this.#count.released.add(keys.length);
    await this.#repeatReleases(session);
    this.#log.info({ devices: keys.length }, "SNMP devices are given to other collectors of the fleet");
  }

  async #take(session: string, keys: readonly string[]): Promise<void> {
    let number = 0;
    for (let i = 0; i < keys.length; i += keysAtOnce) {
      const some = keys.slice(i, i + keysAtOnce);
      // Until the answer arrives, the database may already list them as held by this collector.
      for (const key of some) if (!this.#held.has(key)) this.#unreleased.set(key, undefined);
      this.#unreleasedBy = session;
      const shares = await this.#tables.take(this.#me(session), some);
      for (const key of some) this.#unreleased.delete(key);
      // An answer after the end of the lease is worthless.
      if (this.#membership.session() !== session || !this.#rounds.isRunning) return;
      const fresh = shares.filter(({ key }) => !this.#held.has(key));
      for (const { key } of shares) this.#held.set(key, session);
      for (const { from } of fresh) this.#count.taken.add(1, { from });
      number += fresh.length;
      // Another collector took these while the lease was lost.
      const lost = some.filter((key) => this.#held.has(key) && this.#held.get(key) !== session);
      for (const key of lost) this.#held.delete(key);
      if (lost.length > 0) await this.#taker.release(lost);
      if (fresh.length > 0) await this.#taker.take(fresh);
    }
    if (number > 0) this.#log.info({ devices: number, held: this.#held.size }, "SNMP devices are polled here");
  }

  /**
   * Takes the keys that this collector owns and gives up the others.
   *
   * @returns milliseconds until the next run; undefined: after the next change.
   */
  async #divide(): Promise<number | undefined> {
    await this.#divideUnder(this.#membership.session());
    return this.#waiting > 0 || this.#unreleased.size > 0 ? this.#retryMs : undefined;
  }

  async #divideUnder(session: string | undefined): Promise<void> {
    if (session === undefined || this.#offered === undefined || !this.#rounds.isRunning) return;
    await this.#repeatReleases(session);
    const { digest, points } = this.#offered;
    if (this.#announced !== `${session} ${digest}`) {
      await this.#tables.offer(this.#me(session), digest, [...points.keys()]);
      this.#announced = `${session} ${digest}`;
    }
    const named = new Set(this.#membership.members().flatMap(({ devices }) => devices ?? []));
    for (const known of this.#lists.keys()) if (!named.has(known)) this.#lists.delete(known);
    for (const name of named) {
      if (this.#lists.has(name)) continue;
      const keys = name === digest ? [...points.keys()] : await this.#tables.list(name);
      if (keys !== undefined) this.#lists.set(name, new Set(keys));
    }
    if (this.#membership.session() !== session) return;
    const wanted = keysOf(this.#membership.member, points, this.#sharers());
    const isWanted = new Set(wanted);
    await this.#release(
      session,
      [...this.#held.keys()].filter((key) => !isWanted.has(key)),
    );
    await this.#take(
      session,
      wanted.filter((key) => this.#held.get(key) !== session),
    );
    this.#waiting = wanted.filter((key) => !this.#held.has(key)).length;
  }

  #failed(error: unknown): number {
    this.#count.failures.add(1);
    if (isExpected(error)) this.#log.debug({ error }, "the devices of the fleet were not divided");
    else this.#log.error({ error }, "the devices of the fleet were not divided, by a fault of the collector");
    return this.#retryMs;
  }

  #onMembership(): void {
    const mayKeep = this.#keepsWithoutLease && !this.#membership.isReplaced();
    if (this.#membership.session() === undefined && !mayKeep) {
      this.#waiting = 0;
      this.#dropAll().catch((error: unknown) => this.#log.error({ error }, "SNMP devices could not be released"));
      return;
    }
    this.#rounds.ask();
  }
}
