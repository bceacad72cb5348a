import {
  type Value,
  type NumberTable,
  scopedNumber,
  readLine,
  type Enricher,
  type LineBuffer,
  type LineEnricher,
  type LineScopes,
  addressLayout,
  type RenderedFields,
  type Workspace,
  lineObjects,
} from "../../record/index.ts";
import { type CounterNames, plainCounters } from "../elements/mapping/element-names.ts";
import { copyText } from "./line-head.ts";
import type { KernelImports } from "../kernel/kernel.ts";
import { type RecordFilter, filterFields, filterProgram } from "./filter-program.ts";
import { parseAddress } from "../../base/ip/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { AppWriter, EstimateWriter, type FlowEnds, NameBits, RecordSlots } from "./flow-ends.ts";
import { optionNames, optionNumbers, sides } from "../exporters/options.ts";
import { rateInputs } from "../exporters/sampling.ts";

/** Longer additions to a number make a record go the other way. */
export const maxNumberAddition = 1024;

/** Copies what a number adds. Returns -1 when that is too long. */
function writeNumberAddition(out: Buffer, at: number, table: NumberTable, value: number): number {
  const bytes = Number.isSafeInteger(value) ? table.get(value) : undefined;
  if (bytes === undefined) return at;
  if (bytes.length > maxNumberAddition) return -1;
  // A loop over the bytes takes three times as long for the name and the description of an interface.
  out.set(bytes, at);
  return at + bytes.length;
}

const maxAddresses = 4096;
const nothing = new Uint8Array();
/** `exporterText` of the kernel, without what is copied behind a text. */
const maxExporterText = 10_240 - 64;

/** The fields that scopes follow from and that a record may bring itself, where others give them to a number. */
const scopeNames = new Set<string>(sides.flatMap(({ name, vrfName, vrfRd }) => [name, vrfName, vrfRd]));

/** The most numbers of exporters before all are forgotten, and of one exporter. */
const mostNumbers = 2 ** 16;
const mostDomains = 64;

/** What the names of an exporter's interfaces and VRFs follow from, so that it is known whether they are others. */
type NameOrigins = readonly unknown[];

/** Knows the exporters whose sides the kernel knows the scopes of, as numbers: with other names, or other scopes, an exporter gets another number. */
class ScopedExporters {
  readonly #view: DataView;
  readonly #scopes: () => LineScopes;
  readonly #numbers = new Map<string, { readonly number: number; readonly origins: NameOrigins }[]>();
  #serial = 0;
  #last = 0;

  constructor(view: DataView, scopes: () => LineScopes) {
    this.#view = view;
    this.#scopes = scopes;
  }

  /** Returns the number of an exporter; 0 where there are no scopes. */
  number(address: string, origins: NameOrigins): number {
    const serial = this.#scopes().serial();
    if (serial !== this.#serial || this.#last === mostNumbers) this.#forget(serial);
    if (serial === 0) return 0;
    const known = this.#numbers.get(address) ?? [];
    const found = known.find(
      (one) => one.origins.length === origins.length && one.origins.every((of, i) => of === origins[i]),
    );
    if (found !== undefined) return found.number;
    const number = ++this.#last;
    // A domain may have names of its own; what is behind these is older.
    this.#numbers.set(address, [{ number, origins }, ...known.slice(0, mostDomains - 1)]);
    return number;
  }

  #forget(serial: number): void {
    this.#serial = serial;
    this.#last = 0;
    this.#numbers.clear();
    const cells = layout.scopeCell * layout.scopeCells;
    new Uint8Array(this.#view.buffer, this.#view.byteOffset + layout.scopeTable, cells).fill(0);
  }
}

/** Holds what an enricher adds for the exporter, to every line of a datagram. */
class ExporterAdditions {
  /** By the position of the address additions. */
  readonly texts: { text: DataView; length: number }[];
  /** By the position of the number additions: the table for the exporter, and how many records got something of it. */
  readonly numberTables: (NumberTable | undefined)[];
  readonly numbersAdded: number[];
  /** Tables of those names that scopes may follow from. */
  readonly scopeOrigins: (NumberTable | undefined)[] = [];
  readonly #enricher: LineEnricher;
  /** Tells of each of the number additions whether scopes may follow from it. */
  readonly #namesSides: readonly boolean[];
  readonly #known = new Map<string, DataView>();

