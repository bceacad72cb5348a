import { SourceFault } from "../source-fault.ts";
import { aThird, at, listAt, mapOf, minutes, optionOf, type SourceKind } from "./source-kind.ts";

/** What is asked of each kind of objects. */
const fields: Readonly<Record<string, string>> = {
  network: "network,comment,network_view,extattrs",
  ipv6network: "network,comment,network_view,extattrs",
  range: "start_addr,end_addr,name,comment,network_view,extattrs",
  fixedaddress: "ipv4addr,name,comment,network_view,extattrs",
  "record:host": "name,comment,ipv4addrs,ipv6addrs,extattrs",
};
const pageSize = 1000;

/** Infoblox by WAPI. The URL has the version: `https://gm.example.net/wapi/v2.12`. Pages are followed by their ids. */
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
    // The same network may be in several views; a host's address may be fixed, too.
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
