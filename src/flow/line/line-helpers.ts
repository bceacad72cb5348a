import type { FieldsUnderWay, RecordFields, Value, Workspace } from "../../record/index.ts";
import type { FieldSource, ExportClock } from "../elements/mapping/convert-type.ts";
import { putLabels, type ListSource } from "../wire/records/structured-data.ts";
import type { Plan, Step, PacketSection } from "../exporters/plan.ts";
import { readStep, type FieldPlaces, locateFields } from "../wire/records/decoder.ts";
import * as layout from "../kernel/layout.gen.ts";
import { type ListShape, ListText, type ListStep, SectionSteps } from "./list-text.ts";
import { swapSides, isReverseName, nameIn, reverseNames, type Direction } from "./biflow.ts";
import type { CounterNames } from "../elements/mapping/element-names.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import { toUnsigned } from "../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import type { InstructionTable } from "../wire/steps/instruction-table.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import type { LineHelper } from "./write-field.ts";
import type { RecordSlots } from "./flow-ends.ts";
import type { SlowFieldCounts } from "./line-writer.ts";
import { ValueWriter } from "./line-head.ts";
import { helpedSteps } from "./write-steps.ts";

type Head = readonly (readonly [name: string, value: Value])[];

/** By the names that they may give. */
type StepsByName = ReadonlyMap<string, readonly Step[]>;

/** The fields that a line has already, for those who add to it: they are read from the record only where somebody asks for them. */
export class LineFields implements FieldsUnderWay {
  /** The fields that were set since. */
  readonly added: RecordFields = new Map();
  readonly #places: FieldPlaces;
  readonly #stepsByName = new WeakMap<Plan, StepsByName>();
  readonly #scratch: RecordFields = new Map();
  #record: { readonly plan: Plan; readonly source: FieldSource } | undefined;
  #head: Head = [];
  #byName: StepsByName = new Map();

  /** @param places of the fields of the record. */
  constructor(places: FieldPlaces) {
    this.#places = places;
  }

  /** Begins a record, whose fields have been located. */
  begin(plan: Plan, head: Head, source: FieldSource): void {
    this.added.clear();
    if (this.#record?.plan !== plan) {
      this.#byName = this.#stepsByName.get(plan) ?? indexSteps(plan);
      this.#stepsByName.set(plan, this.#byName);
    }
    this.#record = { plan, source };
    this.#head = head;
  }

  /** Tells whether the record itself has a name, without what was set since. */
  isOfRecord(name: string): boolean {
    return this.#read(name) !== undefined;
  }

  has(name: string): boolean {
    return this.added.has(name) || this.isOfRecord(name);
  }

  get(name: string): Value | undefined {
    return this.added.get(name) ?? this.#read(name);
  }

  set(name: string, value: Value): void {
    this.added.set(name, value);
  }

  #read(name: string): Value | undefined {
    const record = this.#record;
    const steps = this.#byName.get(name);
    const isLabel = name.startsWith("mpls.") && record?.plan.slowSteps.some(({ kind }) => kind === "labels") === true;
    if ((steps === undefined && !isLabel) || record === undefined) return this.#inHead(name);
    const { plan, source } = record;
    this.#scratch.clear();
    for (const step of steps ?? []) readStep(this.#scratch, source, step, this.#places);
    if (isLabel) this.#readLabels(plan, source);
    return this.#scratch.get(name) ?? this.#inHead(name);
  }

  #inHead(name: string): Value | undefined {
    const head = this.#head;
    for (let i = 0; i < head.length; i++) if (head[i]?.[0] === name) return head[i]?.[1];
    return undefined;
  }

  #readLabels(plan: Plan, source: FieldSource): void {
    const { offsets, lengths } = this.#places;
    for (const step of plan.slowSteps) {
      if (step.kind !== "labels") continue;
      const spans = step.fields.map(({ field, hexName }) => ({
        at: offsets[field] as number,
        length: lengths[field] as number,
        hexName,
      }));
      putLabels(this.#scratch, source, spans);
    }
  }
}

