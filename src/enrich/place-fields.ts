import type { FieldValues, RecordFields, Scalar, Value } from "../record/index.ts";

/** Returns which of the fields that a record is about to get it has by rules that are decided once, and keeps. */
export type FindRuled = (record: FieldValues, fields: ReadonlyMap<string, Value>) => readonly string[];

/**
 * Adds fields to a record so that no name becomes the beginning of another (`site` and `site.name`), whatever the
 * names are. A name that the record has already takes the new value. Of the others
 *
 * - one that other names lie below goes out with `.value` after it: `site` as `site.value`;
 * - one that lies below a value of the record goes out with an underscore for the dot: `flow.src.ip.addr.rack` as
 *   `flow.src.ip.addr_rack`;
 * - an underscore is put after a name so found that is taken.
 *
 * Fields are placed in the order of their names, so the outcome does not depend on the order of the map.
 *
 * @returns the names of those that had to go out under another one, and that one.
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

/** Ends because each step makes the name longer or lessens its dots. */
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

/** The name of the record that the name lies below. */
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

/** Collects values by name: one is itself, several different ones of a name are a list in the order of arrival. */
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
