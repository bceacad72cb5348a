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
 * Watches OIDs that have no instance. If the agent's next instance after one of them lies behind a gap, no other OID in the gap has an
 * instance either. So a round sends one question for each gap, for any number of OIDs.
 *
 * @param oids in order, without duplicates.
 */
export class GapSearch {
  readonly #oids: readonly Oid[];
  /** The positions to ask about, in order. Each stands for those up to the next one. */
  #heads: number[] = [];
  /** The heads that this round has not asked about yet. */
  #open: number[] = [];
  #most = 1;

  constructor(oids: readonly Oid[]) {
    this.#oids = oids;
  }

  /** Returns at most `max` positions to ask about in one GetNext. They begin a new round if the previous one has ended. */
  next(max: number): readonly number[] {
    this.#most = max;
    if (this.#heads.length === 0) this.#heads = spaced(0, this.#oids.length, max);
    if (this.#open.length === 0) this.#open = this.#heads;
    return this.#open.slice(0, max);
  }

  /**
   * Takes the agent's answer for a position: the next OID, `end` if there is none, or undefined if the agent gives no answer.
   *
   * @returns the position that has an instance now; undefined if none is seen.
   */
  heard(position: number, answer: Oid | "end" | undefined): number | undefined {
    // An OID that does not come after the position is not trustworthy.
    const isOrdered = typeof answer !== "object" || compareOids(answer, this.#oids[position] as Oid) > 0;
    const after = isOrdered ? answer : undefined;
    const reached = this.#reach(position, after);
    this.#open = this.#open.filter((head) => head !== position);
    const head = this.#heads.indexOf(position);
    if (head >= 0 && reached < this.#endOf(head)) {
      // The gap has become shorter, so nothing is known of the positions behind it.
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

  /** @returns the first position behind `position` about which the next OID shows nothing. */
  #reach(position: number, after: Oid | "end" | undefined): number {
    if (after === "end") return this.#oids.length;
    if (after === undefined) return position + 1;
    const next = this.#oids.findIndex((oid, i) => i > position && compareOids(oid, after) >= 0);
    return next < 0 ? this.#oids.length : next;
  }
}

/** Returns at most `max` positions, as far apart as possible. */
function spaced(from: number, end: number, max: number): number[] {
  const step = Math.ceil((end - from) / Math.max(1, max));
  const positions: number[] = [];
  for (let position = from; position < end; position += step) positions.push(position);
  return positions;
}

/**
 * Finds the attributes for which the device would be polled if it had them: those of its groups that its plan lacks, in the order of
 * OIDs. For a missing object with a discovery attribute it is that attribute alone. Objects in contexts of their own are left out,
 * because each context would cost a request.
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

/** The interval between looks: a discovery takes dozens of requests, a look takes one. */
const lookEveryMs = 600_000;

/**
 * Finds objects that a device has gained since its discovery, such as BGP that was switched on.
 *
 * @param onFound gets the name of an attribute that the device has now.
 */
export class Appearances {
  readonly #clock: Pick<Clock, "now">;
  readonly #counts: Pick<DeviceCounts, "looks" | "appeared">;
  readonly #onFound: (attribute: string) => void;
  #missing: readonly Attribute[] = [];
  #search = new GapSearch([]);
  /** The number of OIDs per request. It is smaller for a while if long requests are too much for the agent. */
  #size = Infinity;
  #lastTurn: number | undefined;
  /** The attribute that requested a discovery that has not happened yet. */
  #announced: Attribute | undefined;
  /** The OIDs that a look found and the discovery after it did not; they do not cause another one. */
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

  /** Starts again with the attributes that this plan lacks. @param definitions the current ones, which may be newer than the plan. */
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

  /** Handles a restart of the device, which may now have objects that its discovery did not find. */
  restarted(): void {
    this.#inVain.clear();
  }

  /** Reports whether the next look is due: every 10 minutes, at a time that differs by device; never without `rediscover_interval`. */
  isDue(device: Device): boolean {
    return this.#missing.length > 0 && device.rediscoverIntervalMs > 0 && this.#turnOf(device) !== this.#lastTurn;
  }

  /** Sends one request. It never fails for a bad answer or a missing one. */
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

/** Takes the values of an answer. @returns the first position that has an instance. */
function hear(search: GapSearch, asked: readonly number[], varbinds: readonly VarBind[]): number | undefined {
  const found = asked.map((position, i) => search.heard(position, afterOf(varbinds[i])));
  return found.find((position) => position !== undefined);
}

function afterOf(varbind: VarBind | undefined): Oid | "end" | undefined {
  if (varbind === undefined) return undefined;
  if (varbind.type === "endOfMibView") return "end";
  return isException(varbind) ? undefined : varbind.oid;
}

/** Takes an error. @returns the new limit of OIDs per request; undefined if it does not change. */
function hearError(search: GapSearch, asked: readonly number[], response: SnmpResponse): number | undefined {
  const isTooBig = response.errorStatus === errorStatus.tooBig;
  const faulty = asked.length === 1 ? asked[0] : isTooBig ? undefined : asked[response.errorIndex - 1];
  if (faulty === undefined) return asked.length >> 1;
  // Version 1 has no other way to say that nothing comes after an OID.
  search.heard(faulty, response.errorStatus === errorStatus.noSuchName ? "end" : undefined);
  return undefined;
}
