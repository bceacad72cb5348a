import { renderFields, type RecordFields, type Workspace, type LineEnricher } from "../../record/index.ts";
import type { FieldSource, Convert } from "../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { type Step, type Plan, type Output, variableLength } from "../exporters/plan.ts";
import { readStep } from "../wire/records/decoder.ts";
import { textTable, type TextTable } from "./line-head.ts";
import * as layout from "../kernel/layout.gen.ts";
import type { Direction } from "./biflow.ts";
import type { LineHelper } from "./write-field.ts";
import { type KernelContext, maxNumberAddition } from "./kernel-context.ts";
import { ProgramWriter } from "../kernel/program-writer.ts";
import { maxNamesLength } from "./option-names.ts";
import { type StepContext, writeSteps } from "./write-steps.ts";

/** The results of steps for one byte, at the offset where the kernel finds them. */
export interface PlacedTable {
  readonly place: number;
  readonly maxLength: number;
}

/** Renders what several steps make of each value of one byte. They read one field of that byte, and nothing else. */
function byteTexts(steps: readonly Step[], times: TimeFormat): TextTable {
  const bytes = Buffer.alloc(1);
  const source: FieldSource = {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, 1),
    clock: { exportTime: 0, uptime: undefined },
    times,
    bootTime: undefined,
  };
  const fields = 1 + Math.max(...steps.map(({ outputs }) => outputs[0].field));
  const places = { offsets: new Int32Array(fields), lengths: new Int32Array(fields).fill(1) };
  const texts = Array.from({ length: 256 }, (_, value) => {
    bytes[0] = value;
    const record: RecordFields = new Map();
    for (const step of steps) readStep(record, source, step, places);
    return renderFields([...record]);
  });
  return textTable(texts);
}

const alignment = 16;
/** The number of bytes that may be read behind the end of anything. */
const slack = 16;

/** The settings for programs of all plans. */
interface ProgramSettings extends Pick<KernelContext, "enricher" | "slots" | "nameBits"> {
  readonly byteTable: (steps: readonly Step[]) => PlacedTable;
  /** The factor by which a line may become longer by what follows from its ends; 1: nothing follows from them. */
  readonly growth: number;
}

/** More bytes than any number, address or time takes, with its quotes. */
const maxScalar = 64;
/** A byte of text becomes at most `\u00xx`. */
const maxPerByte = 6;
/** Type and code of ICMP by the destination port, and their names. */
const maxIcmp = 64 + 160;
/** The IP version and its name, VLANs, whether a session was established, which rule found the client, identifiers. */
const maxDerived = 512;
/** `,"flow.community.id":"1:`, a digest of 28 characters, a quote. */
const communityIdLength = 24 + 28 + 1;
/** The estimates of four counters, each of up to 20 digits, their rate, that it is assumed, and that one is cut. */
const maxEstimates = 448;
/** The most bytes that both ends of a flow add together, and labels of their systems. */
const maxFinish = 160;
/** A label in three lists. */
const maxLabel = 32;
const labelNames = 128;

/** The program and data that the kernel needs for all templates that have the same fields. */
export interface CompiledPlan {
  /** The helpers to which its operations leave work on the other side. */
  readonly helpers: readonly LineHelper[];
  /** No line is longer than the head and this many bytes, and so many more for each byte of the record, but for lists. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
  /** The offset of the program. */
  readonly program: number;
}

/** Makes the program for the records of a plan; of one that splits biflows, for both directions. */
function lineProgram(plan: Plan, settings: ProgramSettings): Omit<CompiledPlan, "program"> & { bytes: Buffer } {
  const isSplit = plan.slowSteps.some(({ kind }) => kind === "split");
  const directions: readonly Direction[] = isSplit ? ["forward", "reverse"] : ["whole"];
  const helpers: LineHelper[] = [];
  const places = placesOf(plan);
  let maxTables = 0;
  // Two directions keep different values.
  let isSteady = !isSplit;
  const parts = directions.map((direction) => {
    const writer = new ProgramWriter(settings.growth > 1);
    const helper = (each: LineHelper): number => helpers.push(each) - 1;
    const context: StepContext = { ...settings, plan, places, direction, writer, maxTables: 0, helper };
    writeSteps(context);
    writer.operation({ code: layout.opRest });
    maxTables = Math.max(maxTables, context.maxTables);
    isSteady &&= writer.isSteady;
    return writer.bytes();
  });
  const maxLength = settings.growth * (additionsOf(settings.enricher) + maxTables + boundOf(plan));
  const maxLengthPerByte = settings.growth * perByteOf(plan);
  const bytes = assemble(plan, places, parts, (head) => {
    head.writeUInt32LE(maxLength, layout.programMaxLength);
    head.writeUInt32LE(maxLengthPerByte, layout.programPerByte);
    if (isSteady) head.writeUInt16LE(head.readUInt16LE(layout.programFlags) | layout.isSteady, layout.programFlags);
  });
  return { bytes, helpers, maxLength, maxLengthPerByte };
}

