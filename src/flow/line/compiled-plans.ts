import { renderFields, type RecordFields, type Workspace, type LineEnricher } from "../../record/index.ts";
import type { FieldSource, Convert } from "../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { type Step, type Plan, type Output, variableLength } from "../exporters/plan.ts";
import { readStep } from "../wire/records/read-sets.ts";
import { textTable, type TextTable } from "./line-head.ts";
import * as layout from "../kernel/layout.gen.ts";
import type { Direction } from "./biflow.ts";
import type { LineHelper } from "./write-field.ts";
import { maxNumberAddition } from "./kernel-context.ts";
import { createProgramWriter } from "../kernel/program-writer.ts";
import type { NameBits } from "./record-slots.ts";
import { maxNamesLength } from "./option-names.ts";
import { type StepContext, writeSteps } from "./write-steps.ts";

/** What steps make of one byte, where the kernel finds it. */
export interface PlacedTable {
  readonly place: number;
  readonly maxLength: number;
}

/** What several steps make of one byte, rendered for each value that it may have. */
type ByteTable = TextTable;

/** Reads all 256 values. The steps read one field of one byte, and nothing else. */
function createByteTable(steps: readonly Step[], times: TimeFormat): ByteTable {
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

/** The memory of the kernel for programs and what they refer to: taken piece by piece, given back all at once. */
interface ProgramMemory {
  /** @returns where the bytes lie now; undefined when there is no room. */
  put(bytes: Uint8Array): number | undefined;
  clear(): void;
  /** Bytes in use. */
  readonly used: number;
}

const alignment = 16;
/** How much may be read behind the end of anything. */
const slack = 16;

export function createProgramMemory({ bytes: memory }: Workspace): ProgramMemory {
  let end = layout.programs;
  return {
    put(bytes) {
      const at = end;
      const next = at + Math.ceil((bytes.length + slack) / alignment) * alignment;
      if (next > layout.programsEnd) return undefined;
      memory.set(bytes, at);
      end = next;
      return at;
    },
    clear: () => void (end = layout.programs),
    get used() {
      return end - layout.programs;
    },
  };
}

/** What the kernel is to do for the records of a plan. */
interface LineProgram {
  /** As {@link layout} has it. */
  readonly bytes: Buffer;
  /** What its operations leave to the other side. */
  readonly helpers: readonly LineHelper[];
  /** No line is longer than the head and this many bytes, and so many more for each byte of the record, but for lists. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
}

interface LineProgramOptions {
  readonly enricher: LineEnricher;
  /** Where the kernel keeps values that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  /** The bit of each name that is added only where a record has none of it. */
  readonly nameBits: NameBits;
  readonly byteTable: (steps: readonly Step[]) => PlacedTable;
  /** How many times longer a line may become by what follows from its ends. */
  readonly growth: number;
  /** Whether anything follows from the fields of the ends. */
  readonly hasEnds: boolean;
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
/** What both ends of a flow add together, and labels of their systems. */
const maxFinish = 160;
/** A label in three lists. */
const maxLabel = 32;
const labelNames = 128;

/** Makes the program for the records of a plan; of one that splits biflows, for both directions. */
function lineProgram(plan: Plan, options: LineProgramOptions): LineProgram {
  const { enricher } = options;
  const isSplit = plan.slowSteps.some(({ kind }) => kind === "split");
  const helpers: LineHelper[] = [];
  let maxLength =
    maxEstimates +
    maxIcmp +
    maxDerived +
    maxNamesLength +
    communityIdLength +
    enricher.numbers.length * maxNumberAddition;
  for (const addresses of enricher.addresses) maxLength += 2 * addresses.maxLength + maxFinish;
  for (const { maxLength: ofApp } of enricher.apps ?? []) maxLength += ofApp;
  const places = placesOf(plan);
  let longest = 0;
  // Two directions keep different values.
  let isSteady = !isSplit;
  const parts = (isSplit ? (["forward", "reverse"] as const) : (["whole"] as const)).map((direction: Direction) => {
    const writer = createProgramWriter(options.hasEnds);
    const context: StepContext = {
      ...options,
      plan,
      places,
      direction,
      writer,
      maxTables: 0,
      helper: (helper) => helpers.push(helper) - 1,
    };
    writeSteps(context);
    writer.operation({ code: layout.opRest });
    longest = Math.max(longest, context.maxTables);
    isSteady &&= writer.isSteady();
    return writer.bytes();
  });
  maxLength = options.growth * (maxLength + longest + boundOf(plan));
  const perByte = options.growth * perByteOf(plan);
  const bytes = assemble(plan, { places, parts, maxLength, perByte, isSteady });
  return { bytes, helpers, maxLength, maxLengthPerByte: perByte };
}

interface ProgramParts {
  readonly places: readonly number[];
  /** The operations of each direction. */
  readonly parts: readonly Buffer[];
  readonly maxLength: number;
  readonly perByte: number;
  /** Whether values are in the same slots for all records. */
  readonly isSteady: boolean;
}

/** The programs of both directions one behind the other, then the lengths of the fields. */
function assemble(plan: Plan, { places, parts, maxLength, perByte, isSteady }: ProgramParts): Buffer {
  const { lengths, minLength, hasVariableLength, template, bootTimeField } = plan;
  const total = parts.reduce((sum, operations) => sum + layout.programOperations + operations.length, 0);
  const addresses = addressPlaces(plan, places);
  let start = 0;
  const pieces = parts.flatMap((operations, i) => {
    const head = Buffer.alloc(layout.programOperations);
    const size = head.length + operations.length;
    head.writeUInt32LE(minLength, layout.programMinLength);
    head.writeUInt16LE(lengths.length, layout.programFields);
    head.writeUInt16LE(
      (hasVariableLength ? layout.isVariable : 0) |
        (template.dialect === "netflow9" || hasVariableLength ? layout.mayBePadded : 0) |
        (isSteady ? layout.isSteady : 0),
      layout.programFlags,
    );
    head.writeUInt32LE(total - start, layout.programLengths);
    head.writeUInt32LE(maxLength, layout.programMaxLength);
    head.writeUInt32LE(perByte, layout.programPerByte);
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
    start += size;
    return [head, operations];
  });
  return Buffer.concat([...pieces, Buffer.from(Uint16Array.from(lengths).buffer)]);
}

/** Where each field begins in a record; its position in the template where lengths vary. */
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

/** The addresses of both ends that are at the same place in every record. */
function addressPlaces(
  { steps, lengths, hasVariableLength }: Plan,
  places: readonly number[],
): { isSource: boolean; offset: number; length: number }[] {
  if (hasVariableLength || lengths.includes(variableLength)) return [];
  return ["flow.src.ip.addr", "flow.dst.ip.addr"].flatMap((name, i) => {
    const step = steps.find(({ kind, outputs, when }) => kind === "field" && !when && outputs[0].name === name);
    const field = step?.outputs[0].field ?? -1;
    const length = lengths[field];
    if (length !== 4 && length !== 16) return [];
    return [{ isSource: i === 0, offset: places[field] as number, length }];
  });
}

/** What the kernel needs for all templates that have the same fields. */
export interface CompiledPlan {
  /** The place of the program. */
  readonly program: number;
  /** What its operations leave to the other side. */
  readonly helpers: readonly LineHelper[];
  /** A line takes no more room than this, the head apart, and so much more for each byte of its record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
}

/** What happened to templates so far. */
interface CompileCounts {
  compiled: number;
  /** Dropped, because the memory for programs was full. */
  evicted: number;
}

export interface CompiledPlans {
  /** The program for records of a plan, made when there is none for its content. */
  find(plan: Plan): CompiledPlan;
  readonly size: number;
  readonly counts: Readonly<CompileCounts>;
}

interface CompiledPlansOptions {
  readonly memory: ProgramMemory;
  readonly times: TimeFormat;
  readonly enricher: LineEnricher;
  /** As {@link lineProgram} has them. */
  readonly slots: ReadonlyMap<string, number>;
  readonly nameBits: NameBits;
  readonly growth: number;
  readonly hasEnds: boolean;
}

interface Entry extends CompiledPlan {
  isEvicted: boolean;
}

/** Programs by content, those that could not be made too: their keys come from the network. */
const maxEntries = 4096;

/** Thrown where the memory for programs is full. */
class MemoryIsFull extends Error {}

export function createCompiledPlans(options: CompiledPlansOptions): CompiledPlans {
  const { memory, times, enricher, slots, nameBits, growth, hasEnds } = options;
  const byPlan = new WeakMap<Plan, Entry>();
  /** By what the templates say. */
  const entries = new Map<string, Entry>();
  const byteTables = new Map<string, PlacedTable>();
  const counts: CompileCounts = { compiled: 0, evicted: 0 };

  const conversions = new Map<Convert, number>();
  const conversionKey = (convert: Convert): number => {
    const known = conversions.get(convert) ?? conversions.size;
    conversions.set(convert, known);
    return known;
  };
  const outputKey = ({ name, convert, fallback }: Output): string =>
    [name, conversionKey(convert), fallback?.name, fallback && conversionKey(fallback.convert)].join();

  const place = (bytes: Uint8Array): number => {
    const at = memory.put(bytes);
    if (at === undefined) throw new MemoryIsFull();
    return at;
  };

  const byteTable = (steps: readonly Step[]): PlacedTable => {
    const key = steps.map(({ outputs: [output] }) => outputKey(output)).join(" ");
    const known = byteTables.get(key);
    if (known !== undefined) return known;
    const { texts, starts, maxLength } = createByteTable(steps, times);
    const textsAt = place(new Uint8Array(texts.buffer));
    const pairs = Uint32Array.from({ length: 512 }, (_, i) => {
      const start = starts[i >> 1] as number;
      return i % 2 === 0 ? textsAt + start : (starts[(i >> 1) + 1] as number) - start;
    });
    const made = { place: place(new Uint8Array(pairs.buffer)), maxLength };
    byteTables.set(key, made);
    return made;
  };

  const compile = (plan: Plan): Entry => {
    const { bytes, helpers, maxLength, maxLengthPerByte } = lineProgram(plan, {
      enricher,
      slots,
      nameBits,
      byteTable,
      growth,
      hasEnds,
    });
    return { program: place(bytes), helpers, maxLength, maxLengthPerByte, isEvicted: false };
  };

  const forgetAll = (): void => {
    counts.evicted += entries.size;
    for (const entry of entries.values()) entry.isEvicted = true;
    entries.clear();
    byteTables.clear();
    memory.clear();
  };

  const makeEntry = (plan: Plan, key: string): Entry => {
    if (entries.size >= maxEntries) forgetAll();
    let entry: Entry;
    try {
      entry = compile(plan);
    } catch (error) {
      if (!(error instanceof MemoryIsFull)) throw error;
      // Those that are used come back soon, and making them is cheap.
      forgetAll();
      entry = compile(plan);
    }
    counts.compiled++;
    entries.set(key, entry);
    return entry;
  };

  return {
    find(plan) {
      const known = byPlan.get(plan);
      if (known?.isEvicted === false) return known;
      const key = contentKey(plan);
      const entry = entries.get(key) ?? makeEntry(plan, key);
      byPlan.set(plan, entry);
      return entry;
    },
    get size() {
      return entries.size;
    },
    counts,
  };
}

/** What a program follows from; the elements' names are the same for all plans of a pipeline. */
function contentKey({ template: { dialect, fields } }: Plan): string {
  return `${dialect} ${fields.map(({ pen, id, length }) => `${pen}.${id}.${length}`).join(" ")}`;
}
