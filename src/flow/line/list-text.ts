import type { RecordFields, Workspace, Scalar, Value } from "../../record/index.ts";
import { toHex } from "../elements/mapping/convert-type.ts";
import type { FieldSource, Convert } from "../elements/mapping/convert-type.ts";
import { bytesLayer, type BytesLayer, type CounterNames } from "../elements/mapping/counter-names.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { ipLengthOf, levelWithin, createPacketSteps, type PacketSteps } from "../wire/packet/packet-steps.ts";
import { createParsedPacket, parsePacket } from "../wire/packet/parse-packet.ts";
import type { Step, StepBook } from "../wire/steps/step-book.ts";
import { createStepList, readPart, type PartRead } from "../wire/steps/steps.ts";
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
import type { FieldPlaces } from "../wire/records/read-sets.ts";
import type { LineFields } from "./line-helpers.ts";
import { namePresence, type Presence, valueKind, valueOperation } from "./write-field.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import * as layout from "../kernel/layout.gen.ts";

/** Makes steps for the kernel of the beginning of a packet in a record, as `putSection` makes fields. */
interface SectionSteps {
  /**
   * Lists the steps of the one section that the records of a plan have.
   *
   * @param record what it has already. Fields that no step can write are added to it.
   * @returns bytes that the steps take in a line at most.
   */
  list(plan: Plan, section: PacketSection, source: FieldSource, record: LineFields): number;
  /** Where the list ends. */
  end(): number;
}

/** What happens to a step in the records of a plan. */
type Use = "add" | "drop" | "part" | "ask";

