import { parseOid, type Oid } from "../session/oid.ts";
import type { FileReport, Side } from "./file-report.ts";
import { nearName, quote } from "../../base/text/index.ts";
import type { NodePath, YamlMap, YamlValue } from "./yaml-values.ts";

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
