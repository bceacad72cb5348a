import { udmContexts, type UdmContext, type UdmEntry, type UdmFileOnly } from "./udm-entry.ts";

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

/** What the file says of an entry beyond the fields that are known, as YAML that is not indented. */
export function otherFields({ fileOnly }: UdmEntry): string {
  if (fileOnly === undefined) return "";
  const others = fieldsOf(fileOnly.yaml).filter(({ name }) => name !== "contexts");
  return others.map(({ text }) => text.replace(/^ {2}/gm, "")).join("");
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
