import type { FieldsUnderWay, RecordFields, Scalar, Value } from "../../../record/index.ts";
import { holdsForRecord, type ListSemantic } from "./list-semantic.ts";

/** What the lists of one record hold, by name, until all are read. */
export interface GatheredValues {
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

export interface GatheredName {
  readonly semantic: ListSemantic;
  readonly name: string;
  readonly values: Scalar[];
}

/** Names of lists themselves: they stand for themselves, whatever list a record is in. */
const listNames = "flow.list.";
const ofEnds: ReadonlySet<string> = new Set(
  ["flow.src", "flow.dst"].flatMap((end) => [`${end}.ip.addr`, `${end}.l4.port.id`]),
);
/** Whether a flow has only one value of a name: its addresses and ports. */
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
