import type { ApiClient } from "../client/api-call.ts";
import { searchUdms } from "./tools-json.ts";
import { findUdm, readUdms, type Selection, type UdmJson } from "./udm-json.ts";

/** Entries with their contexts, in list order, some at a time while they arrive. Few entries have contexts: those are asked for first. */
export async function* readFullUdms(client: ApiClient, selection: Selection): AsyncGenerator<readonly UdmJson[]> {
  const contexts = new Map<string, UdmJson["contexts"]>();
  for await (const found of searchUdms(client, { filter: "context exists" })) {
    for (const entry of found) contexts.set(entry.key, entry.contexts);
  }
  for await (const batch of readUdms(client, selection)) {
    yield contexts.size === 0 ? batch : batch.map((entry) => withContexts(entry, contexts.get(entry.key)));
  }
}

/** The entry with exactly this key, with its contexts; undefined when there is none. */
export async function findFullUdm(client: ApiClient, key: string): Promise<UdmJson | undefined> {
  const entry = await findUdm(client, key);
  if (entry === undefined) return undefined;
  const filter = `key in ${entry.key}`;
  // The widest of the entries within a key come first: the entry itself, and those with other host bits.
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
