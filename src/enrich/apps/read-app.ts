import { renderFields, type Value } from "../../record/index.ts";
import { checkValues } from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import { isNullNode, type YamlMapping, type YamlNode } from "../../base/yaml/index.ts";
import type { Reporter } from "../files/read-map-file.ts";

/** What a file says of an application. */
export interface App {
  /** Names of fields and their values: `app.name`, `app.category.name`, `app.subcategory.name`, `app.x` for a metadata key `.x`. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Metadata under names of its own. */
  readonly metadata: readonly (readonly [name: string, value: Value])[];
}

const names: ReadonlyMap<string, string> = new Map([
  ["name", "app.name"],
  ["category", "app.category.name"],
  ["subcategory", "app.subcategory.name"],
]);
const maxText = 255;
/** No more bytes of one application go into a line. */
export const maxRendered = 4096;
/** Words behind `app.` that others write. */
const taken: ReadonlySet<string> = new Set(["id", "name", "category", "subcategory"]);

/**
 * Reads `{name, category, subcategory, metadata}` of an application.
 *
 * @param takesPlain whether metadata may have names of its own; else they are ignored with a warning.
 */
export function readApp(node: YamlNode, takesPlain: boolean, report: Reporter): App {
  const fields = new Map<string, string>();
  const metadata = new Map<string, string>();
  for (const { key, value } of pairsOf(node, "a mapping of the application's attributes", report)) {
    const field = names.get(key.text);
    if (key.text === "metadata") readMetadata(value, { fields, metadata, takesPlain }, report);
    else if (field === undefined) report.warn(key, `attribute ${quote(key.text)} is not known and ignored`);
    else if (isNullNode(value)) continue;
    else if (value.kind !== "scalar" || value.text.length > maxText || /\p{Cc}/u.test(value.text)) {
      report.error(value, `${key.text}: expected a text of one line, at most ${maxText} characters`);
    } else if (value.text !== "") fields.set(field, value.text);
  }
  if (renderFields([...fields]).length > maxRendered)
    report.error(node, `more than ${maxRendered} bytes of an application`);
  return { fields: [...fields], metadata: [...metadata] };
}

interface AppDraft {
  readonly fields: Map<string, string>;
  readonly metadata: Map<string, string>;
  readonly takesPlain: boolean;
}

function readMetadata(node: YamlNode, { fields, metadata, takesPlain }: AppDraft, report: Reporter): void {
  for (const { key, value } of pairsOf(node, "metadata to be a mapping from keys to texts", report)) {
    const name = key.text;
    const [, first = ""] = name.split(".");
    if (value.kind !== "scalar") report.error(value, `metadata ${quote(name)}: expected a text`);
    else if (/^flow(\.|$)/.test(name)) report.error(key, `metadata ${quote(name)}: names below flow belong to others`);
    else if (name.startsWith(".") && taken.has(first)) {
      report.error(key, `metadata ${quote(name)}: app.${first} belongs to the attributes`);
    } else if (!isGood(name, value.text))
      report.error(key, `metadata ${quote(name)}: not a key or text that records may have`);
    else if (name.startsWith(".")) fields.set(`app${name}`, value.text);
    else if (takesPlain) metadata.set(name, value.text);
    else report.warn(key, `metadata ${quote(name)} is ignored: here a key begins with a dot, as in .${name}`);
  }
}

/** By the rules of user-defined metadata. */
function isGood(key: string, text: string): boolean {
  return checkValues({ name: "", tags: [], vlan: 0n, internal: false, metadata: [[key, text]] }).length === 0;
}

export function pairsOf(node: YamlNode, expected: string, report: Reporter): YamlMapping["pairs"] {
  if (node.kind === "mapping") return node.pairs;
  if (!isNullNode(node)) report.error(node, `expected ${expected}`);
  return [];
}
