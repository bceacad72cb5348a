import type { ChangeJson, EntryChangeJson, FullUdmJson } from "../../../server/index.ts";
import { type UdmJson, searchUdms, findUdm, readUdms, type Selection, callTools } from "./udm-json.ts";
import type { ApiClient } from "../client/api-call.ts";

/** Returns changes as text: `+` is created, `-` deleted, `~` changed, with the fields that differ. */
export function showChanges(changes: readonly EntryChangeJson[]): string {
  return changes.map(showChange).join("");
}

/** Returns a count of changes: `3 changes: 1 to create, 2 to update, 0 to delete`. */
export function countChanges(changes: readonly EntryChangeJson[]): string {
  const created = changes.filter(({ before }) => before === undefined).length;
  const deleted = changes.filter(({ after }) => after === undefined).length;
  const updated = changes.length - created - deleted;
  const all = changes.length === 1 ? "1 change" : `${changes.length} changes`;
  return `${all}: ${created} to create, ${updated} to update, ${deleted} to delete`;
}

/** Returns a change as text. */
export function showCommit({
  number = 0,
  time = "",
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

function showChange({ key = "", before, after }: EntryChangeJson): string {
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

function fieldsOf(entry: FullUdmJson | undefined): ReadonlyMap<string, string> {
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

/** Yields entries with their contexts, in list order, some at a time as they arrive. Few entries have contexts, so those are requested first. */
export async function* readFullUdms(client: ApiClient, selection: Selection): AsyncGenerator<readonly UdmJson[]> {
  const contexts = new Map<string, UdmJson["contexts"]>();
  for await (const found of searchUdms(client, { filter: "context exists" })) {
    for (const entry of found) contexts.set(entry.key, entry.contexts);
  }
  for await (const batch of readUdms(client, selection)) {
    yield contexts.size === 0 ? batch : batch.map((entry) => withContexts(entry, contexts.get(entry.key)));
  }
}

/** Finds the entry with exactly this key, with its contexts; undefined when there is none. */
export async function findFullUdm(client: ApiClient, key: string): Promise<UdmJson | undefined> {
  const entry = await findUdm(client, key);
  // Names have no contexts: the kind of the key determines where they apply.
  if (entry === undefined || client.names === true) return entry;
  const filter = `key in ${entry.key}`;
  // The widest entries within a key come first: the entry itself, and those with other host bits.
  for (const limit of [20, Infinity]) {
    for await (const found of searchUdms(client, { filter }, limit)) {
      const full = found.find((one) => one.key === entry.key);
      if (full !== undefined) return withContexts(entry, full.contexts);
    }
  }
  return entry;
}

function withContexts(entry: UdmJson, contexts: UdmJson["contexts"]): UdmJson {
  return contexts === undefined ? entry : { ...entry, contexts };
}

/** The change of one key. Without `before` it is created, without `after` deleted. */
export interface EntryChange {
  readonly key: string;
  readonly before?: UdmJson;
  readonly after?: UdmJson;
}

/** The number of entries up to which each is requested separately; beyond that, all are listed. */
const askedSingly = 20;

/** Returns the collector's entries with these keys, by key. Keys are canonical. */
export async function currentEntries(client: ApiClient, keys: Iterable<string>): Promise<Map<string, UdmJson>> {
  const wanted = new Set(keys);
  const found = new Map<string, UdmJson>();
  if (wanted.size <= askedSingly) {
    for (const key of wanted) {
      const entry = await findFullUdm(client, key);
      if (entry !== undefined) found.set(key, entry);
    }
    return found;
  }
  for await (const batch of readFullUdms(client, {})) {
    for (const entry of batch) if (wanted.has(entry.key)) found.set(entry.key, entry);
  }
  return found;
}

/** Returns the changes that give each of these keys its wanted entry; other keys are not touched. */
export function changesTo(wanted: ReadonlyMap<string, UdmJson>, current: ReadonlyMap<string, UdmJson>): EntryChange[] {
  const changes: EntryChange[] = [];
  for (const [key, after] of wanted) {
    const before = current.get(key);
    if (before === undefined) changes.push({ key, after });
    else if (!isSameEntry(before, after)) changes.push({ key, before, after });
  }
  return changes;
}

/** Reports whether two entries have the same values and contexts; the order of metadata does not count. */
export function isSameEntry(a: UdmJson, b: UdmJson): boolean {
  return canonical(a) === canonical(b);
}

function canonical({ name, tags, vlan, internal, metadata = {}, contexts }: UdmJson): string {
  const pairs = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([name ?? "", tags ?? [], vlan ?? "0", internal ?? false, pairs, contextsOf(contexts)]);
}

const contextsOf = (contexts: UdmJson["contexts"] = []): string => contexts.toSorted().join();

/** Makes the changes: all creations and updates in one request, then all deletions in one. */
export async function makeChanges(client: ApiClient, changes: readonly EntryChange[]): Promise<void> {
  const requests = changes.flatMap(({ after }) => (after === undefined ? [] : [{ udm: after }]));
  const keys = changes.flatMap(({ key, after }) => (after === undefined ? [key] : []));
  const isOfContexts = changes.some(
    ({ before, after }) => contextsOf(before?.contexts) !== contextsOf(after?.contexts),
  );
  const update_mask = isOfContexts ? `${fields},contexts` : fields;
  if (requests.length > 0) await callTools(client, "BatchUpsertUdms", { requests, update_mask });
  if (keys.length > 0) await callTools(client, "BatchDeleteUdms", { keys });
}

/** All fields of an entry except contexts. */
const fields = "name,tags,vlan,internal,metadata";
