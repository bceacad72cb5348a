import { nearName, quote } from "../text/index.ts";
import { readYaml } from "./read-yaml.ts";
import { createPositions, isNullNode, mergedPairs, YamlFault, type TextPosition, type YamlNode } from "./yaml-node.ts";

/** Something wrong with a file that is read by a {@link Shape}. */
export interface ShapeFinding extends TextPosition {
  readonly severity: "error" | "warning";
  /** The keys, and the parts of lists, that lead there: `["attribute ifName", "syntax"]`. */
  readonly about: readonly string[];
  readonly message: string;
  /** What was probably meant. */
  readonly suggestion: string | undefined;
}

/** `12:7: attribute ifName: syntax: unknown … (did you mean "Counter64"?)`, to stand behind the name of the file. */
export function formatShapeFinding({ line, column, about, message, suggestion }: ShapeFinding): string {
  const hint = suggestion === undefined ? "" : ` (did you mean "${suggestion}"?)`;
  return `${line}:${column}: ${[...about, message].join(": ")}${hint}`;
}

/** A file has no more errors or warnings that are worth reading. */
const maxFindings = 1000;

/** Collects what is wrong with one text. */
export class ShapeReport {
  readonly #positionOf: (offset: number) => TextPosition;
  readonly #findings: (Omit<ShapeFinding, keyof TextPosition> & { readonly at: number })[] = [];
  /** Counts those that are not kept, too. */
  errors = 0;
  #warnings = 0;
  readonly #most: number;

  /** @param most more errors, or warnings, than these are counted only. */
  constructor(text: string, most = maxFindings) {
    this.#positionOf = createPositions(text);
    this.#most = most;
  }

  add(
    severity: ShapeFinding["severity"],
    at: number,
    about: readonly string[],
    message: string,
    suggestion?: string,
  ): void {
    const count = severity === "error" ? ++this.errors : ++this.#warnings;
    if (count <= this.#most) this.#findings.push({ severity, at, about, message, suggestion });
  }

  /** Returns all findings in the order of the text. */
  get findings(): readonly ShapeFinding[] {
    // Positions are found fast when they are asked for in the order of the text.
    const inOrder = this.#findings.toSorted((a, b) => a.at - b.at);
    return inOrder.map(({ severity, at, about, message, suggestion }) => {
      const { line, column } = this.#positionOf(at);
      return { severity, line, column, about, message, suggestion };
    });
  }

  /** Gives the outermost node of the text. */
  root(node: YamlNode): FileNode {
    return new FileNode(this, node);
  }
}

/** A key in a message: one that is long, or that has signs of its own, is quoted. */
function shownKey(key: string): string {
  return /^[\p{L}\p{N}_./:@+*-]{1,128}$/u.test(key) ? key : quote(key);
}

/** A node of a file, with its position, for reading it and for saying what is wrong with it. */
export class FileNode {
  readonly node: YamlNode;
  readonly report: ShapeReport;
  /** The key, or the number in the list, that leads here; undefined for the outermost node. */
  readonly step: string | number | undefined;
  readonly #parent: FileNode | undefined;
  /** Stands in messages before the step, in place of the step of the parent. */
  readonly #each: string | undefined;
  readonly #keyAt: number;
  readonly #valueAt: number;
  /** Whether an alias or a merge brought it here: then it has the position of the key that took it. */
  readonly #isElsewhere: boolean;
  /** Its fields, once they were asked for. */
  #fields: readonly FileNode[] | undefined;

  constructor(
    report: ShapeReport,
    node: YamlNode,
    parent?: FileNode,
    step?: string | number,
    keyAt = 0,
    each?: string,
  ) {
    this.report = report;
    this.node = node;
    this.step = step;
    this.#parent = parent;
    this.#each = each;
    const isMerged = parent !== undefined && (parent.#isElsewhere || keyAt < parent.#valueAt);
    this.#keyAt = isMerged ? parent.#keyAt : keyAt;
    this.#isElsewhere = isMerged || node.at < keyAt;
    this.#valueAt = this.#isElsewhere ? this.#keyAt : node.at;
  }

  get isNull(): boolean {
    return isNullNode(this.node);
  }

  /** Whether it says nothing: null, or an empty text. */
  get isAbsent(): boolean {
    return this.isNull || (this.node.kind === "scalar" && this.node.text === "");
  }

  /** Reports what makes the value useless. @param side whether it is about the key or about what stands behind it. */
  error(message: string, suggestion?: string, side: "key" | "value" = "value"): undefined {
    this.#add("error", message, suggestion, side);
  }

  /** Reports what is ignored. */
  warn(message: string, suggestion?: string, side: "key" | "value" = "value"): undefined {
    this.#add("warning", message, suggestion, side);
  }

  #add(
    severity: ShapeFinding["severity"],
    message: string,
    suggestion: string | undefined,
    side: "key" | "value",
  ): void {
    this.report.add(severity, this.offset(side), this.about(), message, suggestion);
  }

