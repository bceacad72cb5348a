import type { FieldsUnderWay, RecordFields, Value, Workspace } from "../../record/index.ts";
import type { FieldSource, ExportClock } from "../elements/mapping/convert-type.ts";
import { putLabels, type ListSource } from "../wire/records/structured-data.ts";
import type { Plan, Step, PacketSection } from "../exporters/plan.ts";
import { readStep, type FieldPlaces, locateFields } from "../wire/records/read-sets.ts";
import * as layout from "../kernel/layout.gen.ts";
import { type ListShape, createListText, type ListStep, createSectionSteps } from "./list-text.ts";
import { swapSides, isReverseName, nameIn, reverseNames, type Direction } from "./biflow.ts";
import type { CounterNames } from "../elements/mapping/counter-names.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import { toUnsigned } from "../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import type { StepBook } from "../wire/steps/step-book.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import type { LineHelper } from "./write-field.ts";
import type { RecordSlots } from "./record-slots.ts";
import type { SlowFieldCounts } from "./line-writer.ts";
import type { ValueWriter } from "./line-head.ts";
import { helpedSteps } from "./write-steps.ts";

/** What a line has already, for those who add to it: fields are read from the record only where somebody asks for them. */
export interface LineFields extends FieldsUnderWay {
  /** Begins a record, whose fields have been located. */
  begin(plan: Plan, head: readonly (readonly [name: string, value: Value])[], source: FieldSource): void;
  /** Whether the record itself has a name, without what was set since. */
  isOfRecord(name: string): boolean;
  /** What was set since. */
  readonly added: RecordFields;
}

/** By the names that they may give. */
type StepsByName = ReadonlyMap<string, readonly Step[]>;

