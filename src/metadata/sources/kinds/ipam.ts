import { readyMap } from "../../exchange/map/column-map.ts";
import type { SourceReader } from "../source-reader.ts";
import { SourceFault } from "../source-config.ts";
import {
  aThird,
  at,
  listAt,
  minutes,
  optionOf,
  type SourceKind,
  mapOf,
  textAt,
  type KindContext,
} from "./source-kind.ts";

type NetboxObject = Readonly<Record<string, unknown>>;

/** The state of one list after a run. */
interface KnownList {
  readonly objects: ReadonlyMap<unknown, NetboxObject>;
  /** The greatest `last_updated`. */
  readonly newest: string;
}

/** The state after a run. */
interface Known {
  readonly lists: ReadonlyMap<string, KnownList>;
  /** The time of the last complete read. */
  readonly fullAt: number;
}

const paths: Readonly<Record<string, string>> = {
  prefixes: "/api/ipam/prefixes/",
  "ip-addresses": "/api/ipam/ip-addresses/",
  "ip-ranges": "/api/ipam/ip-ranges/",
};
const pageSize = 1000;
/** The interval of complete reads. They are needed because renaming a tenant or site does not update its prefixes. */
const fullEveryMs = 6 * 60 * minutes;

/**
 * Reads NetBox by its REST API. The first run reads all pages; later runs read only what was updated since. If the count
 * does not match, something was deleted, and everything is read again.
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

/** Reads the updates of a list; returns undefined where the whole list must be read. */
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

/** Reads all pages of a list in the order of ids, so that objects added meanwhile come at the end. */
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

/** The fields that are requested for each type of object. */
const fields: Readonly<Record<string, string>> = {
  network: "network,comment,network_view,extattrs",
  ipv6network: "network,comment,network_view,extattrs",
  range: "start_addr,end_addr,name,comment,network_view,extattrs",
  fixedaddress: "ipv4addr,name,comment,network_view,extattrs",
  "record:host": "name,comment,ipv4addrs,ipv6addrs,extattrs",
};

/** Reads Infoblox by WAPI. The URL has the version: `https://gm.example.net/wapi/v2.12`. Each page has the id of the next. */
export const infoblox: SourceKind = {
  place: "url",
  options: ["objects", "network_view"],
  intervalMs: 15 * minutes,
  isPaged: true,
  maxShrink: aThird,
  map: mapOf(
    [
      ["network", "key"],
      ["start_addr", "key", { until: ["end_addr"] }],
      ["addresses", "key"],
      ["name", "name", { from: ["name", "comment"] }],
      ["extattrs.VLAN.value", "vlan", { take: "number" }],
      ["extattrs.Site.value", "metadata:.site.name"],
      ["extattrs.Tenant.value", "metadata:.tenant.name"],
      ["extattrs.Region.value", "metadata:.region.name"],
      ["network_view", "metadata:.network.view", { values: new Map([["default", ""]]) }],
    ],
    // The same network may be in several views. The address of a host may also be a fixed address.
    { duplicates: "first" },
  ),
  check(config) {
    const unknown = optionOf(config, "objects").find((name) => fields[name] === undefined);
    return unknown === undefined ? undefined : `objects has ${unknown}: expected ${Object.keys(fields).join(", ")}`;
  },
  async read({ config, reader }) {
    const rows: unknown[] = [];
    const view = optionOf(config, "network_view")[0];
    for (const type of optionOf(config, "objects", Object.keys(fields))) {
      const chosen = view === undefined || type === "record:host" ? "" : `&network_view=${encodeURIComponent(view)}`;
      const first = `/${type}?_return_as_object=1&_paging=1&_max_results=${pageSize}&_return_fields=${fields[type]}${chosen}`;
      for (let path: string | undefined = first; path !== undefined;) {
        const page = await reader.json(path);
        const objects = listAt(page, "result");
        if (objects === undefined) {
          throw new SourceFault(
            "content",
            `WAPI answers /${type} without a result: has the url its version, as in /wapi/v2.12?`,
          );
        }
        for (const object of objects) rows.push({ ...object, addresses: addressesOf(object) });
        const next = at(page, "next_page_id");
        path = typeof next === "string" ? `/${type}?_page_id=${encodeURIComponent(next)}` : undefined;
      }
    }
    return { rows };
  },
};

