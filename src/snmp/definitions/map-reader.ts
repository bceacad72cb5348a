import {
  createPositions,
  mergedPairs,
  readYamlSteps,
  YamlFault,
  type Fail,
  type TextPosition,
  type YamlNode,
  type YamlPair,
} from "../../base/yaml/index.ts";
import type { Finding, FindingKind, Severity } from "./definitions.ts";
import { atOnce } from "../limits.ts";
import { parseOid, type Oid } from "../session/var-bind.ts";
import { nearName, quote } from "../../base/text/index.ts";

/** A YAML document without types: every scalar is the text that was written, null in any spelling too. */
export type YamlValue = string | YamlValue[] | YamlMap;
export type YamlMap = Map<string, YamlValue>;

/** Where in a document: the keys and indexes that lead there from its root. */
export type NodePath = readonly (string | number)[];

/** What a text says, and where. */
interface YamlDocument {
  /** The empty text when it says nothing. */
  readonly value: YamlValue;
  readonly positions: Positions;
}

/** Reads a text in steps: one for each pair of the outermost mapping. @throws YamlFault */
export function* readDocument(text: string): Generator<void, YamlDocument> {
  const root = yield* readYamlSteps(text);
  return { value: root === undefined ? "" : yield* rootValue(root, failIn(text)), positions: positionsOf(text, root) };
}

function* rootValue(root: YamlNode, fail: Fail): Generator<void, YamlValue> {
  if (root.kind !== "mapping") return valueOf(root, fail);
  checkTag(root, fail);
  const map: YamlMap = new Map();
  for (const { key, value } of mergedPairs(root, fail)) {
    map.set(key.text, valueOf(value, fail));
    yield;
  }
  return map;
}

function failIn(text: string): Fail {
  const positionOf = createPositions(text);
  return (message, at) => {
    throw new YamlFault(message, positionOf(at));
  };
}

const knownTags: ReadonlySet<string | undefined> = new Set([undefined, "!", "!!str", "!!seq", "!!map", "!!merge"]);

function checkTag({ tag, at }: YamlNode, fail: Fail): void {
  // It is not repeated: it may be a secret that wanted quotes.
  if (!knownTags.has(tag)) fail("a tag (!…) that is not known; a text that begins so needs quotes", at);
}

function valueOf(node: YamlNode, fail: Fail): YamlValue {
  checkTag(node, fail);
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map((item) => valueOf(item, fail));
  const map: YamlMap = new Map();
  for (const { key, value } of mergedPairs(node, fail)) map.set(key.text, valueOf(value, fail));
  return map;
}

/** Positions of the keys and values of one document. */
interface Positions {
  /** Of the value at the path, or of what comes nearest on the way to it. */
  value(path: NodePath): TextPosition;
  /** Of the last key of the path. */
  key(path: NodePath): TextPosition;
}

/**
 * Finds where the nodes of a text are, in steps. Costs as much as reading it, so it is for files about which there is
 * something to say. A text that cannot be read has no positions; the error has its own.
 */
export function* locateNodes(text: string): Generator<void, Positions> {
  try {
    return positionsOf(text, yield* readYamlSteps(text));
  } catch (error) {
    if (error instanceof YamlFault) return positionsOf(text, undefined);
    throw error;
  }
}

function positionsOf(text: string, root: YamlNode | undefined): Positions {
  const positionOf = createPositions(text);
  // There may be something to say of each definition of a long file.
  let outermost: ReadonlyMap<string, YamlPair> | undefined;
  const find = (path: NodePath): { key: number; value: number } => {
    let node = root;
    let key = 0;
    for (const [level, step] of path.entries()) {
      let next: { key: number; value: YamlNode } | undefined;
      if (level === 0 && root?.kind === "mapping") {
        outermost ??= new Map(mergedPairs(root, noPlace).map((pair) => [pair.key.text, pair]));
        next = placeOf(outermost.get(String(step)));
      } else next = node && stepInto(node, step);
      // What a merge brings in stands elsewhere: its place is that of the mapping that takes it.
      if (next === undefined || next.key < (node?.at ?? 0)) return { key, value: key };
      key = next.key;
      // So does what an alias stands for.
      if (next.value.at < key) return { key, value: key };
      node = next.value;
    }
    return { key, value: node?.at ?? 0 };
  };
  return { key: (path) => positionOf(find(path).key), value: (path) => positionOf(find(path).value) };
}

