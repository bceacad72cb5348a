import { compareOids, oidStartsWith, type Oid } from "../session/var-bind.ts";
import type { Attribute, Definitions, Device } from "../definitions/definitions.ts";
import { contextsOf, reachedObjects } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { Clock } from "../../base/report/index.ts";
import { errorStatus } from "../session/snmp-error.ts";
import type { Session, SnmpResponse } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { isException, type VarBind } from "../session/var-bind.ts";
import type { DeviceCounts } from "./device-counts.ts";
import { placeOf } from "./poll-times.ts";

/**
 * Watches OIDs that have no instance. What an agent has after one of them lies behind a gap, and none of the others in
 * that gap has an instance either: a round asks once for each gap, however many OIDs there are.
 */
export interface GapSearch {
  /** Positions to ask about in one GetNext, not more than `max`. They begin a new round when the one before has ended. */
  next(max: number): readonly number[];
  /**
   * Takes what the agent has after a position; `end`: nothing; undefined: it does not say.
   *
   * @returns the position that has an instance now; undefined when that is not seen.
   */
  heard(position: number, after: Oid | "end" | undefined): number | undefined;
}

/** @param oids in their order, none twice. */
export function createGapSearch(oids: readonly Oid[]): GapSearch {
  /** Positions that are asked about, in order: each stands for those up to the next one. */
  let heads: number[] = [];
  /** Of the heads those that this round has not asked about. */
  let open: number[] = [];
  let most = 1;
  const endOf = (head: number): number => heads[head + 1] ?? oids.length;

  /** @returns the first position behind `position` that what comes after it says nothing about. */
  const reach = (position: number, after: Oid | "end" | undefined): number => {
    if (after === "end") return oids.length;
    if (after === undefined) return position + 1;
    const next = oids.findIndex((oid, i) => i > position && compareOids(oid, after) >= 0);
    return next < 0 ? oids.length : next;
  };

  return {
    next(max) {
      most = max;
      if (heads.length === 0) heads = spaced(0, oids.length, max);
      if (open.length === 0) open = heads;
      return open.slice(0, max);
    },
    heard(position, answer) {
      // What does not come after it is not to be believed.
      const isOrdered = typeof answer !== "object" || compareOids(answer, oids[position] as Oid) > 0;
      const after = isOrdered ? answer : undefined;
      const reached = reach(position, after);
      open = open.filter((head) => head !== position);
      const head = heads.indexOf(position);
      if (head >= 0 && reached < endOf(head)) {
        // The gap has become shorter: what was behind that is not known any more.
        const more = spaced(reached, endOf(head), most);
        heads = heads.toSpliced(head + 1, 0, ...more);
        open = [...more, ...open];
      } else if (head >= 0) {
        let covered = head;
        while (covered + 1 < heads.length && endOf(covered + 1) <= reached) covered++;
        heads = heads.toSpliced(head + 1, covered - head);
        open = open.filter((one) => one <= position || one >= endOf(head));
      }
      const last = reached - 1;
      return typeof after === "object" && oidStartsWith(after, oids[last] as Oid) ? last : undefined;
    },
  };
}

/** At most `max` positions, as far apart as they can be. */
function spaced(from: number, end: number, max: number): number[] {
  const step = Math.ceil((end - from) / Math.max(1, max));
  const positions: number[] = [];
  for (let position = from; position < end; position += step) positions.push(position);
  return positions;
}

/**
 * What a device would be polled for if it had it: attributes that its groups lead to and its plan has not, in the order of
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

/** Finds what a device has gained since its discovery, such as BGP that was switched on. */
export interface Appearances {
  /** Starts over with what this plan lacks. @param definitions those in force, which may be newer than the plan. */
  discovered(plan: DevicePlan, definitions: Definitions, device: Device): void;
  /** The device has restarted: it may have what its discovery did not find. */
  restarted(): void;
  /** Whether the next look is due: every 10 minutes, at a time that differs by device; never without `rediscover_interval`. */
  isDue(device: Device): boolean;
  /** Sends one request. Never fails for a bad answer or for none. */
  look(device: Device, by: Session): Promise<void>;
}

/** A discovery takes dozens of requests, a look takes one. */
const lookEveryMs = 600_000;

/** @param onFound is given the name of an attribute that the device has now. */
export function createAppearances(
  clock: Pick<Clock, "now">,
  counts: Pick<DeviceCounts, "looks" | "appeared">,
  onFound: (attribute: string) => void,
): Appearances {
  let missing: readonly Attribute[] = [];
  let search = createGapSearch([]);
  /** How much is asked at once: less, for a while, of an agent that long requests are too much for. */
  let size = Infinity;
  let lastTurn: number | undefined;
  /** What calls for a discovery that has not been. */
  let announced: Attribute | undefined;
  /** OIDs that a look found and the discovery after it did not: they are no reason for another one. */
  const inVain = new Set<string>();
  const turnOf = ({ id }: Device): number => Math.floor(clock.now() / lookEveryMs + placeOf(id));

  function found(attribute: Attribute): void {
    if (announced === undefined) counts.appeared++;
    announced = attribute;
    onFound(attribute.name);
  }

  return {
    discovered(plan, definitions, device) {
      const planned = new Set(
        Array.from(plan.objects.values(), ({ attributes }) => Array.from(attributes.values())).flat(),
      );
      // What was not looked for by the discovery waits for the next one.
      const lacks =
        plan.revision === definitions.revision
          ? missingAttributes(plan, definitions, device)
          : missing.filter(({ oidText }) => !planned.has(oidText));
      if (announced !== undefined && lacks.some(({ oidText }) => oidText === announced?.oidText))
        inVain.add(announced.oidText);
      announced = undefined;
      missing = lacks.filter(({ oidText }) => !inVain.has(oidText));
      search = createGapSearch(missing.map(({ oid }) => oid));
      lastTurn = turnOf(device);
    },
    restarted: () => inVain.clear(),
    isDue: (device) => missing.length > 0 && device.rediscoverIntervalMs > 0 && turnOf(device) !== lastTurn,
    async look(device, by) {
      lastTurn = turnOf(device);
      const current = search;
      const of = missing;
      const asked = current.next(Math.max(1, Math.min(size, by.limits.oids(device.maxOids))));
      counts.looks++;
      try {
        const response = await by.getNext(asked.map((i) => (of[i] as Attribute).oid));
        if (search !== current) return;
        if (response.errorStatus !== 0) {
          size = hearError(current, asked, response) ?? size;
          return;
        }
        size = Math.max(size, asked.length * 2);
        const position = hear(current, asked, response.varbinds);
        if (position !== undefined) found(of[position] as Attribute);
      } catch (error) {
        if (!(error instanceof SnmpError)) throw error;
        if (!["timeout", "too_big", "malformed"].includes(error.code)) return;
        size = Math.max(1, asked.length >> 1);
        if (asked.length === 1) current.heard(asked[0] as number, undefined);
      }
    },
  };
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
