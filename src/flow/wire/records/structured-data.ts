import type { FieldsUnderWay, RecordFields, Scalar, Value, FieldValues } from "../../../record/index.ts";
import type { ListStructure } from "../../elements/registry/information-element.ts";
import type { FieldSpecifier, PacketSection, SectionStart, Plan } from "../../exporters/plan.ts";
import { toHex, toUnsigned } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/convert-type.ts";
import { bytesLayer, type BytesLayer, type CounterNames } from "../../elements/mapping/element-names.ts";
import type { PacketFields } from "../packet/packet-steps.ts";
import type { PacketStart } from "../packet/parse-headers.ts";

/**
 * The relation of a list of RFC 6313 to its elements (IANA, "IPFIX Structured Data Types Semantics"), as a segment of a name.
 * A value that is not assigned counts as undefined.
 */
export type ListSemantic = "none_of" | "exactly_one_of" | "one_or_more_of" | "all_of" | "ordered" | "undefined";

const semantics: readonly ListSemantic[] = ["none_of", "exactly_one_of", "one_or_more_of", "all_of", "ordered"];

export function listSemantic(code: number): ListSemantic {
  return semantics[code] ?? "undefined";
}

/** Tells whether all elements are properties of the record that has the list; of the others this is not known, or not so. */
export function holdsForRecord(semantic: ListSemantic): boolean {
  return semantic === "all_of" || semantic === "ordered" || semantic === "undefined";
}

/** The values that the lists of one record hold, by name, until all are read. */
interface GatheredValues {
  /** Takes the fields of a record within a list. Returns false when there are too many values by now. */
  add(semantic: ListSemantic, fields: RecordFields): boolean;
  /** Takes over what another has. Returns false when there are too many values by now. */
  addAll(others: GatheredValues): boolean;
  /**
   * Puts the values into the record that has the lists: one as it is, several as an array. They go under their own
   * names where the record has none of that name and the semantic says that they are its properties; else under
   * `flow.list.<semantic>.<name without flow.>`. A flow has one address and one port at each end: several of them go there, too.
   */
  putInto(record: FieldsUnderWay): void;
  readonly entries: ReadonlyMap<string, GatheredName>;
}

interface GatheredName {
  readonly semantic: ListSemantic;
  readonly name: string;
  readonly values: Scalar[];
}

/** Names of lists themselves: they stand for themselves, whatever list a record is in. */
const listNames = "flow.list.";
const ofEnds: ReadonlySet<string> = new Set(
  ["flow.src", "flow.dst"].flatMap((end) => [`${end}.ip.addr`, `${end}.l4.port.id`]),
);
/** Tells whether a flow has only one value of a name: its addresses and ports. */
export function isOfEnd(name: string): boolean {
  return ofEnds.has(name);
}

export const semanticsName = `${listNames}semantics`;

