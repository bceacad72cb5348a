import {
  createInterfaceLearner,
  interfaceNames,
  mergeLearnt,
  nothingLearnt,
  type LearntColumn,
  type LearntInterfaces,
} from "../discovery/learn-interfaces.ts";
import { heldValue } from "../values/held-value.ts";
import { suffixOf, type PolledRows } from "./poll-object.ts";
import type { PolledObject } from "./poll-plan.ts";

/** The names of a device's interfaces, and its addresses, as the last reading of each column had them. */
export interface DeviceNames {
  /** Names by ifIndex. */
  readonly interfaces: ReadonlyMap<number, string>;
  readonly addresses: readonly string[];
  /** Puts what a discovery learnt in the place of everything. */
  set(learnt: LearntInterfaces): void;
  /** Learns from a poll. @returns whether anything is different. */
  see(object: PolledObject, polled: PolledRows): boolean;
  /** The numbers of interfaces may be others now: what is known counts no more once it is read again. */
  distrust(): void;
  /** The name for a record; undefined while the names are not to be trusted. */
  nameOf(index: number): string | undefined;
}

/** Whether something that the names are made of is among its columns. */
export function givesNames({ columns }: PolledObject): boolean {
  return columns.some(({ learnt }) => learnt !== undefined);
}

export function createDeviceNames(): DeviceNames {
  let learnt = nothingLearnt;
  let interfaces: ReadonlyMap<number, string> = new Map();
  let addresses: readonly string[] = [];
  /** Columns that have not been read since the names lost their trust. */
  const suspect = new Set<LearntColumn>();
  const set = (next: LearntInterfaces): void => {
    learnt = next;
    interfaces = interfaceNames(next);
    addresses = [...new Set([...next.ipv4Addresses, ...next.inetAddresses])];
  };
  return {
    get interfaces() {
      return interfaces;
    },
    get addresses() {
      return addresses;
    },
    set(next) {
      suspect.clear();
      set(next);
    },
    distrust() {
      for (const column of ["descriptions", "names"] as const) if (learnt[column].size > 0) suspect.add(column);
    },
    nameOf: (index) => (suspect.size > 0 ? undefined : interfaces.get(index)),
    see(object, polled) {
      const columns = object.columns.map(({ learnt: column }) => column);
      const seen = columns.filter((column): column is LearntColumn => column !== undefined);
      if (seen.length === 0 || (suspect.size === 0 && saysTheSame(learnt, columns, polled))) return false;
      const learner = createInterfaceLearner();
      for (const row of polled.rows) {
        const suffix = suffixOf(row);
        for (const [i, column] of columns.entries()) {
          const value = row.values[i];
          if (column !== undefined && value !== undefined) learner.add(column, suffix, heldValue(value));
        }
      }
      const isReplaced = (column: LearntColumn): boolean => polled.isComplete || suspect.has(column);
      const next = mergeLearnt(learnt, learner.result(), new Set(seen.filter(isReplaced)));
      for (const column of seen) suspect.delete(column);
      const [earlierInterfaces, earlierAddresses] = [interfaces, addresses];
      set(next);
      return !isSame(earlierInterfaces, interfaces) || earlierAddresses.join() !== addresses.join();
    },
  };
}

/**
 * Whether names are what they were, which they nearly always are. To find that out makes nothing that stays: tables of names
 * that are made again at each poll are the greater part of what the garbage collector has to look for.
 */
function saysTheSame(
  learnt: LearntInterfaces,
  columns: readonly (LearntColumn | undefined)[],
  { rows, isComplete }: PolledRows,
): boolean {
  if (!isComplete) return false;
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i];
    if (column === undefined) continue;
    if (column !== "names" && column !== "descriptions") return false;
    let same = 0;
    for (const { key, values } of rows) {
      const text = values[i]?.value;
      if (text === undefined || text === "") continue;
      // The octets of other text than ASCII are not what it is known as.
      if (typeof text !== "string" || learnt[column].get(Number(key)) !== text || !isAscii(text)) return false;
      same++;
    }
    if (same !== learnt[column].size) return false;
  }
  return true;
}

const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);

function isSame(before: ReadonlyMap<number, string>, after: ReadonlyMap<number, string>): boolean {
  return before.size === after.size && [...after].every(([index, name]) => before.get(index) === name);
}
