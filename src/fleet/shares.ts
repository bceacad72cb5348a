import { hash } from "node:crypto";
import type { FleetMember, FleetTables, Membership, Share } from "./membership.ts";
import { runAfter } from "../base/file/index.ts";
import { type Metrics, isExpected, type Component, type Log, type Reporting, Rounds } from "../base/report/index.ts";

/** Two numbers of 32 bits that stand for a name. */
export type NamePoint = readonly [number, number];

export function pointOf(name: string): NamePoint {
  const digest = Buffer.from(hash("sha256", name, "hex").slice(0, 16), "hex");
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

/**
 * Finds which of some members a key belongs to: the one for which key and member together give the highest number. So each member has about the
 * same number of keys, and when one comes or goes only its own keys change hands.
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

/** The last step of MurmurHash3: each bit of the number changes half of those of the result. */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** A member of a fleet that shares, with the keys that it knows. */
interface Sharer {
  readonly name: string;
  readonly point: NamePoint;
  readonly keys: Pick<ReadonlySet<string>, "has">;
}

/** Whose key it is among those that know it; undefined when nobody does. @param point of the key. */
function sharerOf(key: string, point: NamePoint, sharers: readonly Sharer[]): Sharer | undefined {
  const knowing = sharers.every(({ keys }) => keys.has(key)) ? sharers : sharers.filter(({ keys }) => keys.has(key));
  return ownerAmong(point, knowing);
}

/** The keys of one of the sharers; none when it is not among them. */
function keysOf(name: string, keys: ReadonlyMap<string, NamePoint>, sharers: readonly Sharer[]): readonly string[] {
  const isMine = ([key, point]: readonly [string, NamePoint]): boolean => sharerOf(key, point, sharers)?.name === name;
  return [...keys].filter(isMine).map(([key]) => key);
}

/** The one of all sharers that does what one of them is to do. */
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

/** The metrics of keys that members of a fleet divide. @param counts keys by where they are, asked at each scrape. */
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
  /** Ends the work at once. @returns what the next holder is to know, by key. */
  release(keys: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
}

/** Keys of one request: the renewal of the lease waits for its end. */
const keysAtOnce = 200;

/**
 * The keys that members of a fleet divide among themselves: each has one holder.
 *
 * Divides keys by rendezvous hashing over the members that know them. The hash names a preferred owner: a key is taken in the database, where it has
 * one holder, so members that see the fleet differently do not both take it.
 */
export class Shares implements Component {
  readonly name = "devices of the fleet";
  readonly #membership: Membership;
  readonly #tables: FleetTables;
  readonly #taker: ShareTaker;
  readonly #keepsWithoutLease: boolean;
  readonly #retryMs: number;
  readonly #rounds: Rounds;
  /** Limited in rate. */
  readonly #log: Log;
  /** The session by which each key is held. */
  readonly #held = new Map<string, string>();
  /** Keys that may be this collector's in the database and are not to be, with the session that has them there. */
  #unreleased = new Map<string, string | undefined>();
  #unreleasedBy: string | undefined;
  #offered: { readonly digest: string; readonly points: ReadonlyMap<string, NamePoint> } | undefined;
  #announced: string | undefined;
  readonly #lists = new Map<string, ReadonlySet<string>>();
  #waiting = 0;
  #ends: readonly (() => void)[] = [];
  readonly #count: ReturnType<typeof createShareMetrics>;

  /**
   * @param keepsWithoutLease whether keys are kept while the database is away: then two collectors may have one.
   * @param reporting its log is limited in rate.
   * @param after runs an action once after a time, without keeping the process alive. Returns what calls it off.
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

  /** Says which keys this collector could take; until the first time it takes none. */
  offer(keys: readonly string[]): void {
    const sorted = [...keys].sort();
    this.#offered = {
      digest: hash("sha256", JSON.stringify(sorted), "hex"),
      points: new Map(sorted.map((key) => [key, pointOf(key)])),
    };
    this.#rounds.ask();
  }

  /** Keeps a text for the next holder of a key that this collector has. */
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

  /** The member whose key it is, as far as this collector knows; undefined while it is no member. */
  memberOf(key: string): string | undefined {
    return this.#held.has(key) ? this.#membership.member : sharerOf(key, pointOf(key), this.#sharers())?.name;
  }

  /** Returns whether this collector does what one of the members is to do. */
  leads(): boolean {
    return leaderOf(this.#sharers())?.name === this.#membership.member;
  }

  /** Gives up all keys, and takes none. */
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

  /** Members that share, with the keys that they know. */
  #sharers(): readonly Sharer[] {
    return this.#membership.members().flatMap(({ name, session, devices }) => {
      const isMe = session === this.#membership.session();
      const keys = isMe ? this.#offered?.points : devices === undefined ? undefined : this.#lists.get(devices);
      return keys === undefined ? [] : [{ name, point: pointOf(name), keys }];
    });
  }

  /** Ends the work at once; the database is not asked, because the session has ended there, or soon will. */
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
      // They are free: their session is over.
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
      // Until the answer is there, they may be this collector's in the database.
      for (const key of some) if (!this.#held.has(key)) this.#unreleased.set(key, undefined);
      this.#unreleasedBy = session;
      const shares = await this.#tables.take(this.#me(session), some);
      for (const key of some) this.#unreleased.delete(key);
      // An answer that comes after the end of the lease says nothing.
      if (this.#membership.session() !== session || !this.#rounds.isRunning) return;
      const fresh = shares.filter(({ key }) => !this.#held.has(key));
      for (const { key } of shares) this.#held.set(key, session);
      for (const { from } of fresh) this.#count.taken.add(1, { from });
      number += fresh.length;
      // Another one has taken them while the lease was lost.
      const lost = some.filter((key) => this.#held.has(key) && this.#held.get(key) !== session);
      for (const key of lost) this.#held.delete(key);
      if (lost.length > 0) await this.#taker.release(lost);
      if (fresh.length > 0) await this.#taker.take(fresh);
    }
    if (number > 0) this.#log.info({ devices: number, held: this.#held.size }, "SNMP devices are polled here");
  }

  /**
   * Takes what is this collector's and gives up what is not.
   *
   * @returns after how many milliseconds to do so again; undefined: when something has changed.
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