function addressesOf(object: Readonly<Record<string, unknown>>): unknown[] {
  const listed = (name: string, field: string): unknown[] => (listAt(object, name) ?? []).map((one) => one[field]);
  const all = [object["ipv4addr"], ...listed("ipv4addrs", "ipv4addr"), ...listed("ipv6addrs", "ipv6addr")];
  return all.filter((address) => typeof address === "string");
}

/**
 * Reads phpIPAM by its API. The URL is that of the application: `https://ipam.example.net/api/netgloss`. A code token is sent
 * as the header `token`. With a name and password, a session token is requested first.
 */
export const phpipam: SourceKind = {
  place: "url",
  options: ["objects"],
  intervalMs: 15 * minutes,
  isPaged: true,
  maxShrink: aThird,
  tokenScheme: "",
  map: readyMap("phpipam"),
  check(config) {
    const unknown = optionOf(config, "objects").find((name) => name !== "subnets" && name !== "addresses");
    return unknown === undefined ? undefined : `objects has ${unknown}: expected subnets, addresses`;
  },
  async read(context) {
    const { reader, config } = context;
    const headers = { token: await tokenOf(context) };
    const objects = optionOf(config, "objects", ["subnets", "addresses"]);
    const vlans = namesOf(await readList(reader, "/vlan/", headers), ["vlanId", "id"], "number");
    const sections = namesOf(await readList(reader, "/sections/", headers), ["id"], "name");
    const subnets = await readList(reader, "/subnets/", headers);
    const isFolder = (subnet: Readonly<Record<string, unknown>>): boolean =>
      ["1", 1, true].includes(subnet["isFolder"] as string);
    const rows: unknown[] = [];
    if (objects.includes("subnets")) {
      for (const subnet of subnets) {
        if (isFolder(subnet)) continue;
        rows.push({
          subnet: subnet["subnet"],
          mask: subnet["mask"],
          description: subnet["description"],
          vlan: vlans.get(String(subnet["vlanId"])),
          section: sections.get(String(subnet["sectionId"])),
          location: at(subnet, "location", "name"),
        });
      }
    }
    if (objects.includes("addresses")) {
      for (const address of await readList(reader, "/addresses/", headers)) {
        const { ip, hostname, description, owner } = address;
        rows.push({ ip, hostname, description, owner });
      }
    }
    return { rows };
  },
};

async function tokenOf({ config, reader, secret }: KindContext): Promise<string> {
  if (config.token !== undefined) return secret("token");
  if (config.username === undefined) {
    throw new SourceFault("configuration", "phpIPAM needs token_file or token_env, or username with a password");
  }
  const token = at(await reader.json("/user/", { method: "POST" }), "data", "token");
  if (typeof token !== "string") throw new SourceFault("refused", "phpIPAM gives no session token");
  return token;
}

/** Reads the data of an answer. phpIPAM answers "not found" for an empty list. */
async function readList(
  reader: SourceReader,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const answer = await reader.json(path, { headers, accepted: [404] });
  const data = listAt(answer, "data");
  if (data !== undefined) return data;
  const message = textAt(answer, "message");
  const isEmpty = at(answer, "success") === false || at(answer, "success") === 0 || at(answer, "code") === 200;
  if (isEmpty && /\bno\b.*\b(?:found|available|results?|exist)\b|not found/i.test(message)) return [];
  throw new SourceFault(
    "content",
    `phpIPAM answers ${path} with no data${message === "" ? "" : `: ${message.slice(0, 200)}`}`,
  );
}

function namesOf(
  objects: readonly Readonly<Record<string, unknown>>[],
  ids: readonly string[],
  name: string,
): ReadonlyMap<string, unknown> {
  return new Map(
    objects.map((object) => [ids.map((id) => textAt(object, id)).find((id) => id !== "") ?? "", object[name]]),
  );
}
