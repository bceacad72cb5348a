import {
  type Value,
  type NumberTable,
  scopedNumber,
  type Enricher,
  type LineEnricher,
  type Workspace,
  lineObjects,
} from "../../record/index.ts";
import { eachCounter, type CounterNames, plainCounters } from "../elements/mapping/counter-names.ts";
import { nameText, putText, writeAscii, writeSafeInteger } from "./line-head.ts";
import type { KernelImports } from "../kernel/kernel.ts";
import { type RecordFilter, filterFields, filterProgram } from "./filter-program.ts";
import { parseAddress } from "../../base/ip/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { createNameBits, type NameBits } from "./record-slots.ts";
import { optionNames, optionNumbers } from "../exporters/options.ts";
import { rateInputs } from "../exporters/sampling.ts";

const rateName = nameText("flow.sample_rate");
const overflowText = nameText("flow.sampling.overflow", "true");
const assumedText = nameText("flow.sampling.assumed", "true");

/**
 * Writes the rate and the estimates of the counters by it. A rate that is not known counts as 1, and a field says so.
 *
 * @param counters bytes and packets, then those of the reverse direction of a biflow.
 */
type WriteEstimates = (
  out: DataView,
  at: number,
  rate: number | undefined,
  ...counters: readonly (number | bigint | undefined)[]
) => number;

export function createWriteEstimates(names: CounterNames): WriteEstimates {
  const estimateNames = eachCounter(names).map(({ estimate }) => nameText(estimate));
  return (out, at, rate, ...counters) => {
    const by = rate ?? 1;
    let end = putText(out, at, rateName);
    end = Number.isSafeInteger(by) ? writeSafeInteger(out, end, by) : writeAscii(out, end, String(by));
    let isCut = false;
    for (let i = 0; i < counters.length; i++) {
      const counter = counters[i];
      const scaled = counter === undefined ? undefined : scaleCounter(counter, by);
      if (scaled === undefined) continue;
      end = putText(out, end, estimateNames[i] as (typeof estimateNames)[number]);
      end =
        typeof scaled === "number" && scaled >= 0
          ? writeSafeInteger(out, end, scaled)
          : writeAscii(out, end, `${cutEstimate(scaled)}`);
      isCut ||= scaled > largestEstimate;
    }
    if (isCut) end = putText(out, end, overflowText);
    return rate === undefined ? putText(out, end, assumedText) : end;
  };
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

/** Longer additions to a number make a record go the other way. */
export const maxNumberAddition = 1024;

/** Copies what a number adds. Returns -1 when that is too long. */
function writeNumberAddition(out: DataView, at: number, table: NumberTable, value: number): number {
  const bytes = Number.isSafeInteger(value) ? table.get(value) : undefined;
  if (bytes === undefined) return at;
  if (bytes.length > maxNumberAddition) return -1;
  for (let i = 0; i < bytes.length; i++) out.setUint8(at + i, bytes[i] as number);
  return at + bytes.length;
}

/**
 * What every kernel asks of enrichment and of the filter.
 *
 * @param numberTables those of the exporter at hand; filled before its records are written.
 */
export function enrichmentImports(
  { bytes: memory, view }: Workspace,
  enricher: LineEnricher,
  numberTables: ExporterAdditions["numberTables"],
  filter: RecordFilter | undefined,
): Pick<KernelImports, "addNumber" | "judgeLine" | "locate" | "locateAll"> {
  return {
    addNumber(index, at, value, scope) {
      const table = numberTables[index];
      if (table === undefined) return at;
      const isScoped = enricher.numbers[index]?.scope !== undefined;
      return writeNumberAddition(view, at, table, isScoped ? scopedNumber(scope, value) : value);
    },
    judgeLine: (start, end) => (filter?.matches(memory, start, end) === false ? 0 : 1),
    locate: enricher.addresses[0]?.locate ?? (() => 0),
    locateAll: enricher.addresses[0]?.locateAll ?? (() => 0),
  };
}

/** What an enricher adds for the exporter, to every line of a datagram. */
interface ExporterAdditions {
  /** By the position of the address additions. */
  readonly texts: { readonly text: DataView; length: number }[];
  /** By the position of the number additions: the table for the exporter, and how many records got something of it. */
  readonly numberTables: (NumberTable | undefined)[];
  readonly numbersAdded: number[];
  /**
   * Begins a datagram.
   *
   * @param exporter its address as records have it.
   * @returns whether its lines can be written without fields.
   */
  use(exporter: string): boolean;
  /** Bytes of all texts. */
  length(): number;
  /** Reports to the enricher what it gave since the last call. */
  done(): void;
}

const maxAddresses = 4096;

export function createExporterAdditions(enricher: LineEnricher): ExporterAdditions {
  const { addresses, numbers } = enricher;
  const texts = addresses.map((additions) => ({
    text: new DataView(new ArrayBuffer(additions.maxLength + 16)),
    length: 0,
  }));
  const numberTables: ExporterAdditions["numberTables"] = numbers.map(() => undefined);
  const numbersAdded = numbers.map(() => 0);
  const known = new Map<string, DataView>();

  const bytesOf = (text: string): DataView | undefined => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const length = address.family === 4 ? 4 : 16;
    const bytes = Uint8Array.from(Buffer.from(address.value.toString(16).padStart(2 * length, "0"), "hex"));
    const view = new DataView(bytes.buffer);
    if (known.size >= maxAddresses) known.clear();
    known.set(text, view);
    return view;
  };

  return {
    texts,
    numberTables,
    numbersAdded,
    use(exporter) {
      const bytes = bytesOf(exporter);
      if (bytes === undefined || enricher.needsFields?.(exporter) === true) return false;
      enricher.begin();
      for (let i = 0; i < addresses.length; i++) {
        const place = texts[i] as (typeof texts)[number];
        const end = addresses[i]?.append(lineObjects.export, bytes, place.text) ?? -1;
        if (end < 0) return false;
        place.length = end;
      }
      for (let i = 0; i < numbers.length; i++) numberTables[i] = numbers[i]?.tableFor(exporter);
      return true;
    },
    length() {
      let sum = 0;
      for (let i = 0; i < texts.length; i++) sum += (texts[i] as (typeof texts)[number]).length;
      return sum;
    },
    done() {
      for (let i = 0; i < numbers.length; i++) {
        const added = numbersAdded[i] as number;
        if (added === 0) continue;
        numbers[i]?.added(added);
        numbersAdded[i] = 0;
      }
    },
  };
}