function stepInto(node: YamlNode, step: string | number): { key: number; value: YamlNode } | undefined {
  if (node.kind === "sequence") {
    const item = node.items[Number(step)];
    return item && { key: item.at, value: item };
  }
  if (node.kind === "scalar") return undefined;
  return placeOf(mergedPairs(node, noPlace).find(({ key }) => key.text === step));
}

function placeOf(pair: YamlPair | undefined): { key: number; value: YamlNode } | undefined {
  return pair && { key: pair.key.at, value: pair.value };
}

function noPlace(): never {
  throw new Error("a merge that was read cannot fail");
}

/** Whether a finding is about a key, or about the value behind it. */
export type Side = "key" | "value";

/** Takes findings by their place in one file. */
interface FileReport {
  add(severity: Severity, path: NodePath, side: Side, message: string, suggestion?: string): void;
}

/** Makes findings with line and column. The file is only read for positions when there is a finding. */
export class FindingCollector {
  readonly findings: Finding[] = [];
  readonly #file: string;
  readonly #text: () => string;
  #positions: Positions | undefined;

  constructor(file: string, text: () => string) {
    this.#file = file;
    this.#text = text;
  }

  get positions(): Positions {
    this.#positions ??= atOnce(locateNodes(this.#text()));
    return this.#positions;
  }

  /** For who has read the text already. */
  set positions(known: Positions) {
    this.#positions = known;
  }

  /** The first step of the path is the definition's id. */
  make(
    kind: FindingKind,
    severity: Severity,
    path: NodePath,
    side: Side,
    message: string,
    suggestion?: string,
  ): Finding {
    const { line, column } = this.positions[side](path);
    const id = path[0] === undefined ? undefined : String(path[0]);
    return { severity, kind, file: this.#file, line, column, id, message, suggestion };
  }

  /** For what is wrong with the whole file. */
  addFile(kind: FindingKind, message: string, line?: number, column?: number): void {
    this.findings.push({
      severity: "error",
      kind,
      file: this.#file,
      line,
      column,
      id: undefined,
      message,
      suggestion: undefined,
    });
  }

  for(kind: FindingKind): FileReport {
    return {
      add: (severity, path, side, message, suggestion) => {
        this.findings.push(this.make(kind, severity, path, side, message, suggestion));
      },
    };
  }
}

/** YAML's ways to say that there is no value. */
const nulls = /^(?:|~|null|Null|NULL)$/;

export function isNull(node: YamlValue | undefined): boolean {
  return node === undefined || (typeof node === "string" && node.length <= 4 && nulls.test(node));
}

/**
 * Reads the attributes of one mapping and reports what is wrong with them. A value that is missing, null or wrong reads
 * as undefined; `isValid` says afterwards whether anything was wrong.
 */
export class MapReader {
  readonly #map: YamlMap;
  readonly #report: FileReport;
  readonly #path: NodePath;
  readonly #label: string;
  isValid = true;

  /** `label` starts each message, to distinguish parts of a definition: `attribute ifName: `. */
  constructor(map: YamlMap, report: FileReport, path: NodePath, label = "") {
    this.#map = map;
    this.#report = report;
    this.#path = path;
    this.#label = label;
  }

  error(path: NodePath, side: Side, message: string, suggestion?: string): void {
    this.isValid = false;
    this.#report.add("error", [...this.#path, ...path], side, this.#label + message, suggestion);
  }

  warn(path: NodePath, side: Side, message: string, suggestion?: string): void {
    this.#report.add("warning", [...this.#path, ...path], side, this.#label + message, suggestion);
  }