function indexSteps({ steps }: Plan): StepsByName {
  const index = new Map<string, Step[]>();
  for (const step of steps) {
    const names = step.outputs.flatMap(({ name, fallback }) =>
      fallback === undefined ? [name] : [name, fallback.name, fallback.hexName],
    );
    for (const name of new Set(names)) {
      const others = index.get(name);
      if (others === undefined) index.set(name, [step]);
      else others.push(step);
    }
  }
  return index;
}

/** The records of a set, for what the kernel leaves to this side. */
interface HelpedSet {
  readonly plan: Plan;
  readonly helpers: readonly LineHelper[];
  readonly head: Head;
  readonly clock: ExportClock;
  /** When the exporter started, where its options say so. */
  readonly bootTime: number | undefined;
  /** The end of the records. */
  readonly end: number;
  /** Bytes that a line takes at most, but for what helpers write, and so many more for each byte of its record. */
  readonly room: number;
  readonly roomPerByte: number;
  /** The factor by which what helpers write may become longer by what follows from the ends. */
  readonly growth: number;
  readonly lists: ListSource | undefined;
}

/** Bytes that a unit of a text takes at most. */
const maxUtf8 = 3;

/** The parts that helpers are made with. */
interface HelperParts {
  readonly workspace: Workspace;
  readonly instructions: InstructionTable;
  readonly times: TimeFormat;
  readonly reader: RecordReader;
  readonly counters: CounterNames;
  readonly values: RecordSlots;
  readonly slots: ReadonlyMap<string, number>;
  readonly counts: SlowFieldCounts;
}

/** Does what operations of the kernel leave to this side. The methods that the kernel calls are as its imports. */
export class LineHelpers {
  /** Lines may go up to here. */
  limit = 0;
  readonly #parts: HelperParts;
  readonly #memory: Buffer;
  readonly #view: DataView;
  /** The offsets that the kernel has for records of variable length: little-endian like all processors that Node runs on. */
  readonly #places: FieldPlaces;
  readonly #fields: LineFields;
  readonly #listText: ListText;
  readonly #sections: SectionSteps;
  readonly #writer: ValueWriter;
  readonly #record: RecordFields = new Map();
  #set: HelpedSet | undefined;
  #source: FieldSource | undefined;
  #needed = 0;
  /** The fields that are rendered already of a record that is begun again for want of room. */
  #rendered: { readonly from: number; readonly helper: number; readonly fields: RecordFields } | undefined;
  #recordEnd = 0;
  /** The known list of an operation that was replaced by another one last. */
  #replaced = 0;

