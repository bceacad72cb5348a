import { compareOids, oidStartsWith, type Oid } from "../session/ber.ts";
import type { Attribute, Definitions, Device } from "../definitions/definitions.ts";
import { contextsOf, reachedObjects } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { Clock } from "../../base/report/index.ts";
import { errorStatus } from "../session/snmp-error.ts";
import type { Session, SnmpResponse } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { isException, type VarBind } from "../session/ber.ts";
import type { DeviceCounts } from "./device-counts.ts";
import { placeOf } from "./poll-times.ts";

/**
 * Watches OIDs that have no instance. What an agent has after one of them lies behind a gap, and none of the others in
 * that gap has an instance either: a round asks once for each gap, however many OIDs there are.
 *
 * @param oids in their order, none twice.
 */
export class GapSearch {
  readonly #oids: readonly Oid[];
  /** Positions that are asked about, in order: each stands for those up to the next one. */
  #heads: number[] = [];
  /** Positions of the heads that this round has not asked about. */
  #open: number[] = [];
  #most = 1;

  constructor(oids: readonly Oid[]) {
    this.#oids = oids;
  }

  /** Positions to ask about in one GetNext, not more than `max`. They begin a new round when the one before has ended. */
  next(max: number): readonly number[] {
    this.#most = max;
    if (this.#heads.length === 0) this.#heads = spaced(0, this.#oids.length, max);
    if (this.#open.length === 0) this.#open = this.#heads;
    return this.#open.slice(0, max);
  }

  /**
   * Takes what the agent has after a position; `end`: nothing; undefined: it does not say.
   *
   * @returns the position that has an instance now; undefined when that is not seen.
   */
  heard(position: number, answer: Oid | "end" | undefined): number | undefined {
    // An OID that does not come after it is not to be believed.
    const isOrdered = typeof answer !== "object" || compareOids(answer, this.#oids[position] as Oid) > 0;
    const after = isOrdered ? answer : undefined;
    const reached = this.#reach(position, after);
    this.#open = this.#open.filter((head) => head !== position);
    const head = this.#heads.indexOf(position);
    if (head >= 0 && reached < this.#endOf(head)) {
      // The gap has become shorter: what was behind that is not known any more.
      const more = spaced(reached, this.#endOf(head), this.#most);
      this.#heads = this.#heads.toSpliced(head + 1, 0, ...more);
      this.#open = [...more, ...this.#open];
    } else if (head >= 0) {
      let covered = head;
      while (covered + 1 < this.#heads.length && this.#endOf(covered + 1) <= reached) covered++;
      this.#heads = this.#heads.toSpliced(head + 1, covered - head);
      this.#open = this.#open.filter((one) => one <= position || one >= this.#endOf(head));
    }
    const last = reached - 1;
    return typeof after === "object" && oidStartsWith(after, this.#oids[last] as Oid) ? last : undefined;
  }

  #endOf(head: number): number {
    return this.#heads[head + 1] ?? this.#oids.length;
  }

  /** @returns the first position behind `position` that what comes after it says nothing about. */
  #reach(position: number, after: Oid | "end" | undefined): number {
    if (after === "end") return this.#oids.length;
    if (after === undefined) return position + 1;
    const next = this.#oids.findIndex((oid, i) => i > position && compareOids(oid, after) >= 0);
    return next < 0 ? this.#oids.length : next;
  }
}

/** At most `max` positions, as far apart as they can be. */
function spaced(from: number, end: number, max: number): number[] {
  const step = Math.ceil((end - from) / Math.max(1, max));
  const positions: number[] = [];
  for (let position = from; position < end; position += step) positions.push(position);
  return positions;
}

/**
 * Finds what a device would be polled for if it had it: attributes that its groups lead to and its plan has not, in the order of
 * OIDs. Of an object that is not there and has a discovery attribute, this one. Objects in contexts of their own are left
 * out: each context would cost a request.
 */
function missingAttributes(plan: DevicePlan, definitions: Definitions, device: Device): readonly Attribute[] {
  const missing = new Map<string, Attribute>();
  for (const object of reachedObjects(definitions, plan.deviceGroups).values()) {
    if (contextsOf(device, object).length > 0) continue;
    const known = plan.objects.get(object.id)?.attributes;
    const gate = known === undefined ? object.discoveryAttribute : undefined;
    for (const attribute of gate === undefined ? object.attributes.values() : [gate])
      if (known?.has(attribute.name) !== true) missing.set(attribute.oidText, attribute);
  }
  return [...missing.values()].sort((a, b) => compareOids(a.oid, b.oid));
}

/** A discovery takes dozens of requests, a look takes one. */
const lookEveryMs = 600_000;

/**
 * Finds what a device has gained since its discovery, such as BGP that was switched on.
 *
 * @param onFound is given the name of an attribute that the device has now.
 */
export class Appearances {
  readonly #clock: Pick<Clock, "now">;
  readonly #counts: Pick<DeviceCounts, "looks" | "appeared">;
  readonly #onFound: (attribute: string) => void;
  #missing: readonly Attribute[] = [];
  #search = new GapSearch([]);
  /** The number of OIDs asked at once: less, for a while, of an agent that long requests are too much for. */
  #size = Infinity;
  #lastTurn: number | undefined;
  /** The attribute that calls for a discovery that has not been. */
  #announced: Attribute | undefined;
  /** OIDs that a look found and the discovery after it did not: they are no reason for another one. */
  readonly #inVain = new Set<string>();

  constructor(
    clock: Pick<Clock, "now">,
    counts: Pick<DeviceCounts, "looks" | "appeared">,
    onFound: (attribute: string) => void,
  ) {
    this.#clock = clock;
    this.#counts = counts;
    this.#onFound = onFound;
  }

  /** Starts over with what this plan lacks. @param definitions those in force, which may be newer than the plan. */
  discovered(plan: DevicePlan, definitions: Definitions, device: Device): void {
    const planned = new Set(
      Array.from(plan.objects.values(), ({ attributes }) => Array.from(attributes.values())).flat(),
    );
    // Attributes that the discovery did not look for wait for the next one.
    const lacks =
      plan.revision === definitions.revision
        ? missingAttributes(plan, definitions, device)
        : this.#missing.filter(({ oidText }) => !planned.has(oidText));
    if (this.#announced !== undefined && lacks.some(({ oidText }) => oidText === this.#announced?.oidText))
      this.#inVain.add(this.#announced.oidText);
    this.#announced = undefined;
    this.#missing = lacks.filter(({ oidText }) => !this.#inVain.has(oidText));
    this.#search = new GapSearch(this.#missing.map(({ oid }) => oid));
    this.#lastTurn = this.#turnOf(device);
  }

  /** The device has restarted: it may have what its discovery did not find. */
  restarted(): void {
    this.#inVain.clear();
  }

  /** Tells whether the next look is due: every 10 minutes, at a time that differs by device; never without `rediscover_interval`. */
  isDue(device: Device): boolean {
    return this.#missing.length > 0 && device.rediscoverIntervalMs > 0 && this.#turnOf(device) !== this.#lastTurn;
  }

  /** Sends one request. Never fails for a bad answer or for none. */
  async look(device: Device, by: Session): Promise<void> {
    this.#lastTurn = this.#turnOf(device);
    const current = this.#search;
    const of = this.#missing;
    const asked = current.next(Math.max(1, Math.min(this.#size, by.limits.oids(device.maxOids))));
    this.#counts.looks++;
    try {
      const response = await by.getNext(asked.map((i) => (of[i] as Attribute).oid));
      if (this.#search !== current) return;
      if (response.errorStatus !== 0) {
        this.#size = hearError(current, asked, response) ?? this.#size;
        return;
      }
      this.#size = Math.max(this.#size, asked.length * 2);
      const position = hear(current, asked, response.varbinds);
      if (position !== undefined) this.#found(of[position] as Attribute);
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      if (!["timeout", "too_big", "malformed"].includes(error.code)) return;
      this.#size = Math.max(1, asked.length >> 1);
      if (asked.length === 1) current.heard(asked[0] as number, undefined);
    }
  }

  #turnOf({ id }: Device): number {
    return Math.floor(this.#clock.now() / lookEveryMs + placeOf(id));
  }

  #found(attribute: Attribute): void {
    if (this.#announced === undefined) this.#counts.appeared++;
    this.#announced = attribute;
    this.#onFound(attribute.name);
  }
}

/** @returns the first position that has an instance. */
function hear(search: GapSearch, asked: readonly number[], varbinds: readonly VarBind[]): number | undefined {
  const found = asked.map((position, i) => search.heard(position, afterOf(varbinds[i])));
  return found.find((position) => position !== undefined);
}

function afterOf(varbind: VarBind | undefined): Oid | "end" | undefined {
  if (varbind === undefined) return undefined;
  if (varbind.type === "endOfMibView") return "end";
  return isException(varbind) ? undefined : varbind.oid;
}

/** @returns how much may be asked at once from now on; undefined: as much as before. */
function hearError(search: GapSearch, asked: readonly number[], response: SnmpResponse): number | undefined {
  const isTooBig = response.errorStatus === errorStatus.tooBig;
  const faulty = asked.length === 1 ? asked[0] : isTooBig ? undefined : asked[response.errorIndex - 1];
  if (faulty === undefined) return asked.length >> 1;
  // Version 1 has no other way to say that nothing comes after an OID.
  search.heard(faulty, response.errorStatus === errorStatus.noSuchName ? "end" : undefined);
  return undefined;
}
