import { readNumber } from "../values/read-number.ts";
import { heldValue, type HeldValue } from "../values/held-value.ts";
import type { PolledObject } from "./poll-plan.ts";
import type { PolledRows } from "./poll-object.ts";
import { hasRestarted } from "./uptime.ts";

/** Remembers the values of attributes whose definition says `rediscover`. */
export interface WatchedValues {
  /** @returns the first attribute that went back (OnReset) or changed (OnChange) since it was seen last. */
  see(object: PolledObject, polled: PolledRows, at: number): string | undefined;
  /** Forgets everything, because the device has been discovered. */
  clear(): void;
}

interface Seen {
  readonly value: HeldValue;
  readonly at: number;
}

/** Values kept in addition to those of a poll that has not read all; many more than anybody watches. */
const maxKept = 100_000;

export function createWatchedValues(): WatchedValues {
  /** By object, then by instance. */
  const seen = new Map<string, ReadonlyMap<string, Seen>>();
  return {
    see(object, polled, at) {
      if (object.columns.every(({ attribute }) => attribute.rediscover === undefined)) return undefined;
      let reason: string | undefined;
      const before = seen.get(object.id) ?? new Map<string, Seen>();
      // What the object has no longer is forgotten with the next complete poll.
      const now = new Map(polled.isComplete || before.size > maxKept ? [] : before);
      seen.set(object.id, now);
      for (const [i, { attribute }] of object.columns.entries()) {
        if (attribute.rediscover === undefined) continue;
        for (const { key: row, values } of polled.rows) {
          const value = values[i];
          if (value === undefined) continue;
          const key = `${attribute.oidText}.${row}`;
          const earlier = before.get(key);
          now.set(key, { value, at });
          if (earlier === undefined) continue;
          const isHit =
            attribute.rediscover === "OnReset" ? wentBack(earlier, { value, at }) : isOther(earlier.value, value);
          if (isHit) reason ??= `${object.id} ${attribute.name}`;
        }
      }
      return reason;
    },
    clear: () => seen.clear(),
  };
}

function wentBack(earlier: Seen, later: Seen): boolean {
  const before = readNumber(heldValue(earlier.value));
  const after = readNumber(heldValue(later.value));
  if (before === undefined || after === undefined) return false;
  if (earlier.value.type === "TimeTicks" && later.value.type === "TimeTicks") {
    const reading = ({ value, at }: Seen) => ({
      ticks: Number(value.value),
      boots: undefined,
      engineId: undefined,
      at,
    });
    return hasRestarted(reading(earlier), reading(later));
  }
  return after < before;
}

function isOther(before: HeldValue, after: HeldValue): boolean {
  return textOf(before) !== textOf(after);
}

function textOf({ type, value }: HeldValue): string {
  return `${type} ${String(value)}`;
}
