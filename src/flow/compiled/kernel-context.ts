import type { LineEnricher, RenderedFields, Workspace } from "../../record/index.ts";
import * as layout from "../kernel/layout.ts";

const slotNames: readonly (readonly [name: string, slot: number])[] = [
  ["flow.src.ip.addr", layout.sourceSlot],
  ["flow.dst.ip.addr", layout.destinationSlot],
  ["flow.src.l4.port.id", layout.sourcePortSlot],
  ["flow.dst.l4.port.id", layout.destinationPortSlot],
  ["l4.proto.id", layout.protocolSlot],
  ["icmp.type.id", layout.icmpTypeSlot],
  ["icmp.code.id", layout.icmpCodeSlot],
  ["flow.bytes", layout.octetsSlot],
  ["flow.packets", layout.packetsSlot],
  ["flow.src.as.asn", layout.sourceSystemSlot],
  ["flow.dst.as.asn", layout.destinationSystemSlot],
  ["ip.version.ver", layout.versionSlot],
  ["flow.src.vlan.tag.id", layout.sourceVlanSlot],
  ["flow.dst.vlan.tag.id", layout.destinationVlanSlot],
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
  readonly headLength: number;
  readonly exporterLength: number;
}

/** What the kernel is told beside its programs. */
export interface KernelContext {
  /** Where values are kept that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  set(context: SetContext): void;
  /** Says which additions to numbers there are, by their position. */
  setNumberTables(tables: readonly (ReadonlyMap<number, RenderedFields> | undefined)[]): void;
  /** Adds to `counts` how many records got something of each addition, since the last call. */
  takeNumbersAdded(counts: number[]): void;
}

/** Behind a line this much may be overwritten. */
const slack = 64;

/** @returns undefined where the enricher has more than the kernel does. */
export function createKernelContext(
  { view }: Workspace,
  { numbers, addresses }: LineEnricher,
  communityId: boolean,
): KernelContext | undefined {
  const slots = new Map(slotNames);
  let nextSlot: number = layout.firstFreeSlot;
  for (const { field, scope } of numbers) {
    for (const name of scope === undefined ? [field] : [field, scope]) {
      if (!slots.has(name)) slots.set(name, nextSlot++);
    }
  }
  const [table, ...others] = addresses;
  if (others.length > 0 || (table !== undefined && table.table === undefined)) return undefined;
  if (nextSlot > layout.maxSlots || numbers.length > layout.maxNumbers) return undefined;

  const block = (i: number): number => layout.numberBlocks + layout.numberBlock * i;
  numbers.forEach(({ field, scope, adds }, i) => {
    // Of several that add one name the first that has something counts.
    const before = numbers.reduce(
      (bits, other, j) => (j < i && other.adds === adds ? bits | (1n << BigInt(j)) : bits),
      0n,
    );
    view.setUint8(block(i) + layout.numberValueSlot, slots.get(field) as number);
    view.setUint8(
      block(i) + layout.numberScopeSlot,
      scope === undefined ? layout.noSlot : (slots.get(scope) as number),
    );
    view.setBigUint64(block(i) + layout.numberBefore, before, true);
  });
  view.setUint8(layout.numberCount, numbers.length);
  view.setUint8(layout.slotCount, nextSlot);
  view.setUint8(layout.hasCommunityId, communityId ? 1 : 0);
  view.setUint32(layout.addressControl, table?.table?.control ?? 0, true);

  return {
    slots,
    set({ exportTime, uptime, isHeaderUptime, rate, isRateOfRecord, hasNames, headLength, exporterLength }) {
      const isKnown = Number.isFinite(uptime);
      writeInteger(view, layout.exportTime, exportTime);
      writeInteger(view, layout.uptime, isKnown ? uptime : 0);
      view.setUint8(layout.uptimeIsKnown, isKnown ? 1 : 0);
      view.setUint8(layout.uptimeIsOfHeader, isHeaderUptime ? 1 : 0);
      view.setUint8(layout.rateIsOfRecord, isRateOfRecord ? 1 : 0);
      view.setUint8(layout.hasNames, hasNames ? 1 : 0);
      view.setFloat64(layout.rate, rate, true);
      view.setUint32(layout.headLength, headLength, true);
      view.setUint32(layout.exporterLength, exporterLength, true);
      view.setUint32(layout.extraRoom, headLength + exporterLength + slack, true);
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

/** A whole number of 64 bits with its sign, of which a double is exact. */
function writeInteger(view: DataView, at: number, value: number): void {
  view.setUint32(at, (value % 2 ** 32) | 0, true);
  view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
}
