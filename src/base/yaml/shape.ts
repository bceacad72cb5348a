import { nearName, quote } from "../text/index.ts";
import { emptyMapping, FileNode } from "./file-node.ts";
import { faultFinding, ShapeReport, type ShapeFinding } from "./finding.ts";
import { readYaml } from "./read-yaml.ts";
import { isNullNode, YamlFault, type YamlNode, type YamlScalar } from "./yaml-node.ts";

/** A row of the table that documents a format. */
export interface ShapeRow {
  /** The path of the key, such as `tokens.<name>.role`. */
  readonly path: string;
  readonly expected: string;
  readonly isRequired: boolean;
  readonly default: string | undefined;
  readonly text: string;
}

/** Formats the rows of a format as a Markdown table. */
export function shapeTable({ rows }: Shape<unknown>): string {
  const cell = (value: string): string => value.replaceAll("|", "\\|");
  const lines = rows.map(({ path, expected, isRequired, default: absent, text }) => {
    const need = isRequired ? "required" : absent === undefined ? "" : `\`${absent}\``;
    return `| \`${path}\` | ${cell(expected)} | ${cell(need)} | ${cell(text)} |\n`;
  });
  return `| key | value | when it is left out | what |\n|---|---|---|---|\n${lines.join("")}`;
}

/**
 * The form of a value in a file. `read` returns the typed value, or the valid parts of a list or mapping. It reports faults, and returns undefined when
 * nothing valid is left.
 */
export class Shape<T> {
  /** A description to follow the word "expected". */
  readonly expected: string;
  readonly read: (at: FileNode) => T | undefined;
  /** Rows of its content; their paths continue its own. */
  readonly rows: readonly ShapeRow[];

  constructor(expected: string, read: (at: FileNode) => T | undefined, rows: readonly ShapeRow[] = []) {
    this.expected = expected;
    this.read = read;
    this.rows = rows;
  }

  /** Reports whether a node has no content: null, or an empty one where a text is allowed. */
  isAbsent(at: FileNode): boolean {
    return at.isNull || (at.isAbsent && /^a text\b/.test(this.expected));
  }

  /** Returns a shape that converts the value after reading. */
  to<U>(make: (value: T, at: FileNode) => U | undefined): Shape<U> {
    const read = (at: FileNode): U | undefined => {
      const value = this.read(at);
      return value === undefined ? undefined : make(value, at);
    };
    return new Shape(this.expected, read, this.rows);
  }

  /** Returns a shape that reads null as an empty mapping. */
  orEmpty(): Shape<T> {
    return new Shape(this.expected, (at) => this.read(at.orEmpty), this.rows);
  }
}

/** The type that a shape reads. */
export type ShapeValue<S> = S extends Shape<infer T> ? T : never;

/** Options for reading a scalar. */
interface ScalarOptions {
  /** Returns names from which a similar one is suggested. */
  readonly near?: () => Iterable<string>;
  /** True if the content may be a secret, so that no message repeats it. */
  readonly isHidden?: boolean;
  /** True if `null` is an ordinary text. */
  readonly takesNull?: boolean;
}

/**
 * Returns the shape of a text, number or word.
 *
 * @param parse returns undefined for an invalid text; it may have reported why.
 */
export function scalar<T>(
  expected: string,
  parse: (text: string, at: FileNode) => T | undefined,
  { near, isHidden = false, takesNull = false }: ScalarOptions = {},
): Shape<T> {
  return new Shape(expected, (at) => {
    const { node } = at;
    if (node.kind !== "scalar" || node.text === "" || (at.isNull && !takesNull)) return at.expected(expected);
    const { errors } = at.report;
    const value = parse(node.text, at);
    if (value !== undefined || at.report.errors > errors) return value;
    const found = isHidden ? "" : `${expected.includes(", ") ? ";" : ","} found ${quote(node.text)}`;
    return at.error(`expected ${expected}${found}`, near && nearName(node.text, near()));
  });
}

const plainText = "a text";

/** One line of text that is not empty. Messages do not repeat its content, because it may be a secret. */
export const textLine: Shape<string> = new Shape(plainText, (at) => {
  const { node } = at;
  return node.kind === "scalar" && !at.isAbsent && !node.text.includes("\n") ? node.text : at.expected(plainText);
});

/** Returns the shape of one of several words. */
export function oneOf<const T extends string>(values: readonly T[]): Shape<T> {
  return scalar(`one of ${values.join(", ")}`, (given) => values.find((value) => value === given), {
    near: () => values,
  });
}

