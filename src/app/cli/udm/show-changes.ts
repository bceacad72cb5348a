import type { EntryChange } from "./entry-changes.ts";
import type { ChangeJson } from "./tools-json.ts";
import type { UdmJson } from "./udm-json.ts";

/** Changes as a person reads them: `+` is created, `-` deleted, `~` changed, with the fields that differ. */
export function showChanges(changes: readonly EntryChange[]): string {
  return changes.map(showChange).join("");
}

/** `3 changes: 1 to create, 2 to update, 0 to delete`. */
export function countChanges(changes: readonly EntryChange[]): string {
  const created = changes.filter(({ before }) => before === undefined).length;
  const deleted = changes.filter(({ after }) => after === undefined).length;
  const updated = changes.length - created - deleted;
  const all = changes.length === 1 ? "1 change" : `${changes.length} changes`;
  return `${all}: ${created} to create, ${updated} to update, ${deleted} to delete`;
}

/** A change as a person reads it. */
export function showCommit({
  number,
  time,
  author = "unknown",
  method = "",
  entries = 0,
  changes = [],
  cut = false,
  layer = "",
  collector = "",
}: ChangeJson): string {
  const many = (entries === 1 ? "1 entry" : `${entries} entries`) + (layer === "" ? "" : ` of the source ${layer}`);
  const kept = changes.length === 0 ? "too many to be kept" : `${changes.length} are kept`;
  const by = collector === "" ? author : `${author} on ${collector}`;
  const head = `${number}  ${time}  ${by.replace(/\p{Cc}/gu, "?")}  ${method}  ${many}${cut ? ` (${kept})` : ""}\n`;
  return head + showChanges(changes).replace(/^(?=.)/gm, "  ");
}

function showChange({ key, before, after }: EntryChange): string {
  const lines: string[] = [];
  const mark = before === undefined ? "+" : after === undefined ? "-" : "~";
  const [old, fresh] = [fieldsOf(before), fieldsOf(after)];
  for (const name of new Set([...old.keys(), ...fresh.keys()])) {
    const [was, is] = [old.get(name), fresh.get(name)];
    if (was === is) continue;
    if (was !== undefined) lines.push(`    - ${name}: ${was}`);
    if (is !== undefined) lines.push(`    + ${name}: ${is}`);
  }
  return [`${mark} ${key}`, ...lines].map((line) => `${line.replace(/\p{Cc}/gu, "?")}\n`).join("");
}

function fieldsOf(entry: UdmJson | undefined): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  if (entry === undefined) return fields;
  const { name, tags = [], vlan, internal, metadata = {}, contexts = [] } = entry;
  if (name !== undefined) fields.set("name", name);
  if (tags.length > 0) fields.set("tags", tags.join(", "));
  if (vlan !== undefined) fields.set("vlan", vlan);
  if (internal !== undefined) fields.set("internal", String(internal));
  if (contexts.length > 0) fields.set("contexts", contexts.join(", "));
  for (const [key, value] of Object.entries(metadata)) fields.set(`metadata ${key}`, value);
  return fields;
}
