import { readYaml, stringScalar, type YamlNode } from "../../base/yaml/index.ts";
import { parseAccessFile } from "./access-file.ts";

/** Which list of the file. */
export type AccessSection = "users" | "tokens";

/** A field's texts by its name; undefined takes the field out. */
export type AccessFields = Readonly<Record<string, string | readonly string[] | undefined>>;

const header = `# Users and API tokens of netgloss; docs/access.md describes this file. \`netgloss user\` and \`netgloss token\` write it: comments are lost.\n`;

/**
 * The text of a file of users with one user or token set or removed. Fields that are not given stay.
 *
 * @param fields undefined removes it.
 * @returns undefined when there is nothing to remove.
 * @throws AccessFileError when the file, or what would come out, has faults.
 */
export function editAccessFile(
  path: string,
  text: string,
  section: AccessSection,
  name: string,
  fields: AccessFields | undefined,
): string | undefined {
  parseAccessFile(path, text);
  const sections: Record<AccessSection, Map<string, AccessFields>> = { users: new Map(), tokens: new Map() };
  const root = readYaml(text);
  for (const { key, value } of root?.kind === "mapping" ? root.pairs : []) {
    for (const entry of value.kind === "mapping" ? value.pairs : []) {
      const pairs = entry.value.kind === "mapping" ? entry.value.pairs : [];
      const given = pairs.map((pair) => [pair.key.text, textsOf(pair.value)] as const);
      sections[key.text as AccessSection].set(entry.key.text, Object.fromEntries(given));
    }
  }
  const list = sections[section];
  if (fields === undefined) {
    if (!list.delete(name)) return undefined;
  } else list.set(name, { ...list.get(name), ...fields });
  const fresh = header + renderSection("users", sections.users) + renderSection("tokens", sections.tokens);
  parseAccessFile(path, fresh);
  return fresh;
}

function textsOf(node: YamlNode): string | readonly string[] {
  if (node.kind === "scalar") return node.text;
  return node.kind === "sequence" ? node.items.map((item) => (item.kind === "scalar" ? item.text : "")) : "";
}

function renderSection(name: AccessSection, entries: ReadonlyMap<string, AccessFields>): string {
  if (entries.size === 0) return "";
  const blocks = Array.from(entries, ([entry, fields]) => {
    const lines = Object.entries(fields).flatMap(([field, value]) => {
      if (value === undefined) return [];
      const shown = typeof value === "string" ? stringScalar(value) : `[${value.map(stringScalar).join(", ")}]`;
      return [`    ${field}: ${shown}\n`];
    });
    return `  ${stringScalar(entry)}:\n${lines.join("")}`;
  });
  return `${name}:\n${blocks.join("")}`;
}