/** Bytes that a line takes at most besides its fields. */
function additionsOf({ numbers, addresses, apps = [] }: LineEnricher): number {
  return (
    maxEstimates +
    maxIcmp +
    maxDerived +
    maxNamesLength +
    communityIdLength +
    numbers.length * maxNumberAddition +
    addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength + maxFinish, 0) +
    apps.reduce((sum, { maxLength }) => sum + maxLength, 0)
  );
}

/**
 * Puts the programs of both directions one behind the other, then the lengths of the fields.
 *
 * @param complete writes into the head of each what does not follow from the plan.
 */
function assemble(
  plan: Plan,
  places: readonly number[],
  parts: readonly Buffer[],
  complete: (head: Buffer) => void,
): Buffer {
  const { lengths, minLength, hasVariableLength, template, bootTimeField } = plan;
  const total = parts.reduce((sum, operations) => sum + layout.programOperations + operations.length, 0);
  const addresses = addressPlaces(plan, places);
  const sides = sideNames.map((name) => fixedPlace(plan, places, name) ?? { offset: 0, length: 0 });
  let start = 0;
  const programs = parts.flatMap((operations, i) => {
    const head = Buffer.alloc(layout.programOperations);
    const size = head.length + operations.length;
    head.writeUInt32LE(minLength, layout.programMinLength);
    head.writeUInt16LE(lengths.length, layout.programFields);
    head.writeUInt16LE(
      (hasVariableLength ? layout.isVariable : 0) |
        (template.dialect === "netflow9" || hasVariableLength ? layout.mayBePadded : 0),
      layout.programFlags,
    );
    head.writeUInt32LE(total - start, layout.programLengths);
    head.writeUInt32LE(i < parts.length - 1 ? size : 0, layout.programReverse);
    head.writeUInt32LE(
      (plan.hasInitiator ? layout.hasInitiator : 0) | (i > 0 ? layout.isReverseLine : 0),
      layout.programBegan,
    );
    head.writeUInt32LE(places[bootTimeField] ?? 0, layout.programBootTime);
    head.writeUInt32LE(lengths[bootTimeField] ?? 0, layout.programBootTimeLength);
    for (const { isSource, offset, length } of addresses) {
      head.writeUInt32LE(offset, isSource ? layout.programSource : layout.programDestination);
      head.writeUInt32LE(length, isSource ? layout.programSourceLength : layout.programDestinationLength);
    }
    sides.forEach(({ offset, length }, side) => {
      head.writeUInt16LE(offset, layout.programSides + 4 * side);
      head.writeUInt16LE(length, layout.programSides + 4 * side + 2);
    });
    complete(head);
    start += size;
    return [head, operations];
  });
  return Buffer.concat([...programs, Buffer.from(Uint16Array.from(lengths).buffer)]);
}

/** Returns the offset of each field in a record; its position in the template where lengths vary. */
function placesOf({ lengths, hasVariableLength }: Plan): number[] {
  if (hasVariableLength) return lengths.map((_, field) => field);
  let at = 0;
  return lengths.map((length) => {
    const place = at;
    at += length;
    return place;
  });
}

/** Bytes that the fields of a record take at most, but for what grows with their bytes. */
function boundOf({ steps, slowSteps }: Plan): number {
  let bound = 0;
  for (const { outputs } of steps) {
    for (const { name, fallback } of outputs) {
      const names = fallback === undefined ? [name] : [name, fallback.name, fallback.hexName];
      bound += maxScalar + Math.max(...names.map((each) => 6 * each.length + 8));
    }
  }
  for (const step of slowSteps) {
    if (step.kind === "labels") bound += labelNames + maxLabel * step.fields.length;
    if (step.kind === "list") bound += layout.shapeTextBytes;
  }
  return bound;
}

/** Bytes of a line for each byte of a record: every step of a field writes it once. */
function perByteOf({ steps, lengths }: Plan): number {
  const uses = new Uint32Array(lengths.length);
  for (const { outputs } of steps) for (const { field } of outputs) uses[field] = (uses[field] as number) + 1;
  return maxPerByte * uses.reduce((most, count) => Math.max(most, count), 1);
}

/** What the scopes of both ends follow from, in the order of `programSides`. */
const sideNames = [
  "flow.in.vrf.id",
  "flow.in.netif.index",
  "flow.src.vlan.tag.id",
  "flow.out.vrf.id",
  "flow.out.netif.index",
  "flow.dst.vlan.tag.id",
];

/** The addresses of both ends that are at the same offset in every record. */
function addressPlaces(plan: Plan, places: readonly number[]): { isSource: boolean; offset: number; length: number }[] {
  return ["flow.src.ip.addr", "flow.dst.ip.addr"].flatMap((name, i) => {
    const place = fixedPlace(plan, places, name);
    return place?.length === 4 || place?.length === 16 ? [{ isSource: i === 0, ...place }] : [];
  });
}

