import type { AppAdditions, LineEnricher, Workspace, FieldValues, Value } from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { parseAddress } from "../../base/ip/index.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import type { Convert } from "../elements/mapping/convert-type.ts";

/** Stands for any field of an application but its id and its name. */
export const moreOfApplication = "app.*";

/** The bit of each name that is added only where a record has none of it. */
export class NameBits {
  readonly #bits: ReadonlyMap<string, number>;

  constructor(names: ReadonlySet<string>) {
    this.#bits = new Map([...names, moreOfApplication].map((name, bit) => [name, bit]));
  }

  get size(): number {
    return this.#bits.size;
  }

  get(name: string): number | undefined {
    const bit = this.#bits.get(name);
    const isShared = bit === undefined && name.startsWith("app.") && name !== "app.id";
    return isShared ? this.#bits.get(moreOfApplication) : bit;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

const appName = "app.name";

/** Writes the applications that follow from addresses and ports. */
export class AppWriter {
  readonly #workspace: Workspace;
  readonly #of: AppAdditions | undefined;
  readonly #values: RecordSlots;
  #ports: ReturnType<AppAdditions["ports"]>;

  /** @param values of the record under way. */
  constructor(workspace: Workspace, { apps = [] }: LineEnricher, values: RecordSlots) {
    this.#workspace = workspace;
    [this.#of] = apps;
    this.#values = values;
  }

  /** Begins a datagram: says where there are applications. */
  begin(): void {
    const ports = this.#of?.ports();
    if (ports === this.#ports) return;
    this.#ports = ports;
    const { bytes, view } = this.#workspace;
    if (ports !== undefined) bytes.set(ports, layout.appPorts);
    view.setUint8(layout.hasApps, ports === undefined ? 0 : 1);
  }

  /** As `addApp` of the kernel's imports. */
  write(
    at: number,
    source: number,
    sourceLength: number,
    sourcePort: number,
    destination: number,
    destinationLength: number,
    destinationPort: number,
  ): number {
    const { bytes, view } = this.#workspace;
    if (this.#of === undefined || this.#values.isTaken(appName)) return at;
    const found = this.#of.find(
      view,
      source,
      sourceLength,
      sourcePort,
      destination,
      destinationLength,
      destinationPort,
    );
    if (found === undefined) return at;
    if (found.needsFields || this.#values.isTaken(moreOfApplication)) return -1;
    bytes.set(found.text, at);
    return at + found.text.length;
  }

  /** Reports how many lines got one since the last call. */
  done(): void {
    const { view } = this.#workspace;
    const added = view.getUint32(layout.appsAdded, true);
    if (added === 0) return;
    view.setUint32(layout.appsAdded, 0, true);
    this.#of?.added(added);
  }
}

const directionName = "flow.direction.name";
const directions = ["ingress", "egress"];
const two32 = 2 ** 32;
/** The upper halves of exact doubles are below. */
const safeHigh = 2 ** 21;

/** Tells whether the number of a byte says all of what a conversion makes of it. */
export function isKeptAsByte(convert: Convert): boolean {
  return convert === convertField.directionName;
}

/** The values of the record under way that the kernel keeps because something else in its line follows from them. */
export class RecordSlots implements FieldValues {
  readonly #workspace: Workspace;
  readonly #slots: ReadonlyMap<string, number>;
  readonly #nameBits: NameBits;
  readonly #directionSlot: number | undefined;
  readonly #elsewhere: Value[] = [];

  constructor(workspace: Workspace, slots: ReadonlyMap<string, number>, nameBits: NameBits) {
    this.#workspace = workspace;
    this.#slots = slots;
    this.#nameBits = nameBits;
    this.#directionSlot = slots.get(directionName);
  }

  get(name: string): Value | undefined {
    const slot = this.#slots.get(name);
    if (slot === undefined) return undefined;
    const { view } = this.#workspace;
    const at = layout.slots + 8 * slot;
    if (view.getInt32(at + 4, true) < 0) {
      return view.getInt32(at, true) === layout.isElsewhere ? this.#elsewhere[slot] : undefined;
    }
    return slot === this.#directionSlot ? directions[this.number(slot)] : this.counter(slot);
  }

  /** A number that is there, or -1. Those beyond 2^53 are not exact. */
  number(slot: number): number {
    const { view } = this.#workspace;
    const at = layout.slots + 8 * slot;
    const high = view.getInt32(at + 4, true);
    return high < 0 ? -1 : high * two32 + view.getUint32(at, true);
  }

  /** A counter, exact; undefined when there is none. */
  counter(slot: number): number | bigint | undefined {
    const { view } = this.#workspace;
    const at = layout.slots + 8 * slot;
    const high = view.getInt32(at + 4, true);
    if (high < 0) return undefined;
    if (high < safeHigh) return this.number(slot);
    const value = view.getBigInt64(at, true);
    return value === BigInt(layout.tooLarge) ? view.getBigUint64(layout.exactValues + 8 * slot, true) : value;
  }

  /** Keeps what the kernel did not read itself. */
  keep(slot: number, value: Value): void {
    const { view } = this.#workspace;
    const at = layout.slots + 8 * slot;
    const isAddress = slot === layout.sourceSlot || slot === layout.destinationSlot;
    if (slot === this.#directionSlot) {
      const direction = directions.indexOf(String(value));
      if (direction < 0) this.#keepElsewhere(slot, value);
      else view.setBigInt64(at, BigInt(direction), true);
    } else if (isAddress) {
      const isKept = typeof value === "string" && this.#keepAddress(slot, value);
      if (!isKept) view.setBigInt64(at, BigInt(layout.isOther), true);
    } else if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
      view.setUint32(at, value % two32, true);
      view.setUint32(at + 4, Math.floor(value / two32), true);
    } else if (typeof value === "bigint" && value >= 0n) {
      const isLarge = value >= BigInt(layout.tooLarge);
      view.setBigInt64(at, isLarge ? BigInt(layout.tooLarge) : value, true);
      if (isLarge) view.setBigUint64(layout.exactValues + 8 * slot, value, true);
    } else this.#keepElsewhere(slot, value);
  }

  /** Marks names as present in the record. */
  take(name: string): void {
    const bit = this.#nameBits.get(name);
    if (bit === undefined) return;
    const { view } = this.#workspace;
    const at = layout.takenNames + 4 * (bit >> 5);
    view.setUint32(at, (view.getUint32(at, true) | (1 << (bit & 31))) >>> 0, true);
  }

  isTaken(name: string): boolean {
    const bit = this.#nameBits.get(name) as number;
    const taken = this.#workspace.view.getUint32(layout.takenNames + 4 * (bit >> 5), true);
    return (taken & (1 << (bit & 31))) !== 0;
  }

  /** Tells whether anything follows from a field of this name. */
  isWatched(name: string): boolean {
    return this.#slots.has(name) || this.#nameBits.has(name);
  }

  #keepElsewhere(slot: number, value: Value): void {
    this.#elsewhere[slot] = value;
    this.#workspace.view.setBigInt64(layout.slots + 8 * slot, BigInt(layout.isElsewhere), true);
  }

  #keepAddress(slot: number, text: string): boolean {
    const address = parseAddress(text);
    if (address === undefined) return false;
    const { bytes, view } = this.#workspace;
    const length = address.family === 4 ? 4 : 16;
    const at = layout.otherAddresses + (slot === layout.sourceSlot ? 0 : 16);
    bytes.write(address.value.toString(16).padStart(2 * length, "0"), at, "hex");
    view.setUint32(layout.slots + 8 * slot, at, true);
    view.setUint32(layout.slots + 8 * slot + 4, length, true);
    return true;
  }
}
