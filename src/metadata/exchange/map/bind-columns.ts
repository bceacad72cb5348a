import { isObject } from "../rows/json-rows.ts";
import { nearName, quote } from "../../../base/text/index.ts";
import { metadataColumn, plainName, type ColumnMap, type ColumnRule, type Target } from "./column-map.ts";

/** The error for a cell that does not fit its field. The message is the reason. */
export class CellFault extends Error {}

/** Returns the texts of a cell: one, several of a list, or none. Numbers and Booleans have the text of JSON. */
export function cellTexts(cell: unknown): readonly string[] {
  if (typeof cell === "string") return cell === "" ? [] : [cell];
  if (cell === undefined || cell === null) return [];
  if (Array.isArray(cell)) return cell.flatMap(cellTexts);
  if (typeof cell === "number" && Number.isInteger(cell) && !Number.isSafeInteger(cell)) {
    throw new CellFault(`the number ${cell} is not exact in JSON: write it as a text`);
  }
  if (typeof cell === "number" || typeof cell === "boolean") return [String(cell)];
  throw new CellFault("the value is an object: name one of its fields, as in tenant.name");
}

/** Returns the value at a path of names (`tenant.name`) in an object. In a list, it takes the value of each item. */
function valueAt(values: unknown, path: readonly string[]): unknown {
  let at = values;
  for (let i = 0; i < path.length; i++) {
    if (Array.isArray(at)) return at.map((item) => valueAt(item, path.slice(i)));
    if (!isObject(at)) return undefined;
    const name = path[i] as string;
    if (!Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** Returns the last whole number in a text, or the text where it has none. */
function lastNumber(text: string): string {
  const numbers = text.match(/\d+/g);
  return numbers === null ? text : (numbers[numbers.length - 1] as string).replace(/^0+(?=\d)/, "");
}

const trueTexts: ReadonlySet<string> = new Set(["true", "yes", "on", "y", "t", "1", "x"]);
const falseTexts: ReadonlySet<string> = new Set(["false", "no", "off", "n", "f", "0", ""]);

export function cellBool(text: string): boolean {
  const plain = text.toLowerCase();
  if (trueTexts.has(plain)) return true;
  if (falseTexts.has(plain)) return false;
  throw new CellFault("must be true or false, yes or no, 1 or 0");
}

export function cellVlan(text: string): bigint {
  if (text === "") return 0n;
  if (!/^\d{1,20}$/.test(text)) throw new CellFault("must be a whole number");
  return BigInt(text);
}

/** Returns the prefix length for a length (`24`, `/24`) or a network mask (`255.255.255.0`). */
export function maskLength(text: string): string {
  const plain = text.startsWith("/") ? text.slice(1) : text;
  if (/^\d{1,3}$/.test(plain)) return plain;
  const parts = plain.split(".");
  if (parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) {
    const bits = parts.map((part) => Number(part).toString(2).padStart(8, "0")).join("");
    if (/^1*0*$/.test(bits)) return String(bits.lastIndexOf("1") + 1);
  }
  throw new CellFault("is neither a prefix length nor a network mask");
}

/** Splits a text. `\` stands before a separator that belongs to a part, and before another `\`. */
function splitEscaped(text: string, separator: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && i + 1 < text.length) part += text[++i];
    else if (text.startsWith(separator, i)) {
      parts.push(part);
      part = "";
      i += separator.length - 1;
    } else part += text[i];
  }
  return [...parts, part];
}

/** Returns the value of a row in a column or at a path. */
type Get = (values: unknown) => unknown;

/** A rule with the positions of its columns in the present rows. */
export interface Binding {
  readonly rule: ColumnRule;
  readonly gets: readonly Get[];
  readonly masks: readonly Get[];
  readonly untils: readonly Get[];
  /** The name of the column, for faults. */
  readonly column: string;
}

export interface Bindings {
  readonly all: readonly Binding[];
  readonly where: readonly { readonly get: Get; readonly texts: ReadonlySet<string> }[];
  /** Faults for columns that the map needs and the header lacks. */
  readonly faults: readonly { readonly column: string; readonly field: string; readonly reason: string }[];
}

/** Finds the columns of a map in a header. */
export function bindHeader(map: ColumnMap, header: readonly string[]): Bindings {
  const same = map.isExact ? (name: string): string => name : plainName;
  const indices = new Map<string, number>();
  header.forEach((name, i) => {
    if (!indices.has(same(name))) indices.set(same(name), i);
  });
  const used = new Set<number>();
  const getsOf = (columns: readonly string[] | undefined): Get[] =>
    (columns ?? []).flatMap((column) => {
      const index = indices.get(same(column));
      if (index === undefined) return [];
      used.add(index);
      return [(values: unknown) => (values as readonly string[])[index]];
    });
  const faults: { column: string; field: string; reason: string }[] = [];
  const miss = (column: string, field: string): void => {
    const near = nearName(column, header);
    const hint = near === undefined ? `the header has ${header.map(quote).join(", ")}` : `did you mean ${quote(near)}?`;
    faults.push({ column, field, reason: `there is no column ${quote(column)}: ${hint}` });
  };

  const all: Binding[] = [];
  for (const rule of map.rules) {
    const gets = getsOf(rule.from);
    const binding = { rule, gets, masks: getsOf(rule.mask), untils: getsOf(rule.until) };
    const column = rule.from.find((name) => indices.has(same(name)));
    const shown = column === undefined ? undefined : header[indices.get(same(column)) as number];
    if (gets.length > 0 || rule.default !== undefined) all.push({ ...binding, column: shown ?? rule.from[0] ?? "" });
    if (gets.length === 0 && rule.isOptional !== true) miss(rule.from[0] ?? "", rule.to);
  }
  const where = [...map.where].map(([column, texts]) => {
    const [get] = getsOf([column]);
    if (get === undefined) miss(column, "");
    return { get: get ?? (() => undefined), texts: new Set(texts) };
  });
  header.forEach((name, index) => {
    if (used.has(index) || name === "") return;
    const to = restTarget(map, name);
    if (to === undefined) return;
    if (to === "refused") faults.push({ column: name, field: "", reason: `unknown column ${quote(name)}` });
    else {
      all.push({
        rule: { from: [name], to },
        gets: [(values) => (values as readonly string[])[index]],
        masks: [],
        untils: [],
        column: name,
      });
    }
  });
  if (!all.some(({ rule }) => rule.to === "key")) {
    const wanted = map.rules.filter((rule) => rule.to === "key").flatMap((rule) => rule.from);
    const reason = `no column has the keys: expected one of ${wanted.map(quote).join(", ")}; the header has ${header.map(quote).join(", ")}`;
    faults.unshift({ column: "", field: "key", reason });
  }
  return { all, where, faults };
}

/** Returns the target of a column without a rule; undefined where it is ignored. */
function restTarget(map: ColumnMap, name: string): Target | "refused" | undefined {
  if (name.startsWith(metadataColumn) && name.length > metadataColumn.length) return name as Target;
  if (map.rest === "refuse") return "refused";
  return map.rest === "metadata" ? `metadata:${name.trim().replaceAll(/\s+/g, "_")}` : undefined;
}

/** Binds a map to an object. The names of its properties are compared as those of columns. */
export function createObjectBinder(map: ColumnMap): (values: Readonly<Record<string, unknown>>) => Bindings {
  const plainNames = new Map<string, string>();
  const plain = (name: string): string => {
    const known = plainNames.get(name);
    if (known !== undefined) return known;
    const made = map.isExact ? name : plainName(name);
    if (plainNames.size < 10_000) plainNames.set(name, made);
    return made;
  };
  const known = new Map<string, Bindings>();
  /** Most objects of a list have the same names, so the last bindings are reused. */
  return (values) => {
    const names = Object.keys(values);
    const shape = names.join("\n");
    const found = known.get(shape);
    if (found !== undefined) return found;
    const bindings = bindNames(map, names, plain);
    if (known.size >= 100) known.clear();
    known.set(shape, bindings);
    return bindings;
  };
}

function bindNames(map: ColumnMap, names: readonly string[], plain: (name: string) => string): Bindings {
  const own = new Map(names.map((name) => [plain(name), name]));
  const used = new Set<string>();
  const getsOf = (columns: readonly string[] | undefined): Get[] =>
    (columns ?? []).flatMap((column) => {
      const [first = "", ...rest] = own.has(plain(column)) ? [column] : column.split(".");
      const name = own.get(plain(first));
      if (name === undefined) return [];
      used.add(name);
      const path = [name, ...rest];
      return [(values: unknown) => valueAt(values, path)];
    });
  const all: Binding[] = [];
  for (const rule of map.rules) {
    const binding = { rule, gets: getsOf(rule.from), masks: getsOf(rule.mask), untils: getsOf(rule.until) };
    if (binding.gets.length > 0 || rule.default !== undefined) all.push({ ...binding, column: rule.from[0] ?? "" });
  }
  const where = [...map.where].map(([column, texts]) => {
    return { get: getsOf([column])[0] ?? (() => undefined), texts: new Set(texts) };
  });
  const faults: { column: string; field: string; reason: string }[] = [];
  for (const name of names) {
    const to = used.has(name) ? undefined : restTarget(map, name);
    if (to === "refused") faults.push({ column: name, field: "", reason: `unknown field ${quote(name)}` });
    else if (to !== undefined) {
      const get = (values: unknown): unknown => (values as Readonly<Record<string, unknown>>)[name];
      all.push({ rule: { from: [name], to }, gets: [get], masks: [], untils: [], column: name });
    }
  }
  return { all, where, faults };
}

/**
 * Returns the texts of a binding for a row, after all steps of its rule.
 *
 * @param isOwnSheet true where the cells have the form that the export writes.
 */
export function boundTexts(binding: Binding, values: unknown, trims: boolean, isOwnSheet: boolean): readonly string[] {
  const { rule } = binding;
  let texts = firstTexts(binding.gets, values, trims);
  if (texts.length > 0) {
    if (isOwnSheet && rule.split !== undefined)
      texts = texts.flatMap((text) => splitEscaped(text, rule.split as string));
    else if (isOwnSheet) texts = texts.map((text) => (text.startsWith("\\") ? text.slice(1) : text));
    else if (rule.split !== undefined && trims) {
      texts = texts.flatMap((text) => text.split(rule.split as string).map((part) => part.trim()));
    }
    if (rule.take !== undefined) texts = texts.map((text) => taken(text, rule.take as "host" | "number"));
    if (rule.values !== undefined) texts = texts.map((text) => rule.values?.get(text) ?? text);
    if (trims && texts.includes("")) texts = texts.filter((text) => text !== "");
  }
  return texts.length === 0 && rule.default !== undefined ? [rule.default] : texts;
}

/** Returns the texts of the first column that is not empty. */
export function firstTexts(gets: readonly Get[], values: unknown, trims: boolean): readonly string[] {
  let fault: unknown;
  for (const get of gets) {
    let texts: readonly string[];
    try {
      const cell = get(values);
      if (typeof cell === "string") {
        const text = trims ? cell.trim() : cell;
        if (text === "") continue;
        return [text];
      }
      texts = cellTexts(cell);
    } catch (error) {
      // `tenant` may be an object whose name is in another column of the rule.
      if (!(error instanceof CellFault)) throw error;
      fault ??= error;
      continue;
    }
    if (trims && texts.length > 0) texts = texts.map((text) => text.trim()).filter((text) => text !== "");
    if (texts.length > 0) return texts;
  }
  if (fault !== undefined && fault instanceof Error) throw fault;
  return none;
}

const none: readonly string[] = [];

function taken(text: string, take: "host" | "number"): string {
  if (take === "number") return lastNumber(text);
  const slash = text.indexOf("/");
  return slash < 0 ? text : text.slice(0, slash);
}
