import { readyMap } from "../../exchange/map/ready-maps.ts";
import type { SourceReader } from "../fetch/source-reader.ts";
import { SourceFault } from "../source-fault.ts";
import { aThird, at, listAt, minutes, optionOf, type SourceKind } from "./source-kind.ts";

type NetboxObject = Readonly<Record<string, unknown>>;

/** What is known of one list. */
interface KnownList {
  readonly objects: ReadonlyMap<unknown, NetboxObject>;
  /** The greatest `last_updated`. */
  readonly newest: string;
}

/** What is known after a run. */
interface Known {
  readonly lists: ReadonlyMap<string, KnownList>;
  /** When all was read. */
  readonly fullAt: number;
}

const paths: Readonly<Record<string, string>> = {
  prefixes: "/api/ipam/prefixes/",
  "ip-addresses": "/api/ipam/ip-addresses/",
  "ip-ranges": "/api/ipam/ip-ranges/",
};
const pageSize = 1000;
/** How often everything is read again: a tenant or site that was renamed changes no prefix. */
const fullEveryMs = 6 * 60 * minutes;

/**
 * NetBox by its REST API. At first all is read page by page; later what was updated since. A count that does not fit then
 * shows that something was deleted, and all is read again.
 */
export const netbox: SourceKind = {
  place: "url",
  options: ["objects", "filter"],
  intervalMs: 5 * minutes,
  isPaged: true,
  maxShrink: aThird,
  tokenScheme: "Token",
  map: readyMap("netbox"),
  check(config) {
    const unknown = optionOf(config, "objects").find((name) => paths[name] === undefined);
    return unknown === undefined ? undefined : `objects has ${unknown}: expected ${Object.keys(paths).join(", ")}`;
  },
  async read({ config, reader, memory, now }) {
    const names = optionOf(config, "objects", ["prefixes", "ip-addresses", "ip-ranges"]);
    const filter = optionOf(config, "filter").join("&");
    const before = memory.get("known") as Known | undefined;
    const isFull = before === undefined || now - before.fullAt >= fullEveryMs;
    const lists = new Map<string, KnownList>();
    let hasChanged = isFull;
    for (const name of names) {
      const path = `${paths[name]}?${filter === "" ? "" : `${filter}&`}`;
      const known = isFull ? undefined : before?.lists.get(name);
      const list = (known && (await readSince(reader, path, known))) ?? (await readAll(reader, path));
      hasChanged ||= list !== known;
      lists.set(name, list);
    }
    memory.set("known", { lists, fullAt: isFull ? now : before.fullAt } satisfies Known);
    if (!hasChanged) return undefined;
    const rows: unknown[] = [];
    for (const { objects } of lists.values()) for (const object of objects.values()) rows.push(object);
    return { rows };
  },
};

/** What happened to a list; undefined when it must be read whole. */
async function readSince(reader: SourceReader, path: string, known: KnownList): Promise<KnownList | undefined> {
  const count = Number(at(await reader.json(`${path}limit=1&fields=id`), "count"));
  const changed =
    known.newest === ""
      ? new Map<unknown, NetboxObject>()
      : await readPages(reader, `${path}last_updated__gte=${encodeURIComponent(known.newest)}&`);
  const objects = new Map(known.objects);
  let isSame = true;
  for (const [id, object] of changed) {
    isSame &&= known.objects.get(id)?.["last_updated"] === object["last_updated"];
    objects.set(id, object);
  }
  if (objects.size !== count) return undefined;
  return isSame ? known : { objects, newest: newestOf(objects) };
}

async function readAll(reader: SourceReader, path: string): Promise<KnownList> {
  const objects = await readPages(reader, path);
  return { objects, newest: newestOf(objects) };
}

/** All pages of a list, in the order of ids, so that what is added meanwhile is at the end. */
async function readPages(reader: SourceReader, path: string): Promise<Map<unknown, NetboxObject>> {
  const objects = new Map<unknown, NetboxObject>();
  for (let offset = 0; ;) {
    const page = await reader.json(`${path}ordering=id&limit=${pageSize}&offset=${offset}`);
    const results = listAt(page, "results");
    const count = at(page, "count");
    if (results === undefined || typeof count !== "number") {
      throw new SourceFault("content", "the answer is not a list of NetBox: is the url that of NetBox itself?");
    }
    for (const object of results) objects.set(object["id"], object);
    offset += results.length;
    if (at(page, "next") === null || at(page, "next") === undefined) {
      if (objects.size === count) return objects;
      throw new SourceFault("partial", `NetBox gave ${objects.size} of ${count} objects: the list changed meanwhile`);
    }
    if (results.length === 0) throw new SourceFault("partial", `NetBox gave an empty page at ${offset} of ${count}`);
  }
}

function newestOf(objects: ReadonlyMap<unknown, NetboxObject>): string {
  let newest = "";
  for (const { last_updated: updated } of objects.values()) {
    if (typeof updated === "string" && updated > newest) newest = updated;
  }
  return newest;
}