/** @param maxValues in all. */
export function createGatheredValues(maxValues: number): GatheredValues {
  const entries = new Map<string, GatheredName>();
  let count = 0;

  /** The name that was taken last: the values of one follow each other. */
  let last: GatheredName | undefined;
  const entryOf = (semantic: ListSemantic, name: string): GatheredName => {
    if (last?.name === name && last.semantic === semantic) return last;
    const key = `${semantic} ${name}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { semantic, name, values: [] };
      entries.set(key, entry);
    }
    last = entry;
    return entry;
  };

  const take = (semantic: ListSemantic, name: string, value: Value): void => {
    const { values } = entryOf(semantic, name);
    if (typeof value !== "object") {
      values.push(value);
      count++;
      return;
    }
    for (const each of value) values.push(each);
    count += value.length;
  };

  return {
    entries,
    add(semantic, fields) {
      for (const [name, value] of fields) {
        take(semantic, name, value);
        if (count > maxValues) return false;
      }
      return true;
    },
    addAll(others) {
      for (const { semantic, name, values } of others.entries.values()) take(semantic, name, values);
      return count <= maxValues;
    },
    putInto(record) {
      for (const { semantic, name, values } of entries.values()) {
        const isOne = values.length === 1 || !ofEnds.has(name);
        const isFree = name.startsWith(listNames) || (isOne && holdsForRecord(semantic));
        const final = isFree && !record.has(name) ? name : nameInList(semantic, name);
        const before = record.get(final);
        const all = before === undefined ? values : [before, values].flat();
        const [first] = all;
        if (first !== undefined) record.set(final, all.length === 1 ? first : all);
      }
    },
  };
}

/** The name of values of a list that are not those of the record. */
export function nameInList(semantic: ListSemantic, name: string): string {
  return name.startsWith(listNames) ? name : `${listNames}${semantic}.${name.replace(/^flow\./, "")}`;
}

/** The head of a basicList or subTemplateList (RFC 6313 section 4.5), and where its content is. */
interface ListHead {
  /** The element of a basicList. */
  readonly element: FieldSpecifier | undefined;
  /** The template of a subTemplateList. */
  readonly template: number;
  readonly at: number;
  readonly length: number;
}

const enterpriseBit = 0x8000;
const none = 0;

/** @returns undefined when the list is shorter than its head, or a subTemplateMultiList, whose parts have heads of their own. */
export function readListHead(
  structure: ListStructure,
  view: DataView,
  at: number,
  length: number,
): ListHead | undefined {
  if (structure === "subTemplateList") {
    if (length < 3) return undefined;
    return { element: undefined, template: view.getUint16(at + 1), at: at + 3, length: length - 3 };
  }
  if (structure !== "basicList" || length < 5) return undefined;
  const id = view.getUint16(at + 1);
  const hasPen = id >= enterpriseBit;
  const head = hasPen ? 9 : 5;
  if (length < head) return undefined;
  const pen = hasPen ? view.getUint32(at + 5) : 0;
  const element = { pen, id: hasPen ? id - enterpriseBit : id, length: view.getUint16(at + 3) };
  return { element, template: none, at: at + head, length: length - head };
}

/** The location of a field of a record, and its name for bytes that are no value. */
export interface FieldSpan {
  readonly at: number;
  readonly length: number;
  readonly hexName: string;
}

/**
 * Puts a stack of MPLS labels into a record, the top first (mplsTopLabelStackSection to mplsLabelStackSection10, RFC 3032:
 * 20 bits of label, three of experimental use, one at the bottom of the stack, with or without a byte of time to
 * live). Exporters have as many fields as they can give and fill those behind the stack with zeros: these are left out.
 */
export function putLabels(record: FieldsUnderWay, source: FieldSource, spans: readonly FieldSpan[]): void {
  const entries: number[] = [];
  for (const { at, length, hexName } of spans) {
    if (length === 3) entries.push(toUnsigned(source, at, 3) as number);
    else if (length === 4) entries.push((toUnsigned(source, at, 4) as number) >>> 8);
    else if (length > 0) addHex(record, hexName, toHex(source, at, length) as Scalar);
  }
  while (entries.at(-1) === 0) entries.pop();
  const [top] = entries;
  if (top === undefined) return;
  record.set(
    "mpls.label.id",
    entries.map((entry) => entry >>> 4),
  );
  record.set(
    "mpls.label.exp",
    entries.map((entry) => (entry >>> 1) & 7),
  );
  record.set(
    "mpls.label.bottom",
    entries.map((entry) => (entry & 1) === 1),
  );
  record.set("mpls.top_label.id", top >>> 4);
}

function addHex(record: FieldsUnderWay, name: string, value: Scalar): void {
  const before = record.get(name);
  record.set(name, before === undefined ? value : [before, value].flat());
}

/** A field with a part of a packet. */
interface SectionField {
  /** Undefined: it is not the beginning. */
  readonly start: SectionStart | undefined;
  /** For its bytes, where they are no such packet. */
  readonly name: string;
  readonly at: number;
  readonly length: number;
}

/** IANA, "dataLinkFrameType". */
const frameTypes: ReadonlyMap<unknown, PacketStart> = new Map([
  [1, "ethernet"],
  [2, "wireless"],
]);

/** Finds a section of a packet in the record whose fields have been located at these offsets, without what fills it up. */
export function findSection(
  { field, start, name, offsetField, sizeField }: PacketSection,
  source: FieldSource,
  { offsets, lengths }: Readonly<Record<"offsets" | "lengths", Int32Array>>,
): SectionField {
  const numberOf = (of: number): number | bigint | undefined => {
    const length = lengths[of] ?? 0;
    return length === 0 ? undefined : toUnsigned(source, offsets[of] as number, length);
  };
  const offset = numberOf(offsetField) ?? 0;
  const size = numberOf(sizeField);
  const length = lengths[field] as number;
  return {
    start: offset === 0 ? start : undefined,
    name,
    at: offsets[field] as number,
    length: typeof size === "number" ? Math.min(size, length) : length,
  };
}

/**
 * Puts into a record what the beginning of a packet says and the record itself does not. A record with a packet stands for
 * that packet: where it has no counters, it is one packet of the bytes that the record says it had (dataLinkFrameSize),
 * else of those of its IP header. Bytes in which there are no headers stay bytes.
 */
export function putSection(
  record: FieldsUnderWay,
  source: FieldSource,
  section: SectionField,
  packets: PacketFields,
  { bytes, packets: count }: CounterNames,
): void {
  const { start, name, at, length } = section;
  const first = startOf(record, source.view, start, at);
  const ownLength = record.get("flow.ie.ipTotalLength");
  const said = first && packets.read(source, at, at + length, first, record);
  if (said === undefined || said.size === 0) {
    const hex = toHex(source, at, length) as Scalar;
    const before = record.get(name);
    record.set(name, before === undefined ? hex : [before, hex].flat());
    return;
  }
  for (const [each, value] of said) if (!record.has(each)) record.set(each, value);
  if (start === "mpls") return;
  if (!record.has(count.exported)) record.set(count.exported, 1);
  const size = record.has(bytes.exported) ? undefined : sizeOf(record, ownLength, packets.ipLength);
  if (size === undefined) return;
  record.set(bytesLayer, size.layer);
  record.set(bytes.exported, size.bytes);
}

/**
 * The bytes of a record that has no counter of them.
 *
 * @param ownLength what the record itself says in ipTotalLength. @param ipLength by the IP header, -1 when there is none.
 */
export function sizeOf(
  record: FieldValues,
  ownLength: Value | undefined,
  ipLength: number,
): { readonly bytes: number; readonly layer: BytesLayer } | undefined {
  const frame = record.get("flow.ie.dataLinkFrameSize");
  const bytes = frame ?? ownLength ?? ipLength;
  return typeof bytes === "number" && bytes > 0 ? { bytes, layer: frame === undefined ? "l3" : "l2" } : undefined;
}

/** Returns what a section begins with; undefined when it is none that can be parsed. */
export function startOf(
  record: FieldValues,
  view: DataView,
  start: SectionStart | undefined,
  at: number,
): PacketStart | undefined {
  if (start === "ethernet") {
    const type = record.get("flow.ie.dataLinkFrameType");
    return type === undefined ? "ethernet" : frameTypes.get(type);
  }
  if (start === "mpls" || start === undefined) return start;
  const version = view.getUint8(at) >> 4;
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}

/** Why a list is not decoded. */
type ListProblem = "list_template" | "bad_list";

/** The source of what lists need in addition to their bytes. */
export interface ListSource {
  /** The plan of a template of the same exporter and domain; undefined when there is none. */
  plan(templateId: number): Plan | undefined;
  /** A list, or a part of one, stays bytes. */
  problem(reason: ListProblem, detail: Readonly<Record<string, string | number>>): void;
}

/** The functions of the reader of records that reading a list needs. */
export interface ListReader {
  /** The plan of records that have this field alone; undefined when they would take no bytes. */
  planOf(field: FieldSpecifier): Plan | undefined;
  /** Reads records that fill a range without padding, until `take` returns false. Returns whether it read them all. */
  readExactly(plan: Plan, start: number, end: number, take: (record: RecordFields) => boolean): boolean;
  readonly lists: ListSource;
  /** True if lists are nested too deeply for this one to be read. */
  readonly isTooDeep: boolean;
}

/** The depth to which lists may be nested; RFC 6313 section 9 leaves the limit to the collector. */
export const maxListDepth = 4;

/** The values of all lists of one record together. Each takes bytes or is an empty text, so this is only for the hostile. */
export const maxListValues = 65_536;

/** A field that is a list. */
interface ListField {
  readonly structure: ListStructure;
  /** The name for the values of a basicList; undefined is under the name of its elements. */
  readonly valuesName: string | undefined;
  readonly hexName: string;
  readonly at: number;
  readonly length: number;
}

/**
 * Reads a list of RFC 6313 (section 4.5): a basicList, a subTemplateList or a subTemplateMultiList. What cannot be read
 * stays bytes under the list's own name in hex, and is reported: a whole list when it is malformed or its template is not
 * known; of a subTemplateMultiList only the parts whose templates are not known.
 */
export function readList(reader: ListReader, source: FieldSource, list: ListField, into: GatheredValues): void {
  const { structure, valuesName, hexName, at, length } = list;
  const end = at + length;
  const { lists } = reader;
  const stayBytes = (gathered: GatheredValues, start: number, stop: number): boolean =>
    gathered.add("undefined", new Map([[hexName, toHex(source, start, stop - start) ?? ""]]));
  const fail = (reason: ListProblem, detail: Readonly<Record<string, string | number>>): void => {
    lists.problem(reason, detail);
    stayBytes(into, at, end);
  };
  const gathered = createGatheredValues(maxListValues);
  const semantic = length > 0 ? listSemantic(source.view.getUint8(at)) : "undefined";
  gathered.add(semantic, new Map([[semanticsName, semantic]]));
  const outcome = readStructure();
  if (outcome !== undefined) fail(outcome.reason, outcome.detail);
  else if (!into.addAll(gathered)) lists.problem("bad_list", { why: "too many values" });

  function readStructure(): { reason: ListProblem; detail: Record<string, string | number> } | undefined {
    if (reader.isTooDeep) return bad("nested too deeply");
    if (structure === "basicList") return readBasicList();
    return structure === "subTemplateList" ? readSubTemplateList() : readSubTemplateMultiList();
  }

  function bad(why: string) {
    return { reason: "bad_list", detail: { why } } as const;
  }

  function readRecords(plan: Plan, start: number, stop: number) {
    let hasRoom = true;
    const isWhole = reader.readExactly(plan, start, stop, (record) => {
      hasRoom = gathered.add(semantic, valuesName === undefined ? record : renamed(record, valuesName));
      return hasRoom;
    });
    if (!hasRoom) return bad("too many values");
    return isWhole ? undefined : bad("its records do not fill it");
  }

  function readBasicList() {
    const head = readListHead(structure, source.view, at, length);
    if (head?.element === undefined) return bad("shorter than its header");
    if (head.length === 0) return undefined;
    const plan = reader.planOf(head.element);
    return plan === undefined ? bad("its elements have no bytes") : readRecords(plan, head.at, end);
  }

  function readSubTemplateList() {
    const head = readListHead(structure, source.view, at, length);
    if (head === undefined) return bad("shorter than its header");
    if (head.length === 0) return undefined;
    const { template } = head;
    const plan = lists.plan(template);
    if (plan === undefined) return { reason: "list_template", detail: { template } } as const;
    return readRecords(plan, head.at, end);
  }

  function readSubTemplateMultiList() {
    if (length < 1) return bad("shorter than its header");
    let position = at + 1;
    while (position < end) {
      if (end - position < 4) return bad("a part is shorter than its header");
      const template = source.view.getUint16(position);
      const next = position + source.view.getUint16(position + 2);
      if (next < position + 4 || next > end) return bad("a part does not fit");
      const plan = lists.plan(template);
      if (plan === undefined) {
        lists.problem("list_template", { template });
        stayBytes(gathered, position, next);
      } else {
        const problem = readRecords(plan, position + 4, next);
        if (problem !== undefined) return problem;
      }
      position = next;
    }
    return undefined;
  }
}

/** The value of a record of one element under another name; bytes that are no value and lists keep theirs. */
function renamed(record: RecordFields, to: string): RecordFields {
  for (const [name, value] of record) {
    return /^flow\.(hex|list)\./.test(name) ? record : new Map([[to, value]]);
  }
  return record;
}