const slotNames: readonly (readonly [name: string, slot: number])[] = [
  ["flow.src.ip.addr", layout.sourceSlot],
  ["flow.dst.ip.addr", layout.destinationSlot],
  ["flow.src.l4.port.id", layout.sourcePortSlot],
  ["flow.dst.l4.port.id", layout.destinationPortSlot],
  ["l4.proto.id", layout.protocolSlot],
  ["icmp.type.id", layout.icmpTypeSlot],
  ["icmp.code.id", layout.icmpCodeSlot],
  ["flow.src.as.asn", layout.sourceAsSlot],
  ["flow.dst.as.asn", layout.destinationAsSlot],
  ["ip.version.ver", layout.versionSlot],
  ["flow.src.vlan.tag.id", layout.sourceVlanSlot],
  ["flow.dst.vlan.tag.id", layout.destinationVlanSlot],
  ["tcp.flags.bits", layout.tcpFlagsSlot],
  ["flow.biflow.direction.id", layout.biflowDirectionSlot],
  ["flow.firewall.event.id", layout.firewallEventSlot],
  ["flow.nat.event.id", layout.natEventSlot],
];

const counterSlots = (counters: CounterNames): typeof slotNames => [
  [counters.bytes.exported, layout.octetsSlot],
  [counters.packets.exported, layout.packetsSlot],
  [counters.reverseBytes.exported, layout.reverseOctetsSlot],
  [counters.reversePackets.exported, layout.reversePacketsSlot],
  [counters.bytes.estimate, layout.scaledOctetsSlot],
  [counters.packets.estimate, layout.scaledPacketsSlot],
];

/** What holds for the records of a set. */
interface SetContext {
  /** Milliseconds since the epoch. */
  readonly exportTime: number;
  /** Milliseconds; NaN when it is not known. */
  readonly uptime: number;
  /** Whether that is from the header, which no field of a record changes. */
  readonly isHeaderUptime: boolean;
  /** One of how many packets was looked at; -1 when that is not known. */
  readonly rate: number;
  /** Whether instead each record has its own. */
  readonly isRateOfRecord: boolean;
  /** Whether options gave names to numbers in the records. */
  readonly hasNames: boolean;
  /** Whether additions are made otherwise. */
  readonly isBare: boolean;
  readonly headLength: number;
  readonly exporterLength: number;
}

/** What the kernel knows besides its programs. */
interface KernelContext {
  /** Where values are kept that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  /** The bit of each name that is added only where a record has none of it. */
  readonly nameBits: NameBits;
  set(context: SetContext): void;
  /** How many records the filter dropped since the last call; they are counted. */
  takeFiltered(): number;
  /** Says which additions to numbers there are, by their position. */
  setNumberTables(tables: readonly (NumberTable | undefined)[]): void;
  /** Adds to `counts` how many records got something of each addition, since the last call. */
  takeNumbersAdded(counts: number[]): void;
}

/** Behind a line this much may be overwritten. */
const slack = 64;

/** An enricher of which the kernel does nothing: what it adds is added to the fields of the line. */
const bareEnricher: LineEnricher = { begin() {}, numbers: [], addresses: [], needsFields: () => true };

/** Whether the kernel can do what an enricher adds: one table of addresses, one of applications, and not too many numbers. */
function canEnrich({ numbers, apps = [], addresses }: LineEnricher): boolean {
  return (
    apps.length <= 1 &&
    addresses.length <= 1 &&
    slotsOf(numbers, plainCounters).size < layout.maxSlots &&
    nameBitsOf(numbers).size <= layout.maxNumbers &&
    numbers.length <= layout.maxNumbers
  );
}