  /** A name near a known one is a typing error; any other is of a version or program that knows more. */
  knowOnly(names: readonly string[]): void {
    for (const key of this.#map.keys()) {
      if (names.includes(key)) continue;
      const near = nearName(key, names);
      if (near === undefined) this.warn([key], "key", `unknown setting ${quote(key)} is ignored`);
      else this.error([key], "key", `unknown setting ${quote(key)}`, near);
    }
  }

  has(key: string): boolean {
    return !isNull(this.#map.get(key));
  }

  /** The node as it is; undefined where there is none. */
  node(key: string): YamlValue | undefined {
    const node = this.#map.get(key);
    return isNull(node) ? undefined : node;
  }

  /** One line of text that is not empty. What it says is not repeated in a message, because it may be a secret. */
  text(key: string): string | undefined {
    const node = this.#map.get(key);
    if (isNull(node)) return undefined;
    if (typeof node === "string" && !node.includes("\n")) return node;
    this.error([key], "value", `${key}: expected a text, found ${describe(node)}`);
    return undefined;
  }

  requiredText(key: string): string | undefined {
    if (this.has(key)) return this.text(key);
    this.error([], "key", `${key} is missing`);
    return undefined;
  }

  /** A whole number between two bounds. */
  integer(key: string, min: number, max: number): number | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^[+-]?\d+$/.test(text) && value >= min && value <= max) return value;
    this.error([key], "value", `${key}: expected a whole number from ${min} to ${max}, found ${quote(text)}`);
    return undefined;
  }

  boolean(key: string): boolean | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    if (/^(?:true|True|TRUE)$/.test(text)) return true;
    if (/^(?:false|False|FALSE)$/.test(text)) return false;
    this.error([key], "value", `${key}: expected true or false, found ${quote(text)}`);
    return undefined;
  }

  oneOf<T extends string>(key: string, values: readonly T[]): T | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    if ((values as readonly string[]).includes(text)) return text as T;
    this.error(
      [key],
      "value",
      `${key}: expected one of ${values.join(", ")}; found ${quote(text)}`,
      nearName(text, values),
    );
    return undefined;
  }

  /** An OID and its text with a leading dot. */
  oid(key: string): { readonly oid: Oid; readonly oidText: string } | undefined {
    const text = this.requiredText(key);
    if (text === undefined) return undefined;
    const oid = parseOid(text);
    if (oid !== undefined) return { oid, oidText: text.startsWith(".") ? text : `.${text}` };
    this.error([key], "value", `${key}: ${quote(text)} is not an OID such as .1.3.6.1.2.1.1.5`);
    return undefined;
  }

  /** Texts; each says no more than it is not one when it is a secret. */
  texts(key: string): string[] | undefined {
    const node = this.list(key);
    const texts: string[] = [];
    for (const [i, item] of (node ?? []).entries()) {
      if (typeof item === "string" && item !== "" && !item.includes("\n")) texts.push(item);
      else this.error([key, i], "value", `${key}: expected a text, found ${describe(item)}`);
    }
    return node && texts;
  }

  list(key: string): YamlValue[] | undefined {
    const node = this.#map.get(key);
    if (isNull(node)) return undefined;
    if (Array.isArray(node)) return node;
    this.error([key], "value", `${key}: expected a list, found ${describe(node)}`);
    return undefined;
  }

  map(key: string): YamlMap | undefined {
    const node = this.#map.get(key);
    if (isNull(node)) return undefined;
    if (node instanceof Map) return node;
    this.error([key], "value", `${key}: expected a mapping, found ${describe(node)}`);
    return undefined;
  }

  /** A reader of a mapping further in. */
  within(map: YamlMap, path: NodePath, label: string): MapReader {
    return new MapReader(map, this.#report, [...this.#path, ...path], this.#label + label);
  }
}

/** The kind of a node; never what it says. */
export function describe(node: YamlValue | undefined): string {
  if (isNull(node)) return "nothing";
  if (Array.isArray(node)) return "a list";
  if (node instanceof Map) return "a mapping";
  return (node as string).includes("\n") ? "a text of several lines" : "a text";
}
