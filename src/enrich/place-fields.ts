import type { FieldValues, RecordFields, Scalar, Value } from "../record/index.ts";

/** The fields that rules decided once gave to records. */
export type RuledFields = {
  /** Returns their names: the same object until the rules change. */
  readonly names: () => ReadonlySet<string>;
  /** Returns those of the fields to add that a record has, and keeps, by such rules. */
  readonly find: (record: FieldValues, fields: ReadonlyMap<string, Value>) => readonly string[];
};

/**
 * Adds fields to a record so that no name becomes the beginning of another (`site` and `site.name`), for any names. A name that the
 * record already has takes the new value. Other names may change:
 *
 * - A name that other names lie below gets `.value` at its end: `site` becomes `site.value`.
 * - A name below a value of the record gets an underscore for the dot: `flow.src.ip.addr.rack` becomes `flow.src.ip.addr_rack`.
 * - If the name so found is taken, it gets an underscore at its end.
 *
 * Fields are placed in the order of their names, so the outcome does not depend on the order of the map.
 *
 * @returns the names that changed, each with its new name.
 */
export function placeFields(record: RecordFields, fields: ReadonlyMap<string, Value>): Map<string, string> {
  const pending: string[] = [];
  for (const [name, value] of fields) {
    if (record.has(name)) record.set(name, value);
    else pending.push(name);
  }
  const renamed = new Map<string, string>();
  for (const name of pending.sort()) {
    const as = freeName(name, record, fields);
    if (as !== name) renamed.set(name, as);
    record.set(as, fields.get(name) as Value);
  }
  return renamed;
}

/** Returns a free name. It ends, because each step makes the name longer or removes a dot. */
function freeName(name: string, record: RecordFields, fields: ReadonlyMap<string, Value>): string {
  let free = name;
  for (;;) {
    const above = valueAbove(free, record);
    if (above !== undefined) free = `${above}_${free.slice(above.length + 1)}`;
    else if (record.has(free) || (free !== name && fields.has(free))) free += "_";
    else if (hasBelow(free, record.keys()) || hasBelow(free, fields.keys())) free += ".value";
    else return free;
  }
}

/** Returns the name of the record that this name lies below. */
function valueAbove(name: string, record: RecordFields): string | undefined {
  for (let dot = name.indexOf(".", 1); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const above = name.slice(0, dot);
    if (record.has(above)) return above;
  }
  return undefined;
}

function hasBelow(name: string, names: Iterable<string>): boolean {
  const { length } = name;
  for (const other of names) {
    if (other.length > length && other.charCodeAt(length) === 0x2e && other.startsWith(name)) return true;
  }
  return false;
}

/** Collects values by name. A name with several different values gets a list in the order of arrival. */
export function gatherValues(fields: Iterable<readonly [string, Value]>): Map<string, Value> {
  const gathered = new Map<string, Value>();
  for (const [name, value] of fields) {
    const before = gathered.get(name);
    if (before === undefined) gathered.set(name, value);
    else {
      const all = new Set<Scalar>([before, value].flat());
      gathered.set(name, all.size === 1 ? value : [...all]);
    }
  }
  return gathered;
}