/** Returns what the kernel is to do of an enricher: all of it, or nothing. */
export function kernelEnricher({ lines }: Enricher): LineEnricher {
  return lines !== undefined && canEnrich(lines) ? lines : bareEnricher;
}

/** @param enricher of {@link kernelEnricher}. */
export function createKernelContext(
  { view, bytes: memory }: Workspace,
  { numbers, addresses }: LineEnricher,
  communityId: boolean,
  filter: RecordFilter | undefined,
  counters: CounterNames,
): KernelContext {
  const filtered = filter === undefined ? [] : filterFields(filter.filter);
  const slots = slotsOf(numbers, counters, filtered);
  const nameBits = nameBitsOf(numbers);
  const [table] = addresses;

  const block = (i: number): number => layout.numberBlocks + layout.numberBlock * i;
  numbers.forEach(({ field, scope, adds }, i) => {
    view.setUint8(block(i) + layout.numberValueSlot, slots.get(field) as number);
    view.setUint8(
      block(i) + layout.numberScopeSlot,
      scope === undefined ? layout.noSlot : (slots.get(scope) as number),
    );
    view.setBigUint64(block(i) + layout.numberName, 1n << BigInt(nameBits.get(adds) as number), true);
  });
  view.setUint8(layout.numberCount, numbers.length);
  view.setUint8(layout.slotCount, slots.size + 1);
  view.setUint8(layout.seenDirectionSlot, slots.get("flow.direction.name") ?? layout.unusedSlot);
  view.setUint8(layout.trafficInSlot, slots.get("flow.in.netif.index") ?? layout.unusedSlot);
  view.setUint8(layout.trafficOutSlot, slots.get("flow.out.netif.index") ?? layout.unusedSlot);
  view.setUint8(layout.hasCommunityId, communityId ? 1 : 0);
  view.setUint32(layout.addressControl, table?.control ?? 0, true);

  if (filter !== undefined) {
    const { bytes, start } = filterProgram(filter.filter, slots);
    memory.set(bytes, layout.filterProgram);
    view.setUint32(layout.filterStart, start, true);
    const estimates = [counters.bytes.estimate, counters.packets.estimate];
    view.setUint8(layout.filterTakesEstimates, estimates.some((name) => filtered.includes(name)) ? 1 : 0);
  }

  return {
    slots,
    nameBits,
    takeFiltered() {
      const dropped = view.getUint32(layout.filterDropped, true);
      if (filter === undefined || dropped === 0) return 0;
      view.setUint32(layout.filterDropped, 0, true);
      filter.dropped += dropped;
      return dropped;
    },
    set(of) {
      const isKnown = Number.isFinite(of.uptime);
      writeInteger(view, layout.exportTime, of.exportTime);
      writeInteger(view, layout.uptime, isKnown ? of.uptime : 0);
      view.setUint8(layout.uptimeIsKnown, isKnown ? 1 : 0);
      view.setUint8(layout.uptimeIsOfHeader, of.isHeaderUptime ? 1 : 0);
      view.setUint8(layout.rateIsOfRecord, of.isRateOfRecord ? 1 : 0);
      view.setUint8(layout.hasNames, of.hasNames ? 1 : 0);
      view.setUint8(layout.isBare, of.isBare ? 1 : 0);
      view.setFloat64(layout.rate, of.rate, true);
      view.setUint32(layout.headLength, of.headLength, true);
      view.setUint32(layout.exporterLength, of.exporterLength, true);
      view.setUint32(layout.extraRoom, of.headLength + of.exporterLength + slack, true);
    },
    setNumberTables(tables) {
      for (let i = 0; i < numbers.length; i++) {
        view.setUint8(block(i) + layout.numberIsOn, tables[i] === undefined ? 0 : 1);
      }
    },
    takeNumbersAdded(counts) {
      for (let i = 0; i < numbers.length; i++) {
        const at = block(i) + layout.numberAdded;
        counts[i] = (counts[i] as number) + view.getUint32(at, true);
        view.setUint32(at, 0, true);
      }
    },
  };
}

/** @param wanted further names that may have a slot, as far as there are some left. */
function slotsOf(
  numbers: LineEnricher["numbers"],
  counters: CounterNames,
  wanted: readonly string[] = [],
): ReadonlyMap<string, number> {
  const slots = new Map([...slotNames, ...counterSlots(counters)]);
  const watched = numbers.flatMap(({ field, scope }) => (scope === undefined ? [field] : [field, scope]));
  for (const name of [...watched, ...rateInputs, ...optionNumbers]) {
    if (!slots.has(name)) slots.set(name, slots.size + 1);
  }
  for (const name of wanted) if (!slots.has(name) && slots.size + 1 < layout.maxSlots) slots.set(name, slots.size + 1);
  return slots;
}

function nameBitsOf(numbers: LineEnricher["numbers"]): NameBits {
  return createNameBits(new Set([...optionNames, ...numbers.map(({ adds }) => adds)]));
}

/** A whole number of 64 bits with its sign, of which a double is exact. */
function writeInteger(view: DataView, at: number, value: number): void {
  view.setUint32(at, (value % 2 ** 32) | 0, true);
  view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
}
