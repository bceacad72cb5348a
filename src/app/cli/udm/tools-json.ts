import type { ApiClient } from "../client/api-call.ts";
import type { EntryChange } from "./entry-changes.ts";
import type { UdmJson } from "./udm-json.ts";

/** Calls one method of UdmToolsService. */
export function callTools(client: ApiClient, method: string, request: unknown): Promise<unknown> {
  return client.ask("POST", `/api/v1/enrich/ipaddr/udm.v1.UdmToolsService/${method}`, request);
}

/** A change of the history, as the API sends it. */
export interface ChangeJson {
  readonly number: number;
  readonly time: string;
  readonly author?: string;
  readonly method?: string;
  readonly entries?: number;
  readonly changes?: readonly EntryChange[];
  readonly cut?: boolean;
  /** The source whose entries they are. */
  readonly layer?: string;
  /** The collector that has made the change, where several share the metadata. */
  readonly collector?: string;
}

const pageSize = 1_000;

interface Page {
  readonly nextPageToken?: string;
}

/** The elements of all pages of a method, a page at a time, `limit` of them at most. */
async function* pages<T>(
  client: ApiClient,
  method: string,
  request: Readonly<Record<string, unknown>>,
  limit: number,
  elementsOf: (page: unknown) => readonly T[] | undefined,
): AsyncGenerator<readonly T[]> {
  let left = limit;
  let pageToken = "";
  do {
    const size = { page_size: Math.min(left, pageSize), page_token: pageToken };
    const page = (await callTools(client, method, { ...request, ...size })) as Page;
    const elements = elementsOf(page) ?? [];
    yield elements;
    left -= elements.length;
    pageToken = page.nextPageToken ?? "";
  } while (pageToken !== "" && left > 0);
}

export interface SearchRequest {
  readonly filter?: string;
  readonly text?: string;
  readonly order?: string;
  readonly layers?: boolean;
}

/** Entries that are found, in the order asked for. */
export function searchUdms(
  client: ApiClient,
  request: SearchRequest,
  limit = Infinity,
): AsyncGenerator<readonly UdmJson[]> {
  return pages(client, "SearchUdms", { ...request }, limit, (page) => (page as { udms?: UdmJson[] }).udms);
}

export interface HistoryRequest {
  readonly key?: string;
  readonly author?: string;
  readonly after?: number;
  readonly without_entries?: boolean;
  readonly without_layers?: boolean;
}

/** Changes, the newest first. @param whenOff called when the collector keeps none. */
export function listChanges(
  client: ApiClient,
  request: HistoryRequest,
  limit: number,
  whenOff: () => void,
): AsyncGenerator<readonly ChangeJson[]> {
  return pages(client, "ListChanges", { ...request }, limit, (page) => {
    const { changes, off = false } = page as { changes?: ChangeJson[]; off?: boolean };
    if (off) whenOff();
    return changes;
  });
}