/** Where every record has the one field that a name is of; undefined: it is not at one place. */
function fixedPlace(
  { steps, lengths, hasVariableLength }: Plan,
  places: readonly number[],
  name: string,
): { offset: number; length: number } | undefined {
  if (hasVariableLength || lengths.includes(variableLength)) return undefined;
  const step = steps.find(({ kind, outputs, when }) => kind === "field" && !when && outputs[0].name === name);
  const field = step?.outputs[0].field ?? -1;
  const length = lengths[field];
  return length === undefined ? undefined : { offset: places[field] as number, length };
}

interface Entry extends CompiledPlan {
  isEvicted: boolean;
}

/** Programs by content, those that could not be made too: their keys come from the network. */
const maxEntries = 4096;

/** Thrown where the memory for programs is full. */
class MemoryIsFull extends Error {}

/** The programs of plans, in the memory of the kernel: it is taken bit by bit, and given back all at once. */
export class CompiledPlans {
  /** The number of plans that were compiled, and of programs that were dropped because their memory was full. */
  readonly counts = { compiled: 0, evicted: 0 };
  readonly #memory: Buffer;
  readonly #times: TimeFormat;
  readonly #settings: ProgramSettings;
  readonly #byPlan = new WeakMap<Plan, Entry>();
  /** By what the templates say. */
  readonly #entries = new Map<string, Entry>();
  readonly #byteTables = new Map<string, PlacedTable>();
  readonly #conversions = new Map<Convert, number>();
  #end: number = layout.programs;

  constructor({ bytes }: Workspace, times: TimeFormat, context: KernelContext, growth: number) {
    this.#memory = bytes;
    this.#times = times;
    const { enricher, slots, nameBits } = context;
    this.#settings = { enricher, slots, nameBits, byteTable: (steps) => this.#byteTable(steps), growth };
  }

  get size(): number {
    return this.#entries.size;
  }

  /** @returns the program for records of a plan, made when there is none for its content. */
  find(plan: Plan): CompiledPlan {
    const known = this.#byPlan.get(plan);
    if (known?.isEvicted === false) return known;
    const key = contentKey(plan);
    const entry = this.#entries.get(key) ?? this.#makeEntry(plan, key);
    this.#byPlan.set(plan, entry);
    return entry;
  }

  #makeEntry(plan: Plan, key: string): Entry {
    if (this.#entries.size >= maxEntries) this.#forgetAll();
    let entry: Entry;
    try {
      entry = this.#compile(plan);
    } catch (error) {
      if (!(error instanceof MemoryIsFull)) throw error;
      // The programs that are used come back soon, and making them is cheap.
      this.#forgetAll();
      entry = this.#compile(plan);
    }
    this.counts.compiled++;
    this.#entries.set(key, entry);
    return entry;
  }

  #compile(plan: Plan): Entry {
    const { bytes, ...compiled } = lineProgram(plan, this.#settings);
    return { ...compiled, program: this.#place(bytes), isEvicted: false };
  }

  #forgetAll(): void {
    this.counts.evicted += this.#entries.size;
    for (const entry of this.#entries.values()) entry.isEvicted = true;
    this.#entries.clear();
    this.#byteTables.clear();
    this.#end = layout.programs;
  }

  #place(bytes: Uint8Array): number {
    const at = this.#end;
    const next = at + Math.ceil((bytes.length + slack) / alignment) * alignment;
    if (next > layout.programsEnd) throw new MemoryIsFull();
    this.#memory.set(bytes, at);
    this.#end = next;
    return at;
  }

  #byteTable(steps: readonly Step[]): PlacedTable {
    const key = steps.map(({ outputs: [output] }) => this.#outputKey(output)).join(" ");
    const known = this.#byteTables.get(key);
    if (known !== undefined) return known;
    const { texts, starts, maxLength } = byteTexts(steps, this.#times);
    const textsAt = this.#place(new Uint8Array(texts.buffer));
    const pairs = Uint32Array.from({ length: 512 }, (_, i) => {
      const start = starts[i >> 1] as number;
      return i % 2 === 0 ? textsAt + start : (starts[(i >> 1) + 1] as number) - start;
    });
    const made = { place: this.#place(new Uint8Array(pairs.buffer)), maxLength };
    this.#byteTables.set(key, made);
    return made;
  }

  #outputKey({ name, convert, fallback }: Output): string {
    return [name, this.#keyOf(convert), fallback?.name, fallback && this.#keyOf(fallback.convert)].join();
  }

  #keyOf(convert: Convert): number {
    const known = this.#conversions.get(convert) ?? this.#conversions.size;
    this.#conversions.set(convert, known);
    return known;
  }
}

/** Returns the content that a program follows from; the elements' names are the same for all plans of a pipeline. */
function contentKey({ template: { dialect, fields } }: Plan): string {
  return `${dialect} ${fields.map(({ pen, id, length }) => `${pen}.${id}.${length}`).join(" ")}`;
}
