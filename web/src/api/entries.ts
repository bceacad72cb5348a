import { callApi, toolsPath, type ApiCall } from "./call.ts";
import type { Entry } from "./entry.ts";

/** What happened to an entry. */
export interface EntryChange {
  readonly key: string;
  readonly before?: Entry;
  readonly after?: Entry;
}

export interface SearchAnswer {
  readonly udms?: readonly Entry[];
  readonly nextPageToken?: string;
}

/** Entries by a filter and a text, in the order of keys. */
export function searchCall(search: {
  readonly filter?: string;
  readonly text?: string;
  readonly order?: string;
  /** Those of sources, too. */
  readonly layers?: boolean;
  readonly pageSize?: number;
  readonly pageToken?: string;
}): ApiCall {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  return { path: toolsPath("SearchUdms"), body: Object.fromEntries(given) };
}

/** The entry with exactly this key. */
export async function readEntry(key: string, signal?: AbortSignal): Promise<Entry | undefined> {
  const answer = await callApi<SearchAnswer>(searchCall({ filter: keyFilter(key), pageSize: 20 }), { signal });
  return answer.udms?.find((entry) => entry.key === key);
}

/** Entries that lie in a key, itself included. */
export const keyFilter = (key: string): string => `key in ${key}`;

const everything = "name,tags,vlan,internal,metadata,contexts";

/**
 * Creates or replaces an entry.
 *
 * @param known the entry as it was shown; undefined: there was none. When it is another by now, nothing is done.
 * @throws ApiFailure `failed_precondition` when others have changed it.
 */
export async function saveEntry({ key, ...values }: Entry, known: Entry | undefined): Promise<void> {
  const { otherFields: _otherFields, layer: _layer, ...udm } = { key, ...values };
  await callApi({
    path: toolsPath("BatchUpsertUdms"),
    body: { requests: [{ udm, expected: known === undefined ? {} : plain(known) }], updateMask: everything },
  });
}

/** What the server compares. */
function plain({ otherFields: _otherFields, layer: _layer, ...entry }: Entry): Omit<Entry, "otherFields" | "layer"> {
  return entry;
}

export async function deleteEntries(keys: readonly string[]): Promise<void> {
  await callApi({ path: toolsPath("BatchDeleteUdms"), body: { keys } });
}

/** Adds and removes tags of many entries in one change. */
export async function tagEntries(
  keys: readonly string[],
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<{ readonly updated?: number; readonly change?: number }> {
  const requests = keys.map((key) => ({ udm: { key }, addTags: add, removeTags: remove }));
  return callApi({ path: toolsPath("BatchUpsertUdms"), body: { requests } }, { timeoutMs: 120_000 });
}

/** Words between commas. */
export function splitTags(text: string): readonly string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");
}
