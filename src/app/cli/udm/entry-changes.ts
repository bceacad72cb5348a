import type { ApiClient } from "../client/api-call.ts";
import { findFullUdm, readFullUdms } from "./full-entries.ts";
import { callTools } from "./tools-json.ts";
import type { UdmJson } from "./udm-json.ts";

/** What happens to one key. Without `before` it is created, without `after` deleted. */
export interface EntryChange {
  readonly key: string;
  readonly before?: UdmJson;
  readonly after?: UdmJson;
}

/** Up to this many entries are asked for one by one; beyond, all are listed. */
const askedSingly = 20;

/** The entries of a collector with these keys, by key. Keys are canonical. */
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

/** What has to happen so that each of these keys has the entry that is wanted; others are left alone. */
export function changesTo(wanted: ReadonlyMap<string, UdmJson>, current: ReadonlyMap<string, UdmJson>): EntryChange[] {
  const changes: EntryChange[] = [];
  for (const [key, after] of wanted) {
    const before = current.get(key);
    if (before === undefined) changes.push({ key, after });
    else if (!isSameEntry(before, after)) changes.push({ key, before, after });
  }
  return changes;
}

/** Whether two entries have the same values and contexts; the order of metadata does not count. */
export function isSameEntry(a: UdmJson, b: UdmJson): boolean {
  return canonical(a) === canonical(b);
}

function canonical({ name, tags, vlan, internal, metadata = {}, contexts }: UdmJson): string {
  const pairs = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([name ?? "", tags ?? [], vlan ?? "0", internal ?? false, pairs, contextsOf(contexts)]);
}

const contextsOf = (contexts: UdmJson["contexts"] = []): string => contexts.toSorted().join();

/** Makes the changes: all creations and updates as one, then all deletions as one. */
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

/** All that an entry has but contexts. */
const fields = "name,tags,vlan,internal,metadata";
