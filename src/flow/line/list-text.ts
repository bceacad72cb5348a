import type { RecordFields, Workspace, Scalar, Value } from "../../record/index.ts";
import { toHex } from "../elements/mapping/convert-type.ts";
import type { FieldSource, Convert } from "../elements/mapping/convert-type.ts";
import { bytesLayer, type BytesLayer, type CounterNames } from "../elements/mapping/element-names.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { ipLengthOf, levelWithin, PacketSteps } from "../wire/packet/packet-steps.ts";
import { createParsedPacket, parsePacket } from "../wire/packet/parse-packet.ts";
import type { Step, InstructionTable } from "../wire/steps/instruction-table.ts";
import { StepList, readPart, type PartRead, type StepSink } from "../wire/steps/steps.ts";
import {
  findSection,
  sizeOf,
  startOf,
  isOfEnd,
  nameInList,
  semanticsName,
  holdsForRecord,
  listSemantic,
  type ListSemantic,
  readListHead,
  type ListSource,
} from "../wire/records/structured-data.ts";
import type { PacketSection, Plan, SlowStep } from "../exporters/plan.ts";
import type { FieldPlaces } from "../wire/records/decoder.ts";
import type { LineFields } from "./line-helpers.ts";
import { namePresence, type Presence, valueKind, valueOperation } from "./write-field.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import * as layout from "../kernel/layout.gen.ts";

/** The use of a step in the records of a plan. */
type Use = "add" | "drop" | "part" | "ask";

interface StepUse {
  readonly use: Use;
  /** Says whether the record has each of its names. */
  readonly said: readonly Presence[];
  /** The parts of a block that are not dropped. */
  readonly parts: readonly PartUse[];
}

interface PartUse {
  readonly step: Step;
  readonly offset: number;
  readonly read: (typeof readPart)[PartRead];
  readonly of: StepUse;
}

interface Uses {
  readonly plan: Plan | undefined;
  readonly bySteps: Map<Step, StepUse>;
  readonly presence: (name: string) => Presence;
}

/** Larger numbers are no steps. */
const maxNumber = 0xffff_ffff;

/** Makes steps for the kernel of the beginning of a packet in a record, as `putSection` makes fields. */
export class SectionSteps {
  readonly #instructions: InstructionTable;
  readonly #places: FieldPlaces;
  readonly #times: TimeFormat;
  readonly #bytesName: string;
  readonly #packetsName: string;
  readonly #list: StepList;
  readonly #packet = createParsedPacket();
  readonly #uses = new WeakMap<Plan, Uses>();
  readonly #fields: RecordFields = new Map();
  readonly #sink: StepSink = { add: (step, value) => this.#add(step, value) };
  /** Most exporters send no packets: their steps, which take memory and time, are made with the first one. */
  #steps: ReturnType<typeof makeSteps> | undefined;
  /** The uses for the section at hand. */
  #current: Uses = { plan: undefined, bySteps: new Map(), presence: () => "maybe" };
  #record: LineFields | undefined;
  #source: FieldSource | undefined;
  #isEmpty = true;

  /**
   * @param workspace of the kernel that writes the steps, as the instructions.
   * @param places where the fields of the record at hand are.
   */
  constructor(
    workspace: Workspace,
    instructions: InstructionTable,
    places: FieldPlaces,
    times: TimeFormat,
    counters: CounterNames,
  ) {
    this.#instructions = instructions;
    this.#places = places;
    this.#times = times;
    this.#bytesName = counters.bytes.exported;
    this.#packetsName = counters.packets.exported;
    this.#list = new StepList(instructions, workspace);
  }

  /** The end of the list. */
  get end(): number {
    return this.#list.end;
  }

