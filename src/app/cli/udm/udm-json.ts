import { CommandError } from "../command-error.ts";
import type { ApiClient } from "../client/api-call.ts";
import { jsonElements } from "../client/json-elements.ts";

/** An entry as the API sends it in JSON: what is not set is left out. */
export interface UdmJson {
  readonly key: string;
  readonly name?: string;
  readonly tags?: readonly string[];
  /** A number that may exceed 2^53, as text. */
  readonly vlan?: string;
  readonly internal?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Where it applies; everywhere when left out. Only UdmToolsService knows them. */
  readonly contexts?: readonly string[];
  /** The source that has it; left out for what people write. */
  readonly layer?: string;
}

/** What a list is of: everything, what is related to a key, or the one entry with it. */
export interface Selection {
  readonly key?: string;
  readonly exact?: boolean;
}

const path = (method: string): string => `/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`;

/** Calls one method of the metadata API. */
export function callUdm(client: ApiClient, method: string, request: unknown): Promise<unknown> {
  return client.ask("POST", path(method), request);
}

/** Entries in list order, some at a time while they arrive. */
export async function* readUdms(client: ApiClient, selection: Selection): AsyncGenerator<readonly UdmJson[]> {
  yield* jsonElements<UdmJson>(await client.read("POST", path("ListUdms"), { body: selection }));
}

/** Their keys alone. */
export async function* readUdmKeys(client: ApiClient, selection: Selection): AsyncGenerator<readonly string[]> {
  yield* jsonElements<string>(await client.read("POST", path("ListUdmKeys"), { body: selection }));
}

/** The entry with exactly this key; undefined when there is none. */
export async function findUdm(client: ApiClient, key: string): Promise<UdmJson | undefined> {
  for await (const [entry] of readUdms(client, { key, exact: true })) return entry;
  return undefined;
}

/** The error of a command for keys without an entry, as the API words it. */
export function noEntries(keys: readonly string[]): CommandError {
  const lines = keys.map((key) => `key ${JSON.stringify(key)} does not exist`);
  return new CommandError("not_found", `not_found: ${lines.join("\n  ")}`);
}
