import type { ApiClient } from "../client/api-call.ts";
import { CommandError } from "../terminal.ts";
import type { ChangeJson, FullUdmJson } from "../../../server/index.ts";

/** Calls a method of UdmToolsService, or of the corresponding service for names. */
export function callTools(client: ApiClient, method: string, request: unknown): Promise<unknown> {
  const service = client.names === true ? "names.v1.NameToolsService" : "udm.v1.UdmToolsService";
  return client.ask("POST", `/api/v1/enrich/ipaddr/${service}/${method}`, request);
}

const pageSize = 1_000;

interface Page {
  readonly nextPageToken?: string;
}

/** Yields the elements of all pages of a method, a page at a time, up to `limit` elements. */
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

interface SearchRequest {
  readonly filter?: string;
  readonly text?: string;
  readonly order?: string;
  readonly layers?: boolean;
}

/** Finds entries, in the requested order. */
export function searchUdms(
  client: ApiClient,
  request: SearchRequest,
  limit = Infinity,
): AsyncGenerator<readonly UdmJson[]> {
  return pages(client, "SearchUdms", { ...request }, limit, (page) => (page as { udms?: UdmJson[] }).udms);
}

interface HistoryRequest {
  readonly key?: string;
  readonly author?: string;
  readonly after?: number;
  readonly without_entries?: boolean;
  readonly without_layers?: boolean;
}

/** Lists changes, the newest first. @param whenOff called when the collector keeps none. */
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

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const blanks: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Yields the elements of the first array in an answer like `{"udms": [{…}, {…}]}` as it arrives, some at a time, so that a million of them
 * never are in memory at once.
 *
 * @throws CommandError when the answer is not an object, or is truncated.
 */
async function* jsonElements<T>(answer: AsyncIterable<Uint8Array>): AsyncGenerator<readonly T[]> {
  /** Received bytes, from the first pending element on. */
  let bytes: Uint8Array = new Uint8Array(0);
  let at = 0;
  let depth = 0;
  let isInText = false;
  let array: "before" | "inside" | "after" = "before";
  for await (const chunk of answer) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    let from = 0;
    /** The end of the last complete element. */
    let to = 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (isInText) {
        // The character after it may be in the next chunk.
        if (byte === backslash) at++;
        else if (byte === quote) isInText = false;
      } else if (depth === 0 && byte !== openBrace) {
        if (!blanks.has(byte)) throw strange(bytes);
      } else if (byte === quote) isInText = true;
      else if (byte === openBrace || byte === openBracket) {
        if (depth === 1 && byte === openBracket && array === "before") {
          array = "inside";
          from = to = at + 1;
        }
        depth++;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (depth === 2 && byte === closeBracket && array === "inside") {
          array = "after";
          to = at;
        }
        depth--;
      } else if (byte === comma && depth === 2 && array === "inside") to = at;
    }
    if (to > from) yield parse(bytes, from, to) as readonly T[];
    if (array === "before") continue;
    const given = array === "after" ? bytes.length : Math.max(from, to);
    bytes = bytes.subarray(given);
    at -= given;
  }
  if (depth !== 0 || isInText) throw new CommandError("unreachable", "the answer ended before its end");
}

function parse(bytes: Uint8Array, from: number, to: number): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
  try {
    return JSON.parse(`[${text.replace(/^\s*,/, "")}]`) as unknown;
  } catch {
    throw strange(bytes);
  }
}

function strange(bytes: Uint8Array): CommandError {
  const start = Buffer.from(bytes.subarray(0, 200)).toString("utf8");
  return new CommandError("unknown", `the server does not answer as netgloss does: ${start}`);
}

/** An entry as the API sends it in JSON: unset fields are absent. */
export type UdmJson = Readonly<FullUdmJson> & { readonly key: string };

/** The selection of a list: everything, entries related to a key, or the one entry with it. */
export interface Selection {
  readonly key?: string;
  readonly exact?: boolean;
}

function path({ names }: ApiClient, method: string): string {
  return `/api/v1/enrich/ipaddr/${names === true ? "names.v1.NameService" : "udm.v1.UdmService"}/${method}`;
}

/** Calls a method of the metadata API. */
export function callUdm(client: ApiClient, method: string, request: unknown): Promise<unknown> {
  return client.ask("POST", path(client, method), request);
}

/** Yields entries in list order, some at a time as they arrive. */
export async function* readUdms(client: ApiClient, selection: Selection): AsyncGenerator<readonly UdmJson[]> {
  yield* jsonElements<UdmJson>(await client.read("POST", path(client, "ListUdms"), { body: selection }));
}

/** Yields only their keys. */
export async function* readUdmKeys(client: ApiClient, selection: Selection): AsyncGenerator<readonly string[]> {
  yield* jsonElements<string>(await client.read("POST", path(client, "ListUdmKeys"), { body: selection }));
}

/** Finds the entry with exactly this key; undefined when there is none. */
export async function findUdm(client: ApiClient, key: string): Promise<UdmJson | undefined> {
  for await (const [entry] of readUdms(client, { key, exact: true })) return entry;
  return undefined;
}

/** Returns the error for keys without an entry, in the API's words. */
export function noEntries(keys: readonly string[]): CommandError {
  const lines = keys.map((key) => `key ${JSON.stringify(key)} does not exist`);
  return new CommandError("not_found", `not_found: ${lines.join("\n  ")}`);
}