  constructor(enricher: LineEnricher) {
    this.#enricher = enricher;
    this.texts = enricher.addresses.map(({ maxLength }) => ({
      text: new DataView(new ArrayBuffer(maxLength + 16)),
      length: 0,
    }));
    this.numberTables = enricher.numbers.map(() => undefined);
    this.numbersAdded = enricher.numbers.map(() => 0);
    this.#namesSides = enricher.numbers.map(({ adds }) => adds.some((name) => scopeNames.has(name)));
  }

  /**
   * Begins a datagram.
   *
   * @param exporter its address as records have it.
   * @returns whether its lines can be written without fields.
   */
  use(exporter: string): boolean {
    const { addresses, numbers } = this.#enricher;
    const bytes = this.#bytesOf(exporter);
    if (bytes === undefined || this.#enricher.needsFields?.(exporter) === true) return false;
    this.#enricher.begin();
    for (let i = 0; i < addresses.length; i++) {
      const place = this.texts[i] as (typeof this.texts)[number];
      const own = addresses[i]?.scopes?.();
      const scope = own === undefined || own.serial() === 0 ? 0 : scopeOfExporter(own, exporter);
      const end = addresses[i]?.append(lineObjects.export | (scope << objectBits), bytes, place.text) ?? -1;
      if (end < 0) return false;
      place.length = end;
    }
    const [first] = this.texts;
    // Nothing follows from the text where nothing is added to it.
    const isAsked = this.#enricher.exporter !== undefined;
    const text = isAsked && first !== undefined ? new Uint8Array(first.text.buffer, 0, first.length) : nothing;
    this.scopeOrigins.length = 0;
    for (let i = 0; i < numbers.length; i++) {
      const table = numbers[i]?.tableFor(exporter, text);
      this.numberTables[i] = table;
      if (this.#namesSides[i] === true) this.scopeOrigins.push(table);
    }
    return !isAsked || this.#addToExporter(exporter, text);
  }

  /** Adds what follows from what is known of the exporter. */
  #addToExporter(exporter: string, text: Uint8Array): boolean {
    const { exporter: additions } = this.#enricher;
    if (additions === undefined) return true;
    const more = additions(exporter, text);
    const [place] = this.texts;
    if (more?.length === 0) return true;
    if (more === undefined || place === undefined || place.length + more.length > maxExporterText) return false;
    if (place.text.byteLength < place.length + more.length + 16) {
      const larger = new Uint8Array(place.length + more.length + 16);
      larger.set(text);
      place.text = new DataView(larger.buffer);
    }
    new Uint8Array(place.text.buffer).set(more, place.length);
    place.length += more.length;
    return true;
  }

  /** @returns the bytes of all texts. */
  length(): number {
    let sum = 0;
    for (let i = 0; i < this.texts.length; i++) sum += (this.texts[i] as (typeof this.texts)[number]).length;
    return sum;
  }

  /** Reports to the enricher what it gave since the last call. */
  done(): void {
    const { numbers } = this.#enricher;
    for (let i = 0; i < numbers.length; i++) {
      const added = this.numbersAdded[i] as number;
      if (added === 0) continue;
      numbers[i]?.added(added);
      this.numbersAdded[i] = 0;
    }
  }

  #bytesOf(text: string): DataView | undefined {
    const before = this.#known.get(text);
    if (before !== undefined) return before;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const length = address.family === 4 ? 4 : 16;
    const bytes = Uint8Array.from(Buffer.from(address.value.toString(16).padStart(2 * length, "0"), "hex"));
    const view = new DataView(bytes.buffer);
    if (this.#known.size >= maxAddresses) this.#known.clear();
    this.#known.set(text, view);
    return view;
  }
}

const { objectBits } = addressLayout;
const exporterName = "flow.export.ip.addr";

function scopeOfExporter(scopes: LineScopes, exporter: string): number {
  return scopes.of(lineObjects.export, (name) => (name === exporterName ? exporter : undefined));
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

/** The context of the records of a set. */
interface SetContext {
  /** Milliseconds since the epoch. */
  readonly exportTime: number;
  /** Milliseconds; NaN when it is not known. */
  readonly uptime: number;
  /** True if that is from the header, which no field of a record changes. */
  readonly isHeaderUptime: boolean;
  /** One of how many packets was looked at; -1 when that is not known. */
  readonly rate: number;
  /** True if instead each record has its own. */
  readonly isRateOfRecord: boolean;
  /** True if options gave names to numbers in the records. */
  readonly hasNames: boolean;
  /** What these names follow from; another object or number after a change. */
  readonly nameOrigins: NameOrigins;
  readonly headLength: number;
}

const noScopes: LineScopes = { serial: () => 0, of: () => 0 };

/** Behind a line this much may be overwritten. */
export const lineSlack = 64;

/** An enricher of which the kernel does nothing: what it adds is added to the fields of the line. */
const noEnricher: LineEnricher = { begin() {}, numbers: [], addresses: [], needsFields: () => true };

/** Tells whether the kernel can do what an enricher adds: one table of addresses, one of applications, and not too many numbers. */
function canEnrich({ numbers, apps = [], addresses }: LineEnricher): boolean {
  return (
    apps.length <= 1 &&
    addresses.length <= 1 &&
    slotsOf(numbers, plainCounters).size < layout.maxSlots &&
    nameBitsOf(numbers).size <= layout.maxNumbers &&
    numbers.length <= layout.maxNumbers
  );
}

/** The parts that the lines of a pipeline are made with. */
export interface LineParts {
  readonly lines: LineBuffer;
  readonly enricher: Enricher;
  readonly workspace: Workspace;
  readonly communityId: boolean;
  /** Undefined: all records are wanted. */
  readonly filter: RecordFilter | undefined;
  readonly ends: FlowEnds;
  readonly counters: CounterNames;
}

/** Holds what a kernel knows besides its programs: with each exporter, with each set. */
export class KernelContext {
  /** The part of the enricher that the kernel does: all of it, or nothing. */
  readonly enricher: LineEnricher;
  /** The slots of values that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  /** The bit of each name that is added only where a record has none of it. */
  readonly nameBits: NameBits;
  readonly values: RecordSlots;
  /** True if additions to the lines of the exporter at hand are made otherwise. */
  #isUnenriched = false;
  readonly #parts: LineParts;
  readonly #view: DataView;
  readonly #exporter: ExporterAdditions;
  readonly #scopes: () => LineScopes;
  readonly #scoped: ScopedExporters;
  #address = "";
  readonly #apps: AppWriter;
  readonly #estimates: EstimateWriter;
  readonly #rendered: RenderedFields[] = [];

  constructor(parts: LineParts) {
    const { workspace, filter, counters } = parts;
    const { lines } = parts.enricher;
    this.#parts = parts;
    this.#view = workspace.view;
    this.enricher = lines !== undefined && canEnrich(lines) ? lines : noEnricher;
    const { numbers } = this.enricher;
    const filtered = filter === undefined ? [] : filterFields(filter.filter);
    this.slots = slotsOf(numbers, counters, filtered);
    this.nameBits = nameBitsOf(numbers);
    this.values = new RecordSlots(workspace, this.slots, this.nameBits);
    this.#exporter = new ExporterAdditions(this.enricher);
    this.#scopes = this.enricher.addresses[0]?.scopes ?? (() => noScopes);
    this.#scoped = new ScopedExporters(this.#view, this.#scopes);
    this.#apps = new AppWriter(workspace, this.enricher, this.values);
    this.#estimates = new EstimateWriter(counters);
    this.#writeNumbers();
    this.#writeFilter(filtered);
  }

  /** Returns the functions that the kernel calls for enrichment, the filter, and counters beyond what it reckons. */
  imports(
    counted: readonly number[],
  ): Pick<
    KernelImports,
    "addApp" | "addNumber" | "chooseScope" | "judgeLine" | "locate" | "locateAll" | "writeEstimates"
  > {
    const { filter, workspace } = this.#parts;
    const { numbers, addresses } = this.enricher;
    const { numberTables } = this.#exporter;
    const { bytes: memory, view } = workspace;
    const { values } = this;
    const hasWhole = numbers.some(({ isWhole }) => isWhole === true);
    const apps = this.#apps;
    return {
      addApp: (at, source, sourceLength, sourcePort, destination, destinationLength, destinationPort) =>
        apps.write(at, source, sourceLength, sourcePort, destination, destinationLength, destinationPort),
      addNumber(index, at, value, scope) {
        const table = numberTables[index];
        if (table === undefined) return at;
        if (hasWhole && table.unless !== undefined && values.isAnyTaken(table.unless)) return -1;
        const isScoped = numbers[index]?.scope !== undefined;
        return writeNumberAddition(memory, at, table, isScoped ? scopedNumber(scope, value) : value);
      },
      chooseScope: (object, fieldsAt, end) => {
        const written = fieldsAt < end ? memory.toString("utf8", fieldsAt + 1, end) : "";
        // The place of a Community ID is left free until a batch of them is computed.
        const text = written.replaceAll("\0", "");
        const fields = JSON.parse(`{${text}}`) as Readonly<Record<string, Value>>;
        return this.#scopes().of(object, (name) => (name === exporterName ? this.#address : fields[name]));
      },
      judgeLine: (start, end) => (filter?.matches(memory, start, end) === false ? 0 : 1),
      locate: addresses[0]?.locate ?? (() => 0),
      locateAll: addresses[0]?.locateAll ?? (() => 0),
      writeEstimates: (at, rate) =>
        this.#estimates.write(
          view,
          at,
          rate,
          counted.map((slot) => this.values.counter(slot)),
        ),
    };
  }

  /** Begins the lines of an exporter. @param address as records have it. */
  begin(address: string): void {
    this.#address = address;
    this.#isUnenriched = !this.#exporter.use(address);
    const { numberTables } = this.#exporter;
    for (let i = 0; i < numberTables.length; i++) {
      this.#view.setUint8(blockOf(i) + layout.numberIsOn, numberTables[i] === undefined ? 0 : 1);
    }
    this.#apps.begin();
    const [text] = this.#exporter.texts;
    if (text !== undefined && !this.#isUnenriched) copyText(this.#view, layout.exporterText, text.text, 0, text.length);
  }

  /** Bytes of what the address of the exporter adds at most, whether the kernel adds it or not. */
  exporterLength(): number {
    return this.#exporter.length();
  }

  /** Says what holds for the records of a set. */
  set(of: SetContext): void {
    const view = this.#view;
    const isKnown = Number.isFinite(of.uptime);
    const exporterLength = this.#isUnenriched ? 0 : this.#exporter.length();
    writeInteger(view, layout.exportTime, of.exportTime);
    writeInteger(view, layout.uptime, isKnown ? of.uptime : 0);
    view.setUint8(layout.uptimeIsKnown, isKnown ? 1 : 0);
    view.setUint8(layout.uptimeIsOfHeader, of.isHeaderUptime ? 1 : 0);
    view.setUint8(layout.rateIsOfRecord, of.isRateOfRecord ? 1 : 0);
    view.setUint8(layout.hasNames, of.hasNames ? 1 : 0);
    const hasScopes = this.#scopes().serial() !== 0;
    const origins = hasScopes ? [...of.nameOrigins, ...this.#exporter.scopeOrigins] : of.nameOrigins;
    view.setUint32(layout.scopeExporter, hasScopes ? this.#scoped.number(this.#address, origins) : 0, true);
    view.setUint8(layout.isUnenriched, this.#isUnenriched ? 1 : 0);
    view.setFloat64(layout.rate, of.rate, true);
    view.setUint32(layout.headLength, of.headLength, true);
    view.setUint32(layout.exporterLength, exporterLength, true);
    view.setUint32(layout.extraRoom, of.headLength + exporterLength + lineSlack, true);
  }

  /** Completes a line that the kernel left without additions. @param start where it begins in the workspace. */
  complete(start: number): void {
    const { workspace, enricher, ends, lines } = this.#parts;
    const rendered = this.#rendered;
    const fields = readLine(workspace.bytes, start, this.#view.getUint32(layout.resultRest, true));
    rendered.length = 0;
    enricher.enrich(fields, rendered);
    ends.complete(fields, rendered, ends.clientOfLine());
    lines.append(fields, rendered);
  }

  /** Returns how many records the filter dropped since the last call, and counts them. */
  takeFiltered(): number {
    const { filter } = this.#parts;
    const dropped = this.#view.getUint32(layout.filterDropped, true);
    if (filter === undefined || dropped === 0) return 0;
    this.#view.setUint32(layout.filterDropped, 0, true);
    filter.dropped += dropped;
    return dropped;
  }

  /** Reports to the enricher what it gave since the last call. */
  done(): void {
    const { numbersAdded } = this.#exporter;
    for (let i = 0; i < numbersAdded.length; i++) {
      const at = blockOf(i) + layout.numberAdded;
      numbersAdded[i] = (numbersAdded[i] as number) + this.#view.getUint32(at, true);
      this.#view.setUint32(at, 0, true);
    }
    this.#apps.done();
    this.#exporter.done();
  }

  #writeNumbers(): void {
    const view = this.#view;
    const { numbers, addresses } = this.enricher;
    const slotOf = (name: string | undefined, none: number): number => this.slots.get(name ?? "") ?? none;
    numbers.forEach(({ field, scope, adds }, i) => {
      view.setUint8(blockOf(i) + layout.numberValueSlot, slotOf(field, layout.noSlot));
      view.setUint8(blockOf(i) + layout.numberScopeSlot, slotOf(scope, layout.noSlot));
      const bits = adds.reduce((sum, name) => sum | (1n << BigInt(this.nameBits.get(name) as number)), 0n);
      view.setBigUint64(blockOf(i) + layout.numberName, bits, true);
    });
    view.setUint8(layout.numberCount, numbers.length);
    view.setUint8(layout.slotCount, this.slots.size + 1);
    view.setUint8(layout.seenDirectionSlot, slotOf("flow.direction.name", layout.unusedSlot));
    view.setUint8(layout.trafficInSlot, slotOf("flow.in.netif.index", layout.unusedSlot));
    view.setUint8(layout.trafficOutSlot, slotOf("flow.out.netif.index", layout.unusedSlot));
    view.setUint8(layout.vrfInSlot, slotOf("flow.in.vrf.id", layout.unusedSlot));
    view.setUint8(layout.vrfOutSlot, slotOf("flow.out.vrf.id", layout.unusedSlot));
    const named = [...scopeNames].reduce((bits, name) => bits | (1n << BigInt(this.nameBits.get(name) ?? 64)), 0n);
    view.setBigUint64(layout.scopeNames, BigInt.asUintN(64, named), true);
    view.setUint8(layout.hasCommunityId, this.#parts.communityId ? 1 : 0);
    view.setUint32(layout.addressControl, addresses[0]?.control ?? 0, true);
  }

  #writeFilter(filtered: readonly string[]): void {
    const { filter, workspace, counters } = this.#parts;
    if (filter === undefined) return;
    const { bytes, start } = filterProgram(filter.filter, this.slots);
    workspace.bytes.set(bytes, layout.filterProgram);
    this.#view.setUint32(layout.filterStart, start, true);
    const estimates = [counters.bytes.estimate, counters.packets.estimate];
    this.#view.setUint8(layout.filterTakesEstimates, estimates.some((name) => filtered.includes(name)) ? 1 : 0);
  }
}

/** The offset of what is said of an addition to numbers. */
function blockOf(i: number): number {
  return layout.numberBlocks + layout.numberBlock * i;
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
  return new NameBits(new Set([...optionNames, ...numbers.flatMap(({ adds }) => adds)]));
}

/** A whole number of 64 bits with its sign, of which a double is exact. */
function writeInteger(view: DataView, at: number, value: number): void {
  view.setUint32(at, (value % 2 ** 32) | 0, true);
  view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
}