/** Returns the shape of a whole number between two bounds. */
export function integer(min: number, max: number): Shape<number> {
  return scalar(`a whole number from ${min} to ${max}`, (given) => {
    const value = /^[+-]?\d+$/.test(given) ? Number(given) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** A bool, including the words of YAML 1.1. */
export const bool: Shape<boolean> = scalar("true or false", (given) => {
  if (/^(?:true|yes|on)$/i.test(given)) return true;
  return /^(?:false|no|off)$/i.test(given) ? false : undefined;
});

/** Returns the shape of a list. Messages call its items `each`, or use the name of the list. */
export function list<T>(item: Shape<T>, each?: string): Shape<T[]> {
  const expected = `a list, each ${item.expected}`;
  const read = (at: FileNode): T[] | undefined => {
    if (at.node.kind !== "sequence") return at.expected(expected);
    const values: T[] = [];
    for (const child of at.children(each)) {
      const value = item.read(child);
      if (value !== undefined) values.push(value);
    }
    return values;
  };
  return new Shape(expected, read, below("[]", item.rows));
}

/** Returns the shape of one value or a list of values. */
export function oneOrList<T>(item: Shape<T>): Shape<T[]> {
  const all = list(item);
  const read = (at: FileNode): T[] | undefined => {
    if (at.node.kind === "sequence") return all.read(at);
    const value = item.read(at);
    return value === undefined ? undefined : [value];
  };
  return new Shape(`${item.expected}, or a list of them`, read, item.rows);
}

/** Returns a shape that reads a mapping by one shape, and anything else by another. */
export function mappingOr<T, U>(whole: Shape<T>, other: Shape<U>): Shape<T | U> {
  const expected = `${other.expected}, or ${whole.expected}`;
  const read = (at: FileNode): T | U | undefined => {
    if (at.node.kind === "mapping") return whole.read(at);
    return at.isAbsent ? at.expected(expected) : other.read(at);
  };
  return new Shape(expected, read, other.rows.length > 0 ? other.rows : whole.rows);
}

/** Options of a mapping whose pairs all have the same form. */
interface PairsOptions<K> {
  /** The name of a pair in messages: `user` makes `user alice: …`. */
  readonly each?: string;
  /** The word for the key in paths of the documentation. */
  readonly name?: string;
  /** Returns the identity of a key. Keys with the same identity are duplicates. */
  readonly identity?: (key: K) => unknown;
}

/** Returns the shape of a mapping with keys of one kind, as pairs. */
export function pairsOf<K, V>(key: Shape<K>, value: Shape<V>, options: PairsOptions<K> = {}): Shape<[K, V][]> {
  const { each, name = `<${each ?? "name"}>`, identity = (one) => one } = options;
  const expected = `a mapping from ${key.expected} to ${value.expected}`;
  const read = (at: FileNode): [K, V][] | undefined => {
    if (at.node.kind !== "mapping") return at.expected("a mapping");
    const seen = new Set<unknown>();
    const pairs: [K, V][] = [];
    for (const child of at.children(each)) {
      const given = key.read(child.key);
      if (given !== undefined && seen.size === seen.add(identity(given)).size)
        child.error("is there twice", undefined, "key");
      const found = value.read(child);
      if (given !== undefined && found !== undefined) pairs.push([given, found]);
    }
    return pairs;
  };
  return new Shape(expected, read, below(name, value.rows));
}

/** Returns the shape of a mapping with keys of one kind, as a map. */
export function mapOf<K, V>(key: Shape<K>, value: Shape<V>, options: PairsOptions<K> = {}): Shape<Map<K, V>> {
  return pairsOf(key, value, options).to((pairs) => new Map(pairs));
}

/** A key of a {@link mapping}. `Always` is true where it always has a value. */
export interface Field<T, Always extends boolean> {
  readonly shape: Shape<T>;
  readonly isAlways: Always;
  readonly isRequired: boolean;
  /** The value of a missing key. */
  readonly absent: T | undefined;
  readonly text: string;
  /** Other spellings of the key. */
  readonly also: readonly string[];
}

/** Returns a mandatory key. @param doc a sentence for the documentation of the format. */
export function required<T>(shape: Shape<T>, doc: string): Field<T, true> {
  return { shape, isAlways: true, isRequired: true, absent: undefined, text: doc, also: [] };
}

/** Returns an optional key. */
export function optional<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, false> {
  return { shape, isAlways: false, isRequired: false, absent: undefined, text: doc, also };
}

/** Returns an optional key with a default value. */
export function defaulted<T>(shape: Shape<T>, absent: NoInfer<T>, doc: string): Field<T, true> {
  return { shape, isAlways: true, isRequired: false, absent, text: doc, also: [] };
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>;
type ValueOf<F> = F extends Field<infer T, boolean> ? T : never;
type AlwaysOf<F extends Fields> = { [K in keyof F]: F[K]["isAlways"] extends true ? K : never }[keyof F];

/** The values that a {@link mapping} reads. */
export type Values<F extends Fields> = { readonly [K in AlwaysOf<F>]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, AlwaysOf<F>>]?: ValueOf<F[K]>;
};

interface RecordOptions<F extends Fields> {
  /** The severity of an unknown key. `hint`: an error when it is similar to a known one, else a warning. */
  readonly unknown?: "error" | "warning" | "hint";
  /** True if null and an empty text are errors, rather than missing values. */
  readonly isStrict?: boolean;
  /** Reports which values count as missing, in place of null and the empty text. */
  readonly isAbsent?: (at: FileNode) => boolean;
  /** Reports conflicts between keys; receives the keys that are valid by themselves. */
  readonly check?: (given: Partial<Values<F>>, at: FileNode) => void;
}

/** Maximum number of known keys to list in a message. */
const fewKeys = 12;

/** Returns the shape of a mapping with known keys. Any fault in it makes the whole value undefined. */
export function mapping<F extends Fields>(
  fields: F,
  { unknown = "error", isStrict = false, isAbsent, check }: RecordOptions<F> = {},
): Shape<Values<F>> {
  const rows = Object.entries(fields);
  const names = new Map(rows.flatMap(([name, { also }]) => [name, ...also].map((one) => [one, name] as const)));
  const read = (at: FileNode): Values<F> | undefined => {
    if (at.node.kind !== "mapping") return at.expected("a mapping");
    const { errors } = at.report;
    const given = new Map<string, FileNode>();
    for (const child of at.children()) {
      const name = names.get(String(child.step));
      if (name === undefined) reportUnknown(child, names, unknown);
      else if (!isStrict && (isAbsent?.(child) ?? fields[name]?.shape.isAbsent(child))) continue;
      else if (given.has(name)) child.error(`${name} is there twice`, undefined, "key");
      else given.set(name, child);
    }
    const values: Record<string, unknown> = {};
    for (const [name, { shape, isRequired, absent }] of rows) {
      const child = given.get(name);
      const value = child === undefined ? absent : shape.read(child);
      if (value !== undefined) values[name] = value;
      else if (child === undefined && isRequired) reportMissing(at, name, shape);
    }
    check?.(values as Partial<Values<F>>, at);
    return at.report.errors === errors ? (values as Values<F>) : undefined;
  };
  return new Shape(
    "a mapping",
    read,
    rows.flatMap(([name, field]) => rowsOf(name, field)),
  );
}

function reportUnknown(child: FileNode, names: ReadonlyMap<string, string>, unknown: string): void {
  const near = nearName(String(child.step), names.keys());
  const known = near === undefined && names.size <= fewKeys ? `, expected one of ${[...names.keys()].join(", ")}` : "";
  if (unknown === "error" || (unknown === "hint" && near !== undefined))
    child.error(`unknown key${known}`, near, "key");
  else child.warn("unknown key is ignored", near, "key");
}

function reportMissing(at: FileNode, name: string, { expected }: Shape<unknown>): void {
  const hint = /^a (?:text|list|mapping)\b/.test(expected) ? "" : `: expected ${expected}`;
  at.error(`${name} is missing${hint}`, undefined, "key");
}

function rowsOf(name: string, { shape, isRequired, absent, text: doc }: Field<unknown, boolean>): ShapeRow[] {
  const shown = absent === undefined ? undefined : JSON.stringify(absent);
  return [{ path: name, expected: shape.expected, isRequired, default: shown, text: doc }, ...below(name, shape.rows)];
}

function below(step: string, rows: readonly ShapeRow[]): ShapeRow[] {
  return rows.map((row) => ({ ...row, path: row.path.startsWith("[") ? step + row.path : `${step}.${row.path}` }));
}

/** The value of a text, and its faults. */
export interface ShapeResult<T> {
  /** The value; undefined where the text is no YAML, or has another kind of value. With errors it is a part of the content. */
  readonly value: T | undefined;
  readonly findings: readonly ShapeFinding[];
  readonly hasErrors: boolean;
}

/** Reads a parsed value, such as JSON, as {@link readShape} reads a text. Its findings have no positions. */
export function readShapeOf<T>(given: unknown, shape: Shape<T>): ShapeResult<T> {
  const report = new ShapeReport("");
  const value = shape.read(new FileNode(report, plainNode(given)));
  return { value, findings: report.findings, hasErrors: report.errors > 0 };
}

/** Returns a node for a value. Texts, numbers and bools become scalars in their spelling. */
function plainNode(given: unknown): YamlNode {
  const node = { at: 0, tag: undefined, weight: 1, depth: 1 };
  const scalarOf = (text: string, isPlain: boolean): YamlScalar => ({ ...node, kind: "scalar", text, isPlain });
  if (Array.isArray(given)) return { ...node, kind: "sequence", items: given.map(plainNode) };
  if (typeof given === "string") return scalarOf(given, false);
  if (typeof given !== "object" || given === null)
    return scalarOf(given === undefined ? "~" : JSON.stringify(given), true);
  const pairs = Object.entries(given).map(([key, value]) => ({ key: scalarOf(key, false), value: plainNode(value) }));
  return { ...node, kind: "mapping", pairs };
}

/** Reads a text by its shape, and reports all faults. A text without content is an empty mapping. */
export function readShape<T>(source: string, shape: Shape<T>): ShapeResult<T> {
  const report = new ShapeReport(source);
  let value: T | undefined;
  try {
    const root = readYaml(source, (message, at) => report.add("error", at, message));
    value = shape.read(new FileNode(report, root === undefined || isNullNode(root) ? emptyMapping : root));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return { value, findings: [faultFinding(error)], hasErrors: true };
  }
  return { value, findings: report.findings, hasErrors: report.errors > 0 };
}