  /** Gives the offset in the text that a message about it names. */
  offset(side: "key" | "value"): number {
    return side === "key" ? this.#keyAt : this.#valueAt;
  }

  /** Reports that something else stands here. Says the kind of it; never what it says, which may be a secret. */
  expected(what: string): undefined {
    this.error(`expected ${what}, found ${describe(this.node)}`, undefined, this.isNull ? "key" : "value");
  }

  /** Whether it stands behind a key of a record, whose messages its parts may do without. */
  get isField(): boolean {
    return typeof this.step === "string" && this.#each === undefined;
  }

  /** Names what leads here, in words. */
  about(): string[] {
    if (this.#parent === undefined || this.step === undefined) return [];
    const above = this.#parent.about();
    const step = typeof this.step === "number" ? String(this.step + 1) : shownKey(this.step);
    const isList = typeof this.step === "number";
    const of = this.#each ?? (isList ? (this.#parent.isField && above.at(-1)) || "item" : undefined);
    if (of === undefined) return [...above, step];
    // The key of a list or mapping says no more than what each of its parts is called.
    return [...(this.#parent.isField ? above.slice(0, -1) : above), `${of} ${step}`];
  }

  /** Gives what stands in it, with merges resolved. */
  children(each?: string): readonly FileNode[] {
    if (each !== undefined) return this.#childrenOf(each);
    this.#fields ??= this.#childrenOf(each);
    return this.#fields;
  }

  #childrenOf(each: string | undefined): readonly FileNode[] {
    const { node } = this;
    if (node.kind === "scalar") return [];
    if (node.kind === "sequence") return node.items.map((item, i) => this.#child(item, i, item.at, each));
    try {
      return mergedPairs(node, failed).map(({ key, value }) => this.#child(value, key.text, key.at, each));
    } catch (error) {
      if (!(error instanceof MergeFault)) throw error;
      this.error(error.message);
      return [];
    }
  }

  #child(node: YamlNode, step: string | number, keyAt: number, each: string | undefined): FileNode {
    return new FileNode(this.report, node, this, step, keyAt, each);
  }

  /** Gives its key as a scalar. */
  get key(): FileNode {
    return this.#as({ ...emptyScalar, at: this.#keyAt, text: String(this.step) });
  }

  /** Gives itself, or an empty mapping in the place of null. */
  get orEmpty(): FileNode {
    return this.isNull ? this.#as({ ...emptyMapping, at: this.#keyAt }) : this;
  }

  #as(node: YamlNode): FileNode {
    return new FileNode(this.report, node, this.#parent, this.step, this.#keyAt, this.#each);
  }

  /** Tells whether there is a value behind a key. */
  has(step: string): boolean {
    return this.children().some((child) => child.step === step && !child.isAbsent);
  }

  /** Gives the node that a key, or a number in a list, leads to; itself when there is none. */
  below(step: string | number): FileNode {
    return this.children().find((child) => child.step === step) ?? this;
  }
}

const emptyMapping = { kind: "mapping", at: 0, tag: undefined, pairs: [], weight: 1, depth: 1 } as const;
const emptyScalar = { kind: "scalar", at: 0, tag: undefined, text: "", isPlain: false, weight: 1, depth: 1 } as const;

class MergeFault extends Error {}

function failed(message: string): never {
  throw new MergeFault(message);
}

/** Names the kind of a node; never what it says. */
function describe(node: YamlNode): string {
  if (isNullNode(node)) return "nothing";
  if (node.kind === "sequence") return "a list";
  if (node.kind === "mapping") return "a mapping";
  if (node.text === "") return "an empty text";
  return node.text.includes("\n") ? "a text of several lines" : "a text";
}

/** A row of the table that documents a format. */
export interface ShapeRow {
  /** `tokens.<name>.role` */
  readonly path: string;
  readonly expected: string;
  readonly isRequired: boolean;
  readonly default: string | undefined;
  readonly text: string;
}

/** Renders the rows of a format as a table of Markdown. */
export function shapeTable({ rows }: Shape<unknown>): string {
  const cell = (value: string): string => value.replaceAll("|", "\\|");
  const lines = rows.map(({ path, expected, isRequired, default: absent, text }) => {
    const need = isRequired ? "required" : absent === undefined ? "" : `\`${absent}\``;
    return `| \`${path}\` | ${cell(expected)} | ${cell(need)} | ${cell(text)} |\n`;
  });
  return `| key | value | when it is left out | what |\n|---|---|---|---|\n${lines.join("")}`;
}

/**
 * What a value of a file must be. `read` gives the typed value; of a list or mapping the parts that are right. It reports what is wrong,
 * and gives undefined when nothing is left.
 */
export class Shape<T> {
  /** In words that fit behind "expected". */
  readonly expected: string;
  readonly read: (at: FileNode) => T | undefined;
  /** Rows of what stands in it; their paths continue its own. */
  readonly rows: readonly ShapeRow[];

  constructor(expected: string, read: (at: FileNode) => T | undefined, rows: readonly ShapeRow[] = []) {
    this.expected = expected;
    this.read = read;
    this.rows = rows;
  }

  /** Tells whether a node says nothing: null, or, where a text may stand, an empty one. */
  isAbsent(at: FileNode): boolean {
    return at.isNull || (at.isAbsent && /^a text\b/.test(this.expected));
  }

  /** Makes something else of what was read. */
  to<U>(make: (value: T, at: FileNode) => U | undefined): Shape<U> {
    return new Shape(this.expected, (at) => mapped(this.read(at), (value) => make(value, at)), this.rows);
  }

  /** Takes null for an empty mapping. */
  orEmpty(): Shape<T> {
    return new Shape(this.expected, (at) => this.read(at.orEmpty), this.rows);
  }
}

function mapped<T, U>(value: T | undefined, make: (value: T) => U | undefined): U | undefined {
  return value === undefined ? undefined : make(value);
}

/** What a shape reads. */
export type ShapeValue<S> = S extends Shape<infer T> ? T : never;

/** How a scalar is read. */
interface ScalarOptions {
  /** Names of which a near one is suggested. */
  readonly near?: () => Iterable<string>;
  /** Whether what stands there may be a secret, so that no message repeats it. */
  readonly isHidden?: boolean;
  /** Whether `null` is a text like others. */
  readonly takesNull?: boolean;
}

/**
 * A text, number or word.
 *
 * @param parse gives undefined for a text that is none; it may have said why.
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

/** One line of text that is not empty. What it says is not repeated in a message, because it may be a secret. */
export const textLine: Shape<string> = new Shape(plainText, (at) => {
  const { node } = at;
  return node.kind === "scalar" && !at.isAbsent && !node.text.includes("\n") ? node.text : at.expected(plainText);
});

/** One of some words. */
export function oneOf<const T extends string>(values: readonly T[]): Shape<T> {
  return scalar(`one of ${values.join(", ")}`, (given) => values.find((value) => value === given), {
    near: () => values,
  });
}

/** A whole number between two bounds. */
export function integer(min: number, max: number): Shape<number> {
  return scalar(`a whole number from ${min} to ${max}`, (given) => {
    const value = /^[+-]?\d+$/.test(given) ? Number(given) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** A bool, also in the words of YAML 1.1. */
export const bool: Shape<boolean> = scalar("true or false", (given) => {
  if (/^(?:true|yes|on)$/i.test(given)) return true;
  return /^(?:false|no|off)$/i.test(given) ? false : undefined;
});

/** A list; what stands in it is called `each` in messages, or by the name of the list. */
export function list<T>(item: Shape<T>, each?: string): Shape<T[]> {
  const expected = `a list, each ${item.expected}`;
  const read = (at: FileNode): T[] | undefined =>
    at.node.kind === "sequence"
      ? at.children(each).flatMap((child) => mapped(item.read(child), (value) => [value]) ?? [])
      : at.expected(expected);
  return new Shape(expected, read, below("[]", item.rows));
}

/** One value, or a list of them. */
export function oneOrList<T>(item: Shape<T>): Shape<T[]> {
  const all = list(item);
  const read = (at: FileNode): T[] | undefined =>
    at.node.kind === "sequence" ? all.read(at) : mapped(item.read(at), (value) => [value]);
  return new Shape(`${item.expected}, or a list of them`, read, item.rows);
}

/** What is read as one shape when it is a mapping, and as another one when it is none. */
export function mappingOr<T, U>(whole: Shape<T>, other: Shape<U>): Shape<T | U> {
  const expected = `${other.expected}, or ${whole.expected}`;
  const read = (at: FileNode): T | U | undefined => {
    if (at.node.kind === "mapping") return whole.read(at);
    return at.isAbsent ? at.expected(expected) : other.read(at);
  };
  return new Shape(expected, read, other.rows.length > 0 ? other.rows : whole.rows);
}

/** A mapping of which each pair says the same kind of thing. */
interface PairsOptions<K> {
  /** What a pair is called in messages: `user` makes `user alice: …`. */
  readonly each?: string;
  /** What stands for the key in paths of the documentation. */
  readonly name?: string;
  /** Keys of which this is the same are the same one. */
  readonly identity?: (key: K) => unknown;
}

/** A mapping with keys of one kind, as pairs. */
export function pairsOf<K, V>(key: Shape<K>, value: Shape<V>, options: PairsOptions<K> = {}): Shape<[K, V][]> {
  const { each, name = `<${each ?? "name"}>`, identity = (one) => one } = options;
  const expected = `a mapping from ${key.expected} to ${value.expected}`;
  const read = (at: FileNode): [K, V][] | undefined => {
    if (at.node.kind !== "mapping") return at.expected("a mapping");
    const seen = new Set<unknown>();
    return at.children(each).flatMap((child): [K, V][] => {
      const given = key.read(child.key);
      if (given !== undefined && seen.size === seen.add(identity(given)).size)
        child.error("is there twice", undefined, "key");
      const found = value.read(child);
      return given === undefined || found === undefined ? [] : [[given, found]];
    });
  };
  return new Shape(expected, read, below(name, value.rows));
}

/** A mapping with keys of one kind. */
export function mapOf<K, V>(key: Shape<K>, value: Shape<V>, options: PairsOptions<K> = {}): Shape<Map<K, V>> {
  return pairsOf(key, value, options).to((pairs) => new Map(pairs));
}

/** A key of a {@link mapping}. `Always` says whether a value is always there. */
export interface Field<T, Always extends boolean> {
  readonly shape: Shape<T>;
  readonly isAlways: Always;
  readonly isRequired: boolean;
  /** What it is when it is not there. */
  readonly absent: T | undefined;
  readonly text: string;
  /** Other spellings of the key. */
  readonly also: readonly string[];
}

/** A key that must be there. @param doc a sentence for the documentation of the format. */
export function required<T>(shape: Shape<T>, doc: string): Field<T, true> {
  return { shape, isAlways: true, isRequired: true, absent: undefined, text: doc, also: [] };
}

/** A key that may be there. */
export function optional<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, false> {
  return { shape, isAlways: false, isRequired: false, absent: undefined, text: doc, also };
}

/** A key that stands for a value when it is not there. */
export function defaulted<T>(shape: Shape<T>, absent: NoInfer<T>, doc: string): Field<T, true> {
  return { shape, isAlways: true, isRequired: false, absent, text: doc, also: [] };
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>;
type ValueOf<F> = F extends Field<infer T, boolean> ? T : never;
type AlwaysOf<F extends Fields> = { [K in keyof F]: F[K]["isAlways"] extends true ? K : never }[keyof F];

/** What a {@link mapping} reads. */
export type Values<F extends Fields> = { readonly [K in AlwaysOf<F>]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, AlwaysOf<F>>]?: ValueOf<F[K]>;
};

interface RecordOptions<F extends Fields> {
  /** What an unknown key is; `hint`: an error when it is near a known one, else a warning. */
  readonly unknown?: "error" | "warning" | "hint";
  /** Whether null and an empty text are errors, and do not count as not given. */
  readonly isStrict?: boolean;
  /** Tells which values count as not given, in place of null and the empty text. */
  readonly isAbsent?: (at: FileNode) => boolean;
  /** Reports what is wrong between several keys; is given those that are right in themselves. */
  readonly check?: (given: Partial<Values<F>>, at: FileNode) => void;
}

/** More known keys than these are not listed in a message. */
const fewKeys = 12;

/** A mapping with known keys. It gives nothing when anything in it is wrong. */
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

/** What was read, and what is wrong with it. */
export interface ShapeResult<T> {
  /** Undefined where the text is no YAML, or another kind of value. With errors it is a part of what the text says. */
  readonly value: T | undefined;
  readonly findings: readonly ShapeFinding[];
  readonly hasErrors: boolean;
}

/** Reads a text by its shape, with all that is wrong with it. A text that says nothing is an empty mapping. */
export function readShape<T>(source: string, shape: Shape<T>): ShapeResult<T> {
  const report = new ShapeReport(source);
  let value: T | undefined;
  try {
    const root = readYaml(source, (message, at) => report.add("error", at, [], message));
    value = shape.read(report.root(root === undefined || isNullNode(root) ? emptyMapping : root));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return { value, findings: [faultFinding(error)], hasErrors: true };
  }
  return { value, findings: report.findings, hasErrors: report.errors > 0 };
}

/** Makes a finding of a text that is no YAML. */
export function faultFinding({ position, message }: YamlFault): ShapeFinding {
  return { severity: "error", ...position, about: [], message, suggestion: undefined };
}
