import type { RecordFields } from "../../../record/index.ts";
import { toHex } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { Plan } from "../../exporters/templates/plan.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";
import type { ListStructure } from "../../elements/registry/information-element.ts";
import { createGatheredValues, semanticsName, type GatheredValues } from "./gathered-values.ts";
import { readListHead } from "./list-head.ts";
import { listSemantic } from "./list-semantic.ts";

/** Why a list is not decoded. */
export type ListProblem = "list_template" | "bad_list";

/** What lists need in addition to their bytes. */
export interface ListSource {
  /** The plan of a template of the same exporter and domain; undefined when there is none. */
  plan(templateId: number): Plan | undefined;
  /** A list, or a part of one, stays bytes. */
  problem(reason: ListProblem, detail: Readonly<Record<string, string | number>>): void;
}

/** What reading a list needs of the reader of records. */
export interface ListReader {
  /** The plan of records that have this field alone; undefined when they would take no bytes. */
  planOf(field: FieldSpecifier): Plan | undefined;
  /** Reads records that fill a range without padding, until `take` returns false. Returns whether it read them all. */
  readExactly(plan: Plan, start: number, end: number, take: (record: RecordFields) => boolean): boolean;
  readonly lists: ListSource;
  /** Whether lists are nested too deeply for this one to be read. */
  readonly isTooDeep: boolean;
}

/** How deeply lists may be nested; RFC 6313 section 9 leaves the limit to the collector. */
export const maxListDepth = 4;

/** The values of all lists of one record together. Each takes bytes or is an empty text, so this is only for the hostile. */
export const maxListValues = 65_536;

/** A field that is a list. */
export interface ListField {
  readonly structure: ListStructure;
  /** Where the values of a basicList go; undefined is under the name of its elements. */
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
