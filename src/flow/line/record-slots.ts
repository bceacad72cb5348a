import type { AppAdditions, LineEnricher, Workspace, FieldValues, Value } from "../../record/index.ts";
import type { KernelImports } from "../kernel/kernel.ts";
import * as layout from "../kernel/layout.gen.ts";
import { parseAddress } from "../../base/ip/index.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import type { Convert } from "../elements/mapping/convert-type.ts";

/** The bit of each name that is added only where a record has none of it. */
export type NameBits = Pick<ReadonlyMap<string, number>, "get" | "has" | "size">;

/** Stands for any field of an application but its id and its name. */
export const moreOfApplication = "app.*";

export function createNameBits(names: ReadonlySet<string>): NameBits {
  const bits = new Map([...names, moreOfApplication].map((name, bit) => [name, bit]));
  const get = (name: string): number | undefined => {
    const bit = bits.get(name);
    const isShared = bit === undefined && name.startsWith("app.") && name !== "app.id";
    return isShared ? bits.get(moreOfApplication) : bit;
  };
  return { get, has: (name) => get(name) !== undefined, size: bits.size };
}

/** Writes the applications that follow from addresses and ports. */
interface AppWriter {
  /** Begins a datagram: says where there are applications. */
  begin(): void;
  readonly write: KernelImports["addApp"];
  /** Reports how many lines got one since the last call. */
  done(): void;
}

const appName = "app.name";

/** @param values of the record under way. */
export function createAppWriter(
  { bytes: memory, view }: Workspace,
  { apps = [] }: LineEnricher,
  values: RecordSlots,
): AppWriter {
  const [of] = apps;
  let ports: ReturnType<AppAdditions["ports"]>;
  return {
    begin() {
      const now = of?.ports();
      if (now === ports) return;
      ports = now;
      if (now !== undefined) memory.set(now, layout.appPorts);
      view.setUint8(layout.hasApps, now === undefined ? 0 : 1);
    },
    write(at, source, sourceLength, sourcePort, destination, destinationLength, destinationPort) {
      if (of === undefined || values.isTaken(appName)) return at;
      const found = of.find(view, source, sourceLength, sourcePort, destination, destinationLength, destinationPort);
      if (found === undefined) return at;
      if (found.needsFields || values.isTaken(moreOfApplication)) return -1;
      memory.set(found.text, at);
      return at + found.text.length;
    },
    done() {
      const added = view.getUint32(layout.appsAdded, true);
      if (added === 0) return;
      view.setUint32(layout.appsAdded, 0, true);
      of?.added(added);
    },
  };
}

/** The values of the record under way that the kernel keeps because something else in its line follows from them. */
export interface RecordSlots extends FieldValues {
  /** Keeps what the kernel did not read itself. */
  keep(slot: number, value: Value): void;
  /** A number that is there, or -1. Those beyond 2^53 are not exact. */
  number(slot: number): number;
  /** A counter, exact; undefined when there is none. */
  counter(slot: number): number | bigint | undefined;
  /** Marks names as present in the record. */
  take(name: string): void;
  isTaken(name: string): boolean;
  /** Whether anything follows from a field of this name. */
  isWatched(name: string): boolean;
}

const directionName = "flow.direction.name";
const directions = ["ingress", "egress"];
const two32 = 2 ** 32;
/** The upper halves of exact doubles are below. */
const safeHigh = 2 ** 21;

/** Whether the number of a byte says all of what a conversion makes of it. */
export function isKeptAsByte(convert: Convert): boolean {
  return convert === convertField.directionName;
}

export function createRecordSlots(
  { view, bytes }: Workspace,
  slots: ReadonlyMap<string, number>,
  nameBits: NameBits,
): RecordSlots {
  const elsewhere: Value[] = [];
  const directionSlot = slots.get(directionName);

  const number = (slot: number): number => {
    const at = layout.slots + 8 * slot;
    const high = view.getInt32(at + 4, true);
    return high < 0 ? -1 : high * two32 + view.getUint32(at, true);
  };
  const exact = (slot: number): number | bigint | undefined => {
    const high = view.getInt32(layout.slots + 8 * slot + 4, true);
    if (high < 0) return undefined;
    if (high < safeHigh) return number(slot);
    const value = view.getBigInt64(layout.slots + 8 * slot, true);
    return value === BigInt(layout.tooLarge) ? view.getBigUint64(layout.exactValues + 8 * slot, true) : value;
  };
  const keepOther = (slot: number, value: Value): void => {
    elsewhere[slot] = value;
    view.setBigInt64(layout.slots + 8 * slot, BigInt(layout.isElsewhere), true);
  };
  const keepAddress = (slot: number, text: string): boolean => {
    const address = parseAddress(text);
    if (address === undefined) return false;
    const length = address.family === 4 ? 4 : 16;
    const at = layout.otherAddresses + (slot === layout.sourceSlot ? 0 : 16);
    bytes.write(address.value.toString(16).padStart(2 * length, "0"), at, "hex");
    view.setUint32(layout.slots + 8 * slot, at, true);
    view.setUint32(layout.slots + 8 * slot + 4, length, true);
    return true;
  };

  return {
    number,
    counter: exact,
    keep(slot, value) {
      const at = layout.slots + 8 * slot;
      const isAddress = slot === layout.sourceSlot || slot === layout.destinationSlot;
      if (slot === directionSlot) {
        const direction = directions.indexOf(String(value));
        if (direction < 0) keepOther(slot, value);
        else view.setBigInt64(at, BigInt(direction), true);
      } else if (isAddress) {
        if (typeof value !== "string" || !keepAddress(slot, value)) view.setBigInt64(at, BigInt(layout.isOther), true);
      } else if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
        view.setUint32(at, value % two32, true);
        view.setUint32(at + 4, Math.floor(value / two32), true);
      } else if (typeof value === "bigint" && value >= 0n) {
        const isLarge = value >= BigInt(layout.tooLarge);
        view.setBigInt64(at, isLarge ? BigInt(layout.tooLarge) : value, true);
        if (isLarge) view.setBigUint64(layout.exactValues + 8 * slot, value, true);
      } else keepOther(slot, value);
    },
    get(name) {
      const slot = slots.get(name);
      if (slot === undefined) return undefined;
      const at = layout.slots + 8 * slot;
      const high = view.getInt32(at + 4, true);
      if (high >= 0) {
        return slot === directionSlot ? directions[number(slot)] : exact(slot);
      }
      return view.getInt32(at, true) === layout.isElsewhere ? elsewhere[slot] : undefined;
    },
    take(name) {
      const bit = nameBits.get(name);
      if (bit === undefined) return;
      const at = layout.takenNames + 4 * (bit >> 5);
      view.setUint32(at, (view.getUint32(at, true) | (1 << (bit & 31))) >>> 0, true);
    },
    isWatched: (name) => slots.has(name) || nameBits.has(name),
    isTaken(name) {
      const bit = nameBits.get(name) as number;
      return (view.getUint32(layout.takenNames + 4 * (bit >> 5), true) & (1 << (bit & 31))) !== 0;
    },
  };
}
