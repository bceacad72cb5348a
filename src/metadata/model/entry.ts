import type { Key } from "../../base/ip/index.ts";
import { mergedPairs, positionAt, readYaml, renderPair, YamlFault, type Fail } from "../../base/yaml/index.ts";

/** Tells whether two entries of one key say the same. */
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

/** Names where an entry applies: to the address of an exporter or device, or to the end points of flows. */
export type UdmContext = (typeof udmContexts)[number];
export const udmContexts = ["exporter", "endpoint"] as const;

/** The values of an entry that a client may set. The zero value of each means "not set". */
export interface UdmValues {
  readonly name: string;
  /** As sent: order and repetitions are kept. */
  readonly tags: readonly string[];
  /** Any unsigned 64-bit value. */
  readonly vlan: bigint;
  readonly internal: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** One entry of user-defined metadata. Immutable. */
export interface UdmEntry extends UdmValues {
  readonly key: Key;
  /** The part of the entry in the file that is beyond the schema. Survives every update, goes with the entry. */
  readonly fileOnly?: UdmFileOnly;
}

/** Fields known in the file only. */
export interface UdmFileOnly {
  /** Undefined: everywhere. */
  readonly contexts?: readonly UdmContext[];
  /** YAML text of the fields that are not ours (and of `contexts`), as it is written back below the entry. */
  readonly yaml: string;
}

/** The names that a field mask may carry, besides `key`, which does nothing there. */
export const udmFields = ["name", "tags", "vlan", "internal", "metadata"] as const;
export type UdmField = (typeof udmFields)[number];

const indent = "  ";

/** The lines of one field of an entry, and what it is called. */
interface FieldLines {
  readonly name: string;
  readonly text: string;
}

/** The fields of what the file alone knows: each begins with a line that is indented no further. */
function fieldsOf(yaml: string): readonly FieldLines[] {
  const texts = yaml.match(/^ {2}(?! ).*\n(?: {3,}.*\n|\n)*/gm) ?? [];
  return texts.map((text) => ({ name: /^ {2}([^:\s]*)/.exec(text)?.[1] ?? "", text }));
}

/** Returns the fields of an entry in the file that are not known, as YAML that is not indented. */
export function otherFields({ fileOnly }: UdmEntry): string {
  if (fileOnly === undefined) return "";
  const others = fieldsOf(fileOnly.yaml).filter(({ name }) => name !== "contexts");
  return others.map(({ text }) => text.replace(/^ {2}/gm, "")).join("");
}

/**
 * Reads fields that mean nothing here: a mapping of YAML, of any names but those of an entry.
 *
 * @returns them as {@link otherFields} gives them.
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

/** The entry with other fields of the file than it had. @param text as {@link readOtherFields} returns it. */
export function withOtherFields(entry: UdmEntry, text: string): UdmEntry {
  const { fileOnly, ...values } = entry;
  const contexts = fieldsOf(fileOnly?.yaml ?? "").filter(({ name }) => name === "contexts");
  const yaml = contexts.map((field) => field.text).join("") + text.replace(/^(?=.)/gm, indent);
  return yaml === "" ? values : { ...values, fileOnly: { ...fileOnly, yaml } };
}

/** The entry with other contexts; none is everywhere. The other fields that the file alone knows stay. */
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