  constructor(parts: HelperParts) {
    const { workspace, instructions, times, reader, counters } = parts;
    const { bytes: memory, view } = workspace;
    this.#parts = parts;
    this.#memory = memory;
    this.#view = view;
    this.#places = {
      offsets: new Int32Array(memory.buffer, memory.byteOffset + layout.fieldOffsets, layout.maxFields),
      lengths: new Int32Array(memory.buffer, memory.byteOffset + layout.fieldLengths, layout.maxFields),
    };
    this.#fields = new LineFields(this.#places);
    this.#listText = new ListText(reader, this.#places, times);
    this.#sections = new SectionSteps(workspace, instructions, this.#places, times, counters);
    this.#writer = new ValueWriter(workspace);
  }

  /** Begins a set. */
  begin(set: HelpedSet): void {
    this.#set = set;
    this.#source = undefined;
    this.#rendered = undefined;
  }

  /** Returns and clears what the last line needs in addition to its program's room, because the helper found none. */
  takeNeeded(): number {
    const bytes = this.#needed;
    this.#needed = 0;
    return bytes;
  }

  writeValue(helper: number, at: number, from: number, length: number, slot: number): number {
    const of = this.#current().helpers[helper] as LineHelper;
    if (of.kind !== "value") return 0;
    const value = of.convert(this.#sourceOf(), from, length);
    if (value === undefined) return 0;
    this.#parts.counts.value++;
    if (slot !== layout.unusedSlot) this.#parts.values.keep(slot, value);
    return this.#writer.value(at, value);
  }

  hasValue(helper: number, from: number, length: number): number {
    const of = this.#current().helpers[helper] as LineHelper;
    return of.kind === "value" && of.convert(this.#sourceOf(), from, length) !== undefined ? 1 : 0;
  }

  help(helper: number, at: number, from: number): number {
    this.#view.setUint32(layout.listedSteps, 0, true);
    const rendered = this.#rendered;
    if (rendered?.from === from && rendered.helper === helper) {
      this.#begin(from);
      return this.#put(at, from, helper, rendered.fields);
    }
    const of = this.#current().helpers[helper] as LineHelper;
    if (of.kind === "section") return this.#putSection(of.section, at, from);
    if (of.kind === "list") return this.#putList(of.list, helper, at, from);
    if (of.kind === "fields") return this.#put(at, from, helper, this.#slowFields(of.direction, from));
    if (of.kind === "value") return at;
    this.#parts.counts.repeated++;
    this.#record.clear();
    readStep(this.#record, this.#begin(from), of.step, this.#places);
    return this.#put(at, from, helper, renamed(this.#record, of.direction));
  }

  /** The text of an application id. */
  applicationText(at: number, length: number): string | undefined {
    const source: FieldSource = {
      bytes: this.#memory,
      view: this.#view,
      clock: { exportTime: 0, uptime: undefined },
      times: this.#parts.times,
      bootTime: undefined,
    };
    const text = convertField.applicationId(source, at, length);
    return typeof text === "string" ? text : undefined;
  }

  #current(): HelpedSet {
    if (this.#set === undefined) throw new TypeError("the kernel asked for help outside of a set");
    return this.#set;
  }

  /** Values are read where they are, in the workspace. */
  #sourceOf(): FieldSource {
    const { clock, bootTime } = this.#current();
    const { times } = this.#parts;
    return (this.#source ??= { bytes: this.#memory, view: this.#view, clock, times, bootTime });
  }

  /** Finds the fields of a record, which may say itself when its exporter started. */
  #begin(from: number): FieldSource {
    const { plan, end } = this.#current();
    const { offsets, lengths } = this.#places;
    const shared = this.#sourceOf();
    const last = plan.lengths.length - 1;
    this.#recordEnd = plan.hasVariableLength
      ? (offsets[last] as number) + (lengths[last] as number)
      : locateFields(plan, this.#memory, from, end, this.#places);
    const field = plan.bootTimeField;
    const length = field < 0 ? 0 : (lengths[field] as number);
    const start = length === 0 ? undefined : toUnsigned(shared, offsets[field] as number, length);
    return typeof start === "number" ? { ...shared, bootTime: start } : shared;
  }

  #keep(fields: RecordFields): void {
    const { slots, values } = this.#parts;
    for (const [name, value] of fields) {
      const slot = slots.get(name);
      if (slot !== undefined) values.keep(slot, value);
      values.take(name);
    }
  }

  /** Tells whether there is room for so many bytes and what comes behind them in the line. Else notes how many are needed. */
  #hasRoom(bytes: number, at: number, from: number): boolean {
    const { room, roomPerByte } = this.#current();
    const needed = bytes + room + roomPerByte * (this.#recordEnd - from);
    if (at + needed <= this.limit) return true;
    this.#needed = needed;
    return false;
  }

  #put(at: number, from: number, helper: number, fields: RecordFields): number {
    const text = this.#writer.fields(fields);
    if (!this.#hasRoom(this.#current().growth * text.length, at, from)) {
      this.#rendered = { from, helper, fields: new Map(fields) };
      return -1;
    }
    this.#rendered = undefined;
    this.#keep(fields);
    this.#memory.set(text, at);
    return at + text.length;
  }

  /** Leaves the steps of a section to the kernel. */
  #putSection(section: PacketSection, at: number, from: number): number {
    const { plan, head, growth } = this.#current();
    const sections = this.#sections;
    const source = this.#begin(from);
    this.#fields.begin(plan, head, source);
    const bytes = growth * sections.list(plan, section, source, this.#fields);
    if (!this.#hasRoom(bytes, at, from)) return -1;
    if (sections.end > 0) this.#parts.counts.packet++;
    this.#keep(this.#fields.added);
    this.#view.setUint32(layout.listedSteps, layout.stepList + 4 * sections.end, true);
    return at;
  }

  /** Writes the fields of a list. */
  #putList(list: ListStep, helper: number, at: number, from: number): number {
    const { plan, head, lists, growth } = this.#current();
    const { counts, values } = this.#parts;
    const source = this.#begin(from);
    if (this.#places.lengths[list.field] === 0) return at;
    this.#fields.begin(plan, head, source);
    const written = this.#listText.render(plan, list, source, this.#fields, lists);
    if (written === undefined) return this.#put(at, from, helper, this.#slowFields("whole", from));
    const { text, shape } = written;
    if (!this.#hasRoom(growth * maxUtf8 * text.length, at, from)) return -1;
    counts.list++;
    if (shape !== undefined && ![...this.#fields.added.keys()].some((name) => values.isWatched(name))) {
      this.#learn(shape, this.#places.offsets[list.field] as number);
    }
    this.#keep(this.#fields.added);
    return at + this.#memory.write(text, at);
  }

  #slowFields(direction: Direction, from: number): RecordFields {
    const { plan, head, end, lists } = this.#current();
    const { counts, reader } = this.#parts;
    const source = this.#begin(from);
    this.#fields.begin(plan, head, source);
    const steps = helpedSteps(plan);
    for (const { kind } of steps) counts[kind === "packet" ? "packet" : "list"]++;
    reader.readSlow(plan, steps, source, from, end, this.#fields, lists);
    return inDirection(this.#fields, direction);
  }

  /** Adds the shape of a list at an offset to those that the kernel writes by itself, in the memory of the operation under way. */
  #learn({ text, headLength, valueLength, code, isQuoted, isMany }: ListShape, list: number): void {
    const before = Buffer.from(text);
    if (before.length > layout.shapeTextBytes) return;
    const view = this.#view;
    const bytes = this.#memory;
    const at = this.#placeOfShape(view.getUint32(layout.listShapes, true));
    view.setUint16(at + layout.shapeTextLength, before.length, true);
    view.setUint16(at + layout.shapeValueLength, valueLength, true);
    bytes[at + layout.shapeCode] = code;
    bytes[at + layout.shapeIsMany] = isMany ? 1 : 0;
    bytes[at + layout.shapeIsQuoted] = isQuoted ? 1 : 0;
    bytes[at + layout.shapeHeadLength] = headLength;
    bytes.copyWithin(at + layout.shapeHead, list, list + headLength);
    bytes.set(before, at + layout.shapeText);
  }

  /** @returns a free offset, or that of another shape when there is none. */
  #placeOfShape(shapes: number): number {
    for (let i = 0; i < layout.maxListShapes; i++) {
      const at = shapes + i * layout.listShapeBytes;
      if (this.#view.getUint16(at + layout.shapeTextLength, true) === 0) return at;
    }
    this.#replaced = (this.#replaced + 1) % layout.maxListShapes;
    return shapes + this.#replaced * layout.listShapeBytes;
  }
}

/** Fields of a record as they are in the line of a direction. */
function renamed(fields: RecordFields, direction: Direction): RecordFields {
  if (direction === "whole") return fields;
  const directed: RecordFields = new Map();
  for (const [name, value] of fields) {
    const as = nameIn(direction, name);
    if (as !== undefined) directed.set(as, value);
  }
  return directed;
}

/**
 * The same of what lists and packets say. In the line of the reverse direction a name may have been given to something else: what
 * the record itself says of both directions stands, and the other value goes below `flow.list.reverse.`.
 */
function inDirection(line: LineFields, direction: Direction): RecordFields {
  if (direction !== "reverse") return renamed(line.added, direction);
  const directed: RecordFields = new Map();
  for (const [name, value] of line.added) {
    const as = nameIn(direction, name);
    if (as === undefined) continue;
    if (isReverseName(name)) {
      const isGiven = line.isOfRecord(swapSides(as)) && nameIn(direction, swapSides(as)) === as;
      directed.set(isGiven ? `flow.list.reverse.${as.replace(/^flow\./, "")}` : as, value);
    } else if (!directed.has(as) && !reverseNames(as).some((own) => line.has(own))) directed.set(as, value);
  }
  return directed;
}