  /**
   * Lists the steps of the one section that the records of a plan have.
   *
   * @param record what it has already. Fields that no step can write are added to it.
   * @returns bytes that the steps take in a line at most.
   */
  list(plan: Plan, section: PacketSection, source: FieldSource, record: LineFields): number {
    this.#begin(plan, source, record);
    const { start, name, at, length } = findSection(section, source, this.#places);
    if (length === 0) return 0;
    const list = this.#list;
    const { packets, count, bytes } = (this.#steps ??= makeSteps(
      this.#instructions,
      this.#bytesName,
      this.#packetsName,
    ));
    const first = startOf(record, source.view, start, at);
    if (first !== undefined) {
      parsePacket(source.bytes, at, at + length, first, this.#packet);
      packets.add(this.#sink, this.#packet, -1, levelWithin(this.#packet, source, record));
    }
    if (this.#isEmpty) list.give(name, toHex(source, at, length) as string);
    else if (start !== "mpls") {
      if (!this.#has(this.#packetsName)) list.add(count, 1);
      if (!this.#has(this.#bytesName)) this.#addSize(record, bytes);
    }
    return list.takeRoom();
  }

  #begin(plan: Plan, source: FieldSource, record: LineFields): void {
    if (this.#current.plan !== plan) {
      const known = this.#uses.get(plan);
      this.#current = known ?? { plan, bySteps: new Map(), presence: namePresence(plan, this.#times) };
      this.#uses.set(plan, this.#current);
    }
    this.#list.clear();
    this.#isEmpty = true;
    this.#record = record;
    this.#source = source;
  }

  #addSize(record: LineFields, steps: Readonly<Record<BytesLayer, Step>>): void {
    const size = sizeOf(record, record.get("flow.ie.ipTotalLength"), ipLengthOf(this.#packet));
    if (size === undefined) return;
    const { layer, bytes } = size;
    if (bytes <= maxNumber) this.#list.add(steps[layer], bytes);
    else {
      this.#list.give(bytesLayer, layer);
      this.#list.give(this.#bytesName, bytes);
      record.set(this.#bytesName, bytes);
    }
  }

  #useOf(step: Step): StepUse {
    const { bySteps, presence } = this.#current;
    const known = bySteps.get(step);
    if (known !== undefined) return known;
    const said = step.names.map(presence);
    const found = findUse(step, said);
    const parts = found === "part" ? (step.parts ?? []) : [];
    const use: StepUse = {
      use: found,
      said,
      parts: parts
        .map(([part, offset, read]) => ({ step: part, offset, read: readPart[read], of: this.#useOf(part) }))
        .filter(({ of }) => of.use !== "drop"),
    };
    bySteps.set(step, use);
    return use;
  }

  #isThere(said: Presence, name: string): boolean {
    if (typeof said === "object") {
      return said.values[this.#source?.bytes[this.#places.offsets[said.field] as number] as number] === 1;
    }
    return said === "always" || (said === "maybe" && this.#record?.has(name) === true);
  }

  #has(name: string): boolean {
    return this.#isThere(this.#current.presence(name), name);
  }

  #add(step: Step, value: number): void {
    this.#isEmpty = false;
    this.#addAs(step, value, this.#useOf(step));
  }

  #addAs(step: Step, value: number, { use, said, parts }: StepUse): void {
    if (use === "add") this.#list.add(step, value);
    else if (use === "ask") this.#ask(step, value, said);
    else if (use === "part" && this.#source !== undefined) {
      for (const part of parts) this.#addAs(part.step, part.read(this.#source.view, value + part.offset), part.of);
    }
  }

  /** Adds of a step what the record does not have. */
  #ask(step: Step, value: number, said: readonly Presence[]): void {
    const { names } = step;
    let had = 0;
    for (let i = 0; i < names.length; i++) if (this.#isThere(said[i] as Presence, names[i] as string)) had++;
    if (had === 0) this.#list.add(step, value);
    if (had === 0 || had === names.length || this.#source === undefined) return;
    this.#fields.clear();
    step.put(this.#fields, value, this.#source);
    for (const [name, each] of this.#fields) {
      if (this.#has(name)) continue;
      this.#list.give(name, each);
      this.#record?.set(name, each);
    }
  }
}

function makeSteps(instructions: InstructionTable, bytesName: string, packetsName: string) {
  return {
    packets: new PacketSteps(instructions),
    count: instructions.field(packetsName, "number"),
    bytes: {
      l2: instructions.field(bytesName, "number", [[bytesLayer, "l2"]]),
      l3: instructions.field(bytesName, "number", [[bytesLayer, "l3"]]),
    },
  };
}

function findUse({ parts }: Step, said: readonly Presence[]): Use {
  if (said.every((each) => each === "never")) return "add";
  if (parts !== undefined) return "part";
  return said.every((each) => each === "always") ? "drop" : "ask";
}

export type ListStep = Extract<SlowStep, { kind: "list" }>;

/** The shape that lists have in common that have the same head, and one value or several. */
export interface ListShape {
  /** The offset in the list at which its values begin. */
  readonly headLength: number;
  /** The text in the line before the first value. */
  readonly text: string;
  readonly valueLength: number;
  /** The kernel's operation for a value. */
  readonly code: number;
  readonly isQuoted: boolean;
  readonly isMany: boolean;
}

/** A field of each record of a list. */
interface Column {
  readonly name: string;
  readonly convert: Convert;
  readonly offset: number;
  readonly length: number;
  /** True if something else replaces bytes that are no value. */
  readonly hasFallback: boolean;
}

interface Columns {
  readonly all: readonly Column[];
  readonly recordLength: number;
}

/** Longer lists are read into fields, where their values are counted. */
const maxValues = 4096;
const maxLabels = 1024;

/** Renders the lists that most records with one have: of values or records of fixed length, without lists within. */
export class ListText {
  readonly #reader: RecordReader;
  readonly #places: FieldPlaces;
  readonly #times: TimeFormat;
  readonly #columnsByPlan = new WeakMap<Plan, Columns | "other">();
  readonly #presences = new WeakMap<Plan, (name: string) => Presence>();
  readonly #labels = new Map<string, string>();

  /** @param places where the fields of the record at hand are. */
  constructor(reader: RecordReader, places: FieldPlaces, times: TimeFormat) {
    this.#reader = reader;
    this.#places = places;
    this.#times = times;
  }

  /**
   * Renders the one list of a record, as it stands in a line. Its names are those of all such records of the plan when it has a shape.
   *
   * @param plan of the record that has it.
   * @param record what it has already; the fields of the list are added to it.
   * @returns undefined when the list is another, or damaged: it then has to be read into fields. The shape is what the kernel needs to write
   *   all such lists of such records by itself, undefined where it cannot.
   */
  render(
    plan: Plan,
    { structure, field, valuesName }: ListStep,
    source: FieldSource,
    record: LineFields,
    lists: ListSource | undefined,
  ): { readonly text: string; readonly shape: ListShape | undefined } | undefined {
    const at = this.#places.offsets[field] as number;
    const head = readListHead(structure, source.view, at, this.#places.lengths[field] as number);
    if (head === undefined) return undefined;
    const presence = this.#presenceOf(plan);
    const semantic = listSemantic(source.view.getUint8(at));
    if (presence(semanticsName) !== "never") return undefined;
    record.set(semanticsName, semantic);
    let text = `${this.#labelOf(semanticsName)}"${semantic}"`;
    if (head.length === 0) return { text, shape: undefined };
    const { element, template } = head;
    const inner = element === undefined ? lists?.plan(template) : this.#reader.elementPlan(element);
    if (inner === undefined) return undefined;
    const columns = this.#columnsOf(inner);
    if (columns === "other") return undefined;
    const { all, recordLength } = columns;
    const count = head.length / recordLength;
    if (!Number.isInteger(count) || count * all.length > maxValues) return undefined;
    const used = valuesName === undefined ? all.length : 1;
    let shape: ListShape | undefined;
    for (let i = 0; i < used; i++) {
      const column = all[i] as Column;
      const values = valuesOf(column, source, head.at, count, recordLength);
      if (values === undefined || (valuesName !== undefined && values.length < count)) return undefined;
      const [first] = values;
      if (first === undefined) continue;
      const name = placeOf(valuesName ?? column.name, semantic, values.length, presence, record);
      if (name === undefined) return undefined;
      const value: Value = values.length === 1 ? first : values;
      record.set(name, value);
      const said = presence(valuesName ?? column.name);
      if (element !== undefined && used === 1 && (said === "never" || said === "always")) {
        shape = shapeOf(column, text + this.#labelOf(name), head.at - at, count);
      }
      text += this.#labelOf(name) + textOf(value);
    }
    return { text, shape };
  }

  #columnsOf(plan: Plan): Columns | "other" {
    let columns = this.#columnsByPlan.get(plan);
    if (columns === undefined) {
      columns = makeColumns(plan) ?? "other";
      this.#columnsByPlan.set(plan, columns);
    }
    return columns;
  }

  #presenceOf(plan: Plan): (name: string) => Presence {
    let presence = this.#presences.get(plan);
    if (presence === undefined) {
      presence = namePresence(plan, this.#times);
      this.#presences.set(plan, presence);
    }
    return presence;
  }

  #labelOf(name: string): string {
    let label = this.#labels.get(name);
    if (label === undefined) {
      if (this.#labels.size >= maxLabels) this.#labels.clear();
      label = `,${JSON.stringify(name)}:`;
      this.#labels.set(name, label);
    }
    return label;
  }
}

/** The values of a column; undefined when what replaces them has to be found out. */
function valuesOf(column: Column, source: FieldSource, at: number, count: number, stride: number) {
  const { convert, offset, length, hasFallback } = column;
  const values: Scalar[] = [];
  let had = 0;
  for (let i = 0; i < count; i++) {
    const value = convert(source, at + i * stride + offset, length);
    if (value === undefined) {
      if (hasFallback) return undefined;
      continue;
    }
    // The order of names is that of the records which have them first.
    if (had === 0 && i > 0) return undefined;
    had++;
    if (typeof value === "object") values.push(...value);
    else values.push(value);
  }
  return values;
}

/** Under which name values go, as with {@link GatheredValues.putInto}; undefined when there are others of that name. */
function placeOf(
  name: string,
  semantic: ListSemantic,
  count: number,
  presence: (name: string) => Presence,
  record: LineFields,
): string | undefined {
  const isFree = holdsForRecord(semantic) && (count === 1 || !isOfEnd(name));
  const said = presence(name);
  if (isFree && (said === "never" || (said !== "always" && !record.has(name)))) {
    return record.added.has(name) ? undefined : name;
  }
  const listed = nameInList(semantic, name);
  return presence(listed) === "never" && !record.added.has(listed) ? listed : undefined;
}

/** @param text what stands before the values. */
function shapeOf({ convert, length }: Column, text: string, headLength: number, count: number): ListShape | undefined {
  const operation = valueOperation(valueKind(convert), length);
  // A byte in hex takes more than the line has for it.
  if (operation === undefined || (operation.code === layout.opHex && length < 2)) return undefined;
  const isMany = count > 1;
  return { ...operation, headLength, text: isMany ? `${text}[` : text, valueLength: length, isMany };
}

function textOf(value: Value): string {
  if (typeof value === "object") return `[${value.map(textOf).join()}]`;
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" && !Number.isFinite(value) ? "null" : String(value);
}

/** The fields of records that are all of the same length and have nothing but plain fields. */
function makeColumns({ steps, slowSteps, lengths, hasVariableLength, bootTimeField, minLength }: Plan) {
  if (slowSteps.length > 0 || hasVariableLength || bootTimeField >= 0 || steps.length === 0) return undefined;
  const offsets: number[] = [];
  let end = 0;
  for (const length of lengths) {
    offsets.push(end);
    end += length;
  }
  const all: Column[] = [];
  for (const { kind, outputs, when } of steps) {
    const [{ field, name, convert, fallback }] = outputs;
    const length = lengths[field] as number;
    if (kind !== "field" || when !== undefined || length === 0 || /^flow\.(hex|list)\./.test(name)) return undefined;
    all.push({ name, convert, offset: offsets[field] as number, length, hasFallback: fallback !== undefined });
  }
  return { all, recordLength: minLength };
}
