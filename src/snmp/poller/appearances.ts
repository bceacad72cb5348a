import type { Clock } from "../../report/index.ts";
import type { Attribute, Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { errorStatus } from "../session/error-status.ts";
import type { Oid } from "../session/oid.ts";
import type { Session, SnmpResponse } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { isException, type VarBind } from "../session/var-bind.ts";
import type { DeviceCounts } from "./device-counts.ts";
import { createGapSearch, type GapSearch } from "./gap-search.ts";
import { missingAttributes } from "./missing-attributes.ts";
import { placeOf } from "./place-of.ts";

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
