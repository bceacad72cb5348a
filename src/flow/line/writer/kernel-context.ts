import type { LineEnricher, NumberTable, Workspace } from "../../../record/index.ts";
import { plainCounters, type CounterNames } from "../../elements/mapping/counter-names.ts";
import * as layout from "../../kernel/layout.ts";
import { filterFields, filterProgram } from "../program/filter-program.ts";
import { createNameBits, type NameBits } from "../program/name-bits.ts";
import type { RecordFilter } from "./record-filter.ts";
import { optionNames, optionNumbers } from "../../exporters/options/name-table.ts";
import { rateInputs } from "../../exporters/sampling/flow-rate.ts";

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
export interface SetContext {
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
export interface KernelContext {
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
export const bareEnricher: LineEnricher = { begin() {}, numbers: [], addresses: [], needsFields: () => true };

/** Whether the kernel can do what an enricher adds: one table of addresses, one of applications, and not too many numbers. */
export function canEnrich({ numbers, apps = [], addresses }: LineEnricher): boolean {
  return (
    apps.length <= 1 &&
    addresses.length <= 1 &&
    addresses.every(({ table }) => table !== undefined) &&
    slotsOf(numbers, plainCounters).size < layout.maxSlots &&
    nameBitsOf(numbers).size <= layout.maxNumbers &&
    numbers.length <= layout.maxNumbers
  );
}

/** @param enricher one that {@link canEnrich}. */
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
  view.setUint32(layout.addressControl, table?.table?.control ?? 0, true);

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