interface StepUse {
  readonly use: Use;
  /** Whether the record has each of its names. */
  readonly said: readonly Presence[];
  /** Of a block: those of its parts that are not dropped. */
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

interface SectionStepsOptions {
  /** Of the kernel that writes the steps, as the book. */
  readonly workspace: Workspace;
  readonly book: StepBook;
  /** Where the fields of the record at hand are. */
  readonly places: FieldPlaces;
  readonly times: TimeFormat;
  readonly counters: CounterNames;
}

export function createSectionSteps(options: SectionStepsOptions): SectionSteps {
  const { workspace, book, places, times } = options;
  const counters = { bytes: options.counters.bytes.exported, packets: options.counters.packets.exported };
  const list = createStepList(book, workspace);
  const packet = createParsedPacket();
  const uses = new WeakMap<Plan, Uses>();
  const fields: RecordFields = new Map();
  // Most exporters send no packets: their steps take memory, and time.
  let made:
    | { readonly packets: PacketSteps; readonly count: Step; readonly bytes: Readonly<Record<BytesLayer, Step>> }
    | undefined;
  const stepsOfPackets = () =>
    (made ??= {
      packets: createPacketSteps(book),
      count: book.field(counters.packets, "number"),
      bytes: {
        l2: book.field(counters.bytes, "number", [[bytesLayer, "l2"]]),
        l3: book.field(counters.bytes, "number", [[bytesLayer, "l3"]]),
      },
    });

  /** Of the section at hand. */
  let current: Uses = { plan: undefined, bySteps: new Map(), presence: () => "maybe" };
  let record: LineFields | undefined;
  let source: FieldSource | undefined;
  let isEmpty = true;

  const useOf = (step: Step): StepUse => {
    const known = current.bySteps.get(step);
    if (known !== undefined) return known;
    const said = step.names.map(current.presence);
    const found = findUse(step, said);
    const parts = found === "part" ? (step.parts ?? []) : [];
    const use: StepUse = {
      use: found,
      said,
      parts: parts
        .map(([part, offset, read]) => ({ step: part, offset, read: readPart[read], of: useOf(part) }))
        .filter(({ of }) => of.use !== "drop"),
    };
    current.bySteps.set(step, use);
    return use;
  };

  const isThere = (said: Presence, name: string): boolean => {
    if (typeof said === "object")
      return said.values[source?.bytes[places.offsets[said.field] as number] as number] === 1;
    return said === "always" || (said === "maybe" && record?.has(name) === true);
  };
  const has = (name: string): boolean => isThere(current.presence(name), name);

  const ask = (step: Step, value: number, said: readonly Presence[]): void => {
    const { names } = step;
    let had = 0;
    for (let i = 0; i < names.length; i++) if (isThere(said[i] as Presence, names[i] as string)) had++;
    if (had === 0) list.add(step, value);
    if (had === 0 || had === names.length || source === undefined) return;
    fields.clear();
    step.put(fields, value, source);
    for (const [name, each] of fields) {
      if (has(name)) continue;
      list.give(name, each);
      record?.set(name, each);
    }
  };

  const addAs = (step: Step, value: number, { use, said, parts }: StepUse): void => {
    if (use === "add") list.add(step, value);
    else if (use === "ask") ask(step, value, said);
    else if (use === "part" && source !== undefined) {
      for (const part of parts) addAs(part.step, part.read(source.view, value + part.offset), part.of);
    }
  };
  const add = (step: Step, value: number): void => {
    isEmpty = false;
    addAs(step, value, useOf(step));
  };
  const sink = { add };

  const begin = (plan: Plan): void => {
    if (current.plan !== plan) {
      current = uses.get(plan) ?? { plan, bySteps: new Map(), presence: namePresence(plan, times) };
      uses.set(plan, current);
    }
    list.clear();
    isEmpty = true;
  };

  return {
    end: () => list.end,
    list(plan, section, from, of) {
      begin(plan);
      record = of;
      source = from;
      const { start, name, at, length } = findSection(section, from, places);
      if (length === 0) return 0;
      const { packets, count, bytes } = stepsOfPackets();
      const first = startOf(of, from.view, start, at);
      if (first !== undefined) {
        parsePacket(from.bytes, at, at + length, first, packet);
        packets.add(sink, packet, -1, levelWithin(packet, from, of));
      }
      if (isEmpty) list.give(name, toHex(from, at, length) as string);
      else if (start !== "mpls") {
        if (!has(counters.packets)) list.add(count, 1);
        const ownLength = of.get("flow.ie.ipTotalLength");
        const size = has(counters.bytes) ? undefined : sizeOf(of, ownLength, ipLengthOf(packet));
        if (size !== undefined && size.bytes > maxNumber) {
          list.give(bytesLayer, size.layer);
          list.give(counters.bytes, size.bytes);
          of.set(counters.bytes, size.bytes);
        } else if (size !== undefined) list.add(bytes[size.layer], size.bytes);
      }
      return list.takeRoom();
    },
  };
}

function findUse({ parts }: Step, said: readonly Presence[]): Use {
  if (said.every((each) => each === "never")) return "add";
  if (parts !== undefined) return "part";
  return said.every((each) => each === "always") ? "drop" : "ask";
}

export type ListStep = Extract<SlowStep, { kind: "list" }>;

/** Renders the lists that most records with one have: of values or records of fixed length, without lists within. */
interface ListText {
  /**
   * Renders the one list of a record, as it stands in a line. Its names are those of all such records of the plan when it has a shape.
   *
   * @param plan of the record that has it.
   * @param record what it has already; the fields of the list are added to it.
   * @returns undefined when the list is another, or damaged: it then has to be read into fields.
   */
  render(
    plan: Plan,
    list: ListStep,
    source: FieldSource,
    record: LineFields,
    lists: ListSource | undefined,
  ): ListRendered | undefined;
}

interface ListRendered {
  readonly text: string;
  /** What the kernel needs to write all such lists of such records by itself; undefined where it cannot. */
  readonly shape: ListShape | undefined;
}

/** What lists have in common that have the same head, and one value or several. */
export interface ListShape {
  /** Where in the list its values begin. */
  readonly headLength: number;
  /** What stands in the line before the first value. */
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
  /** Whether something else stands in the place of bytes that are no value. */
  readonly hasFallback: boolean;
}

interface Columns {
  readonly all: readonly Column[];
  readonly recordLength: number;
}

/** Longer lists are read into fields, where their values are counted. */
const maxValues = 4096;
const maxLabels = 1024;

/** @param places where the fields of the record at hand are. */
export function createListText(reader: RecordReader, places: FieldPlaces, times: TimeFormat): ListText {
  const columnsByPlan = new WeakMap<Plan, Columns | "other">();
  const presences = new WeakMap<Plan, (name: string) => Presence>();
  const labels = new Map<string, string>();

  const columnsOf = (plan: Plan): Columns | "other" => {
    let columns = columnsByPlan.get(plan);
    if (columns === undefined) {
      columns = makeColumns(plan) ?? "other";
      columnsByPlan.set(plan, columns);
    }
    return columns;
  };

  const presenceOf = (plan: Plan): ((name: string) => Presence) => {
    let presence = presences.get(plan);
    if (presence === undefined) {
      presence = namePresence(plan, times);
      presences.set(plan, presence);
    }
    return presence;
  };

  const labelOf = (name: string): string => {
    let label = labels.get(name);
    if (label === undefined) {
      if (labels.size >= maxLabels) labels.clear();
      label = `,${JSON.stringify(name)}:`;
      labels.set(name, label);
    }
    return label;
  };

  /** The values of a column; undefined when what stands in their place has to be found out. */
  const valuesOf = (column: Column, source: FieldSource, at: number, count: number, stride: number) => {
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
  };

  return {
    render(plan, { structure, field, valuesName }, source, record, lists) {
      const at = places.offsets[field] as number;
      const head = readListHead(structure, source.view, at, places.lengths[field] as number);
      if (head === undefined) return undefined;
      const presence = presenceOf(plan);
      const semantic = listSemantic(source.view.getUint8(at));
      if (presence(semanticsName) !== "never") return undefined;
      record.set(semanticsName, semantic);
      let text = `${labelOf(semanticsName)}"${semantic}"`;
      if (head.length === 0) return { text, shape: undefined };
      const { element, template } = head;
      const inner = element === undefined ? lists?.plan(template) : reader.elementPlan(element);
      if (inner === undefined) return undefined;
      const columns = columnsOf(inner);
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
          shape = shapeOf(column, text + labelOf(name), head.at - at, count);
        }
        text += labelOf(name) + textOf(value);
      }
      return { text, shape };
    },
  };
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
