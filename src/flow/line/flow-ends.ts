import {
  type AppAdditions,
  type LineEnricher,
  type Workspace,
  type FieldValues,
  type Value,
  renderField,
  splitFields,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { parseAddress } from "../../base/ip/index.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import type { Convert } from "../elements/mapping/convert-type.ts";
import { eachCounter, type CounterNames } from "../elements/mapping/element-names.ts";
import { nameText, putText, writeAscii, writeSafeInteger } from "./line-head.ts";
import { type RoleMethod, joinedFields, type JoinedField, roleMethods } from "../kernel/program-writer.ts";

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

const rateName = nameText("flow.sample_rate");
const overflowText = nameText("flow.sampling.overflow", "true");

/** Writes rates, and the estimates of counters by them. */
export class EstimateWriter {
  readonly #names: readonly ReturnType<typeof nameText>[];

  constructor(counters: CounterNames) {
    this.#names = eachCounter(counters).map(({ estimate }) => nameText(estimate));
  }

  /** @param counters bytes and packets, then those of the reverse direction of a biflow. @returns where the estimates end. */
  write(out: DataView, at: number, rate: number, counters: readonly (number | bigint | undefined)[]): number {
    let end = putText(out, at, rateName);
    end = Number.isSafeInteger(rate) ? writeSafeInteger(out, end, rate) : writeAscii(out, end, String(rate));
    let isCut = false;
    for (let i = 0; i < counters.length; i++) {
      const counter = counters[i];
      const scaled = counter === undefined ? undefined : scaleCounter(counter, rate);
      if (scaled === undefined) continue;
      end = putText(out, end, this.#names[i] as ReturnType<typeof nameText>);
      end =
        typeof scaled === "number" && scaled >= 0
          ? writeSafeInteger(out, end, scaled)
          : writeAscii(out, end, `${cutEstimate(scaled)}`);
      isCut ||= scaled > largestEstimate;
    }
    return isCut ? putText(out, end, overflowText) : end;
  }
}

/** Stores have whole numbers of 64 bits. */
const largestEstimate = 2n ** 64n - 1n;

/** An estimate, or the largest one where it is larger. */
function cutEstimate(scaled: number | bigint): number | bigint {
  return scaled > largestEstimate ? largestEstimate : scaled;
}

/** Rates that are no whole numbers are applied to bigints in parts of a millionth. */
const millionths = 1_000_000;

/** The estimate by a counter; undefined where there is none. */
function scaleCounter(value: Value, rate: number): number | bigint | undefined {
  if (typeof value === "number") {
    const scaled = Math.round(value * rate);
    if (Number.isSafeInteger(scaled)) return scaled;
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (Number.isInteger(rate)) return BigInt(value) * BigInt(rate);
  const parts = Math.round(rate * millionths);
  return Number.isFinite(parts) ? (BigInt(value) * BigInt(parts)) / BigInt(millionths) : undefined;
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
  readonly #bitsOfLists = new Map<readonly string[], readonly [low: number, high: number]>();

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

  /** Tells whether the record has one of these names. @param names the same list each time: its bits are remembered. */
  isAnyTaken(names: readonly string[]): boolean {
    let bits = this.#bitsOfLists.get(names);
    if (bits === undefined) {
      const all = names.flatMap((name) => this.#nameBits.get(name) ?? []);
      const half = (of: number): number =>
        all.reduce((sum, bit) => (bit >> 5 === of ? sum | (1 << (bit & 31)) : sum), 0);
      bits = [half(0), half(1)];
      this.#bitsOfLists.set(names, bits);
    }
    const { view } = this.#workspace;
    const low = view.getInt32(layout.takenNames, true) & bits[0];
    return (low | (view.getInt32(layout.takenNames + 4, true) & bits[1])) !== 0;
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

/** The end of a flow that is its client. */
type Client = "source" | "destination";

const names: ReadonlySet<string> = new Set(joinedFields);
/** The first segments of all names that are made here. */
const groups: ReadonlySet<string> = new Set(["flow", ...joinedFields.map((name) => name.split(".")[0] as string)]);

/**
 * Adds what follows from the fields below `flow.src` and `flow.dst` of a record: the same below `flow.client` and `flow.server`, and
 * fields with the values of both. One that would be in the way of a name of the operator's (`flow.client`, `as.label.own`) is left out:
 * no name may be a value and a group at once.
 *
 * @param rendered fields that stand behind those of the record.
 * @param client undefined: neither end has another name.
 * @param joins the fields that are joined.
 */
function completeEnds(
  record: RecordFields,
  rendered: readonly RenderedFields[],
  client: Client | undefined,
  joins: ReadonlySet<JoinedField>,
): RenderedFields {
  const texts: string[] = [];
  const values = new Map<string, string[]>();
  const inTheWay = namesInTheWay(record);
  const isFree = (name: string): boolean =>
    !record.has(name) && inTheWay.every((other) => !name.startsWith(`${other}.`) && !other.startsWith(`${name}.`));
  const take = (name: string, value: string): void => {
    const [, end, rest] = /^flow\.(src|dst)\.(.*)$/s.exec(name) ?? [];
    if (end === undefined || rest === undefined) return;
    if (names.has(rest) && joins.has(rest as JoinedField)) {
      const both = values.get(rest) ?? ["", ""];
      values.set(rest, end === "src" ? [value, both[1] ?? ""] : [both[0] ?? "", value]);
    }
    if (client === undefined) return;
    const as = `flow.${(end === "src") === (client === "source") ? "client" : "server"}.${rest}`;
    if (isFree(as)) texts.push(`,${JSON.stringify(as)}:${value}`);
  };
  for (const [name, value] of record) take(name, renderField(name, value).slice(JSON.stringify(name).length + 2));
  for (const fields of rendered) for (const [name, value] of splitFields(fields)) take(name, value);
  for (const name of joinedFields) {
    const both = values.get(name);
    if (both === undefined || !isFree(name)) continue;
    const elements = new Set(both.flatMap((value) => (value === "" ? [] : elementsOf(value))));
    texts.push(`,"${name}":[${[...elements].join(",")}]`);
  }
  return Buffer.from(texts.join(""));
}

/** The elements of an array, or the one value. */
function elementsOf(value: string): readonly string[] {
  if (!value.startsWith("[")) return [value];
  return value.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
}

/** Names that may meet those made here: only metadata has such. */
function namesInTheWay(record: RecordFields): string[] {
  const found: string[] = [];
  for (const name of record.keys()) {
    if (name.startsWith("flow.")) {
      if (name.startsWith("client", 5) || name.startsWith("server", 5)) found.push(name);
      continue;
    }
    const dot = name.indexOf(".");
    if (groups.has(dot < 0 ? name : name.slice(0, dot))) found.push(name);
  }
  return found;
}

/** Options for what is said of the two ends of a flow together. */
export interface FlowEndsOptions {
  /** Undefined: source and destination have no other names. */
  readonly clientServer?:
    | {
        /** Ports of services by the number of the protocol. */
        readonly services: ReadonlyMap<number, Pick<ReadonlyMap<number, unknown>, "has" | "keys">>;
        readonly withoutPorts: boolean;
      }
    | undefined;
  /** Undefined: conversations and sessions have no identifiers. */
  readonly ids?: { readonly seed: number } | undefined;
  readonly joins: ReadonlySet<JoinedField>;
}

/** Fields of source and destination again under longer names, and their values in joined fields. */
const mostGrowth = 3;
const protocols = [6, 17, 132];
const portBytes = 8192;

/** Tells the kernel what is said of both ends, and completes the lines that it leaves unenriched. */
export class FlowEnds {
  /** The factor by which a line may become longer by it. */
  readonly growth: number;
  readonly #view: DataView;
  readonly #joins: ReadonlySet<JoinedField>;

  /** @param options undefined: nothing is said of both together. @param workspace of the kernel. */
  constructor(options: FlowEndsOptions | undefined, { view }: Pick<Workspace, "view">) {
    this.#view = view;
    this.#joins = options?.joins ?? new Set();
    this.growth = options?.clientServer === undefined && this.#joins.size === 0 ? 1 : mostGrowth;
    writeOptions(view, options ?? { joins: this.#joins });
  }

  /** Says when the datagram was received whose records follow, in milliseconds since the epoch. */
  begin(receivedAt: number): void {
    this.#view.setUint32(layout.sketchTick, Math.floor(receivedAt / layout.tickMs) % 0x1_0000_0000, true);
  }

  /** Adds what follows from the fields of both ends, behind all others. */
  complete(record: RecordFields, rendered: RenderedFields[], client: Client | undefined): void {
    if (client === undefined && this.#joins.size === 0) return;
    rendered.push(completeEnds(record, rendered, client, this.#joins));
  }

  /** @returns the client of the line that the kernel wrote last. */
  clientOfLine(): Client | undefined {
    const role = this.#view.getUint32(layout.resultRole, true);
    return role === 0 ? undefined : role === layout.sourceIsClient ? "source" : "destination";
  }

  /** @returns how many flows each rule was for; `none`: flows between two addresses that no rule was for. */
  methods(): readonly (readonly [method: RoleMethod | "none", flows: number])[] {
    return (["none", ...roleMethods] as const).map((method, i) => [
      method,
      this.#view.getUint32(layout.methodCounts + 4 * i, true),
    ]);
  }
}

/** Writes the options where the kernel reads them. */
function writeOptions(view: DataView, { clientServer, ids, joins }: FlowEndsOptions): void {
  const flags =
    (clientServer === undefined ? 0 : layout.expandEnds) |
    (clientServer?.withoutPorts === true ? layout.withoutPorts : 0) |
    (ids === undefined ? 0 : layout.withIds);
  view.setUint8(layout.endsFlags, flags);
  const joined = joinedFields.map((name, i) => (joins.has(name) ? 1 << (i + 1) : 0));
  view.setUint8(
    layout.joinFlags,
    joined.reduce((sum, bit) => sum | bit, 0),
  );
  view.setUint32(layout.conversationSeed, ids?.seed ?? 0, true);
  protocols.forEach((protocol, i) => {
    for (const port of clientServer?.services.get(protocol)?.keys() ?? []) {
      if (port > 0xffff) continue;
      const at = layout.servicePorts + portBytes * i + (port >> 3);
      view.setUint8(at, view.getUint8(at) | (1 << (port & 7)));
    }
  });
}
