import type { Scalar, Value } from "../../../record/index.ts";
import type { Convert, FieldSource } from "../../elements/mapping/field-source.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Plan, SlowStep } from "../../exporters/templates/plan.ts";
import { isOfEnd, nameInList, semanticsName } from "../../wire/structured/gathered-values.ts";
import { holdsForRecord, listSemantic, type ListSemantic } from "../../wire/structured/list-semantic.ts";
import { readListHead } from "../../wire/structured/list-head.ts";
import type { ListSource } from "../../wire/structured/read-list.ts";
import type { FieldPlaces } from "../../wire/template/read-step.ts";
import type { RecordReader } from "../../wire/template/record-reader.ts";
import { namePresence, type Presence } from "../program/name-presence.ts";
import { valueKind } from "../program/value-kind.ts";
import { valueOperation } from "../program/write-field.ts";
import * as layout from "../../kernel/layout.ts";
import type { LineFields } from "./line-fields.ts";

export type ListStep = Extract<SlowStep, { kind: "list" }>;

/** Renders the lists that most records with one have: of values or records of fixed length, without lists within. */
export interface ListText {
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

export interface ListRendered {
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