/** @param places of the fields of the record. */
function createLineFields(places: FieldPlaces): LineFields {
  const stepsByName = new WeakMap<Plan, StepsByName>();
  const added: RecordFields = new Map();
  const scratch: RecordFields = new Map();
  let record: { plan: Plan; source: FieldSource } | undefined;
  let head: readonly (readonly [name: string, value: Value])[] = [];
  let byName: StepsByName = new Map();

  const stepsOf = (plan: Plan): StepsByName => {
    const known = stepsByName.get(plan) ?? indexSteps(plan);
    stepsByName.set(plan, known);
    return known;
  };

  const read = (name: string): Value | undefined => {
    const steps = byName.get(name);
    const isLabel = name.startsWith("mpls.") && record?.plan.slowSteps.some(({ kind }) => kind === "labels") === true;
    if ((steps === undefined && !isLabel) || record === undefined) return inHead(name);
    const { plan, source } = record;
    scratch.clear();
    for (const step of steps ?? []) readStep(scratch, source, step, places);
    if (isLabel) readLabels(plan, source);
    return scratch.get(name) ?? inHead(name);
  };

  const inHead = (name: string): Value | undefined => {
    for (let i = 0; i < head.length; i++) if (head[i]?.[0] === name) return head[i]?.[1];
    return undefined;
  };

  const readLabels = (plan: Plan, source: FieldSource): void => {
    for (const step of plan.slowSteps) {
      if (step.kind !== "labels") continue;
      const spans = step.fields.map(({ field, hexName }) => ({
        at: places.offsets[field] as number,
        length: places.lengths[field] as number,
        hexName,
      }));
      putLabels(scratch, source, spans);
    }
  };

  return {
    added,
    begin(plan, fields, source) {
      added.clear();
      if (record?.plan !== plan) byName = stepsOf(plan);
      record = { plan, source };
      head = fields;
    },
    isOfRecord: (name) => read(name) !== undefined,
    has: (name) => added.has(name) || read(name) !== undefined,
    get: (name) => added.get(name) ?? read(name),
    set: (name, value) => added.set(name, value),
  };
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

/** Lists that the kernel writes by itself once it knows them, in the memory of the operation for them. */
interface ListShapes {
  /** Adds the shape of a list at a place to those of the operation under way, or in the place of one when there are enough. */
  learn(shape: ListShape, at: number): void;
}

function createListShapes({ bytes, view }: Workspace): ListShapes {
  let replaced = 0;

  const placeOf = (shapes: number): number => {
    for (let i = 0; i < layout.maxListShapes; i++) {
      const at = shapes + i * layout.listShapeBytes;
      if (view.getUint16(at + layout.shapeTextLength, true) === 0) return at;
    }
    replaced = (replaced + 1) % layout.maxListShapes;
    return shapes + replaced * layout.listShapeBytes;
  };

  return {
    learn({ text, headLength, valueLength, code, isQuoted, isMany }, list) {
      const before = Buffer.from(text);
      if (before.length > layout.shapeTextBytes) return;
      const at = placeOf(view.getUint32(layout.listShapes, true));
      view.setUint16(at + layout.shapeTextLength, before.length, true);
      view.setUint16(at + layout.shapeValueLength, valueLength, true);
      bytes[at + layout.shapeCode] = code;
      bytes[at + layout.shapeIsMany] = isMany ? 1 : 0;
      bytes[at + layout.shapeIsQuoted] = isQuoted ? 1 : 0;
      bytes[at + layout.shapeHeadLength] = headLength;
      bytes.copyWithin(at + layout.shapeHead, list, list + headLength);
      bytes.set(before, at + layout.shapeText);
    },
  };
}

/** The records of a set, for what the kernel leaves to this side. */
interface HelpedSet {
  readonly plan: Plan;
  readonly helpers: readonly LineHelper[];
  readonly head: readonly (readonly [name: string, value: Value])[];
  readonly clock: ExportClock;
  /** When the exporter started, where its options say so. */
  readonly bootTime: number | undefined;
  /** Where the records end. */
  readonly end: number;
  /** Bytes that a line takes at most, but for what helpers write, and so many more for each byte of its record. */
  readonly room: number;
  readonly roomPerByte: number;
  /** How many times longer what helpers write may become by what follows from the ends. */
  readonly growth: number;
  readonly lists: ListSource | undefined;
}

interface LineHelpers {
  /** Begins a set. */
  begin(set: HelpedSet): void;
  /** Says how far lines may go. */
  setLimit(limit: number): void;
  /** What the last line needs in addition to its program's room, because the helper found none; taken away by the call. */
  takeNeeded(): number;
  /** As {@link KernelImports}. */
  writeValue(helper: number, at: number, from: number, length: number, slot: number): number;
  hasValue(helper: number, from: number, length: number): number;
  help(helper: number, at: number, from: number): number;
  /** The text of an application id. */
  applicationText(at: number, length: number): string | undefined;
}

interface LineHelpersOptions {
  readonly workspace: Workspace;
  readonly book: StepBook;
  readonly times: TimeFormat;
  readonly reader: RecordReader;
  readonly counters: CounterNames;
  readonly values: RecordSlots;
  readonly slots: ReadonlyMap<string, number>;
  readonly writer: ValueWriter;
  readonly counts: SlowFieldCounts;
}

/** Bytes that a unit of a text takes at most. */
const maxUtf8 = 3;

/** What is rendered already of a record that is begun again for want of room. */
interface Rendered {
  readonly from: number;
  readonly helper: number;
  readonly fields: RecordFields;
}

export function createLineHelpers(options: LineHelpersOptions): LineHelpers {
  const { workspace, book, times, reader, counters, values, slots, writer, counts } = options;
  const { bytes: memory, view } = workspace;
  /** Where the kernel has them of records of variable length: little-endian like all processors that Node runs on. */
  const places: FieldPlaces = {
    offsets: new Int32Array(memory.buffer, memory.byteOffset + layout.fieldOffsets, layout.maxFields),
    lengths: new Int32Array(memory.buffer, memory.byteOffset + layout.fieldLengths, layout.maxFields),
  };
  const lineFields = createLineFields(places);
  const listText = createListText(reader, places, times);
  const shapes = createListShapes(workspace);
  const sections = createSectionSteps({ workspace, book, places, times, counters });
  const record: RecordFields = new Map();
  let set: HelpedSet | undefined;
  let source: FieldSource | undefined;
  let limit = 0;
  let needed = 0;
  let rendered: Rendered | undefined;
  let recordEnd = 0;

  const ofNoSet: FieldSource = {
    bytes: memory,
    view,
    clock: { exportTime: 0, uptime: undefined },
    times,
    bootTime: undefined,
  };

  const current = (): HelpedSet => {
    if (set === undefined) throw new TypeError("the kernel asked for help outside of a set");
    return set;
  };

  /** Values are read where they are, in the workspace. */
  const sourceOf = (): FieldSource => {
    const { clock, bootTime } = current();
    return (source ??= { bytes: memory, view, clock, times, bootTime });
  };

  /** Finds the fields of a record, which may say itself when its exporter started. */
  const begin = (from: number): FieldSource => {
    const { plan, end } = current();
    const shared = sourceOf();
    const last = plan.lengths.length - 1;
    recordEnd = plan.hasVariableLength
      ? (places.offsets[last] as number) + (places.lengths[last] as number)
      : locateFields(plan, memory, from, end, places);
    const field = plan.bootTimeField;
    const length = field < 0 ? 0 : (places.lengths[field] as number);
    const start = length === 0 ? undefined : toUnsigned(shared, places.offsets[field] as number, length);
    return typeof start === "number" ? { ...shared, bootTime: start } : shared;
  };

  const keep = (fields: RecordFields): void => {
    for (const [name, value] of fields) {
      const slot = slots.get(name);
      if (slot !== undefined) values.keep(slot, value);
      values.take(name);
    }
  };

  const put = (at: number, from: number, helper: number, fields: RecordFields): number => {
    const { room, roomPerByte, growth } = current();
    const text = writer.fields(fields);
    const rest = room + roomPerByte * (recordEnd - from) + (growth - 1) * text.length;
    if (at + text.length + rest > limit) {
      needed = text.length + rest;
      rendered = { from, helper, fields: new Map(fields) };
      return -1;
    }
    rendered = undefined;
    keep(fields);
    memory.set(text, at);
    return at + text.length;
  };

  /** Leaves the steps of a section to the kernel. */
  const putSection = (section: PacketSection, at: number, from: number): number => {
    const { plan, head, room, roomPerByte, growth } = current();
    const fields = begin(from);
    lineFields.begin(plan, head, fields);
    const bytes = growth * sections.list(plan, section, fields, lineFields);
    const rest = room + roomPerByte * (recordEnd - from);
    if (at + bytes + rest > limit) {
      needed = bytes + rest;
      return -1;
    }
    if (sections.end() > 0) counts.packet++;
    keep(lineFields.added);
    view.setUint32(layout.listedSteps, layout.stepList + 4 * sections.end(), true);
    return at;
  };

  /** Writes the fields of a list. */
  const putList = (list: ListStep, helper: number, at: number, from: number): number => {
    const { plan, head, lists, room, roomPerByte, growth } = current();
    const fields = begin(from);
    if (places.lengths[list.field] === 0) return at;
    lineFields.begin(plan, head, fields);
    const written = listText.render(plan, list, fields, lineFields, lists);
    if (written === undefined) return put(at, from, helper, fieldsOf("whole", from));
    const { text, shape } = written;
    const rest = room + roomPerByte * (recordEnd - from);
    const most = growth * maxUtf8 * text.length;
    if (at + most + rest > limit) {
      needed = most + rest;
      return -1;
    }
    counts.list++;
    if (shape !== undefined && ![...lineFields.added.keys()].some((name) => values.isWatched(name))) {
      shapes.learn(shape, places.offsets[list.field] as number);
    }
    keep(lineFields.added);
    return at + memory.write(text, at);
  };

  const fieldsOf = (direction: Direction, from: number): RecordFields => {
    const { plan, head, end, lists } = current();
    const at = begin(from);
    lineFields.begin(plan, head, at);
    const steps = helpedSteps(plan);
    for (const { kind } of steps) counts[kind === "packet" ? "packet" : "list"]++;
    reader.readSlow(plan, steps, at, from, end, lineFields, lists);
    return inDirection(lineFields, direction);
  };

  return {
    begin(of) {
      set = of;
      source = undefined;
      rendered = undefined;
    },
    setLimit: (to) => void (limit = to),
    takeNeeded() {
      const bytes = needed;
      needed = 0;
      return bytes;
    },
    writeValue(helper, at, from, length, slot) {
      const { kind, ...of } = current().helpers[helper] as LineHelper;
      if (kind !== "value" || !("convert" in of)) return 0;
      const value = of.convert(sourceOf(), from, length);
      if (value === undefined) return 0;
      counts.value++;
      if (slot !== layout.unusedSlot) values.keep(slot, value);
      return writer.value(at, value);
    },
    hasValue(helper, from, length) {
      const of = current().helpers[helper] as LineHelper;
      return of.kind === "value" && of.convert(sourceOf(), from, length) !== undefined ? 1 : 0;
    },
    help(helper, at, from) {
      view.setUint32(layout.listedSteps, 0, true);
      if (rendered?.from === from && rendered.helper === helper) {
        begin(from);
        return put(at, from, helper, rendered.fields);
      }
      const of = current().helpers[helper] as LineHelper;
      if (of.kind === "section") return putSection(of.section, at, from);
      if (of.kind === "list") return putList(of.list, helper, at, from);
      if (of.kind === "fields") return put(at, from, helper, fieldsOf(of.direction, from));
      if (of.kind === "value") return at;
      counts.repeated++;
      record.clear();
      readStep(record, begin(from), of.step, places);
      return put(at, from, helper, renamed(record, of.direction));
    },
    applicationText(at, length) {
      const text = convertField.applicationId(ofNoSet, at, length);
      return typeof text === "string" ? text : undefined;
    },
  };
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
