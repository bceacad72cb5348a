import type { Key } from "../../base/ip/index.ts";
import { mergedPairs, positionAt, readYaml, renderPair, YamlFault, type Fail } from "../../base/yaml/index.ts";

/** Reports whether two entries of one key have the same content. */
export function sameEntry(a: UdmEntry, b: UdmEntry): boolean {
  return (
    a.name === b.name &&
    a.vlan === b.vlan &&
    a.internal === b.internal &&
    a.fileOnly?.yaml === b.fileOnly?.yaml &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, i) => tag === b.tags[i]) &&
    a.metadata.size === b.metadata.size &&
    [...a.metadata].every(([key, value]) => b.metadata.get(key) === value)
  );
}

/** The name of a context in which an entry applies: the address of an exporter or device, or the end points of flows. */
export type UdmContext = (typeof udmContexts)[number];
export const udmContexts = ["exporter", "endpoint"] as const;

/** The values of an entry that a client may set. The zero value of each means "not set". */
export interface UdmValues {
  readonly name: string;
  /** The tags as sent: order and repetitions are kept. */
  readonly tags: readonly string[];
  /** The VLAN, any unsigned 64-bit value. */
  readonly vlan: bigint;
  readonly internal: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** One entry of user-defined metadata. Immutable. */
export interface UdmEntry extends UdmValues {
  readonly key: Key;
  /** The part of the entry in the file that the schema does not have. It survives every update and is deleted with the entry. */
  readonly fileOnly?: UdmFileOnly;
}

/** The fields of an entry that only the file has. */
export interface UdmFileOnly {
  /** Undefined where the entry applies everywhere. */
  readonly contexts?: readonly UdmContext[];
  /** The YAML text of unknown fields and of `contexts`, as it is written back below the entry. */
  readonly yaml: string;
}

/** The names that a field mask may have. A mask may also have `key`, which has no effect. */
export const udmFields = ["name", "tags", "vlan", "internal", "metadata"] as const;
export type UdmField = (typeof udmFields)[number];

const indent = "  ";

/** The lines of one field of an entry, and its name. */
interface FieldLines {
  readonly name: string;
  readonly text: string;
}

/** Splits file-only YAML into its fields. Each field begins with a line of the least indentation. */
function fieldsOf(yaml: string): readonly FieldLines[] {
  const texts = yaml.match(/^ {2}(?! ).*\n(?: {3,}.*\n|\n)*/gm) ?? [];
  return texts.map((text) => ({ name: /^ {2}([^:\s]*)/.exec(text)?.[1] ?? "", text }));
}

/** Returns the unknown fields of an entry in the file, as YAML without indentation. */
export function otherFields({ fileOnly }: UdmEntry): string {
  if (fileOnly === undefined) return "";
  const others = fieldsOf(fileOnly.yaml).filter(({ name }) => name !== "contexts");
  return others.map(({ text }) => text.replace(/^ {2}/gm, "")).join("");
}

/**
 * Reads unknown fields: a YAML mapping whose names are not those of an entry's own fields.
 *
 * @returns the fields as {@link otherFields} writes them.
 * @throws YamlFault
 */
export function readOtherFields(text: string): string {
  const fail: Fail = (message, at) => {
    throw new YamlFault(message, positionAt(text, at));
  };
  const root = readYaml(text);
  if (root === undefined) return "";
  if (root.kind !== "mapping") return fail("expected a mapping from names to values", root.at);
  const pairs = mergedPairs(root, fail);
  const known: ReadonlySet<string> = new Set([...udmFields, "contexts"]);
  for (const { key } of pairs) if (known.has(key.text)) fail(`${key.text} is a field of its own`, key.at);
  return pairs.map((pair) => renderPair(pair, "")).join("");
}

/** Returns the entry with its unknown fields replaced. @param text as {@link readOtherFields} returns it. */
export function withOtherFields(entry: UdmEntry, text: string): UdmEntry {
  const { fileOnly, ...values } = entry;
  const contexts = fieldsOf(fileOnly?.yaml ?? "").filter(({ name }) => name === "contexts");
  const yaml = contexts.map((field) => field.text).join("") + text.replace(/^(?=.)/gm, indent);
  return yaml === "" ? values : { ...values, fileOnly: { ...fileOnly, yaml } };
}

/** Returns the entry with other contexts; an empty list means everywhere. The other file-only fields stay. */
export function withContexts(entry: UdmEntry, contexts: readonly UdmContext[]): UdmEntry {
  const { fileOnly, ...values } = entry;
  const others = fieldsOf(fileOnly?.yaml ?? "").filter(({ name }) => name !== "contexts");
  const distinct = udmContexts.filter((context) => contexts.includes(context));
  const yaml = contextsYaml(distinct) + others.map(({ text }) => text).join("");
  if (yaml === "") return values;
  const made: UdmFileOnly = distinct.length === 0 ? { yaml } : { yaml, contexts: distinct };
  return { ...values, fileOnly: made };
}

function contextsYaml(contexts: readonly UdmContext[]): string {
  if (contexts.length === 0) return "";
  return `${indent}contexts:\n${contexts.map((context) => `${indent}${indent}- ${context}\n`).join("")}`;
}
