import type { ColumnMap, ColumnRule, Target } from "./column-map.ts";

/** The names of the maps that are there without being written. */
export const readyMapNames = ["netgloss", "sheet", "netbox", "phpipam", "infoblox", "netdisco"] as const;
export type ReadyMapName = (typeof readyMapNames)[number];

/** A map for the exports of a product, by its name. */
export function readyMap(name: ReadyMapName): ColumnMap {
  return { ...base, ...maps[name]() };
}

const base: ColumnMap = {
  rules: [],
  rest: "ignore",
  defaults: {},
  constants: {},
  where: new Map(),
  duplicates: "refuse",
  isExact: false,
};

function rule(to: Target, from: readonly string[], more: Partial<ColumnRule> = {}): ColumnRule {
  return { from, to, isOptional: true, ...more };
}

/** Names under which sheets have what we call otherwise. */
const vlanColumns = ["vlan", "vlan id", "vlanid", "vid", "vlan number"];
const siteColumns = ["site.name", "scope.name", "site", "location", "scope"];
const tagColumns = ["tags", "tag", "labels"];

const maps: Readonly<Record<ReadyMapName, () => Partial<ColumnMap>>> = {
  netgloss: () => ({
    isExact: true,
    rest: "refuse",
    rules: [
      { from: ["key"], to: "key" },
      rule("name", ["name"]),
      rule("tags", ["tags"], { split: "," }),
      rule("vlan", ["vlan"]),
      rule("internal", ["internal"]),
      rule("contexts", ["contexts"], { split: "," }),
      rule("metadata", ["metadata"]),
      rule("otherFields", ["otherFields"]),
    ],
  }),
  sheet: () => ({
    rest: "metadata",
    rules: [
      rule("key", ["key", "cidr", "prefix", "subnet", "network", "range", "ip address", "ip", "address"], {
        mask: ["mask", "netmask", "subnet mask", "prefix length"],
      }),
      rule("key", ["start", "start address", "from", "first", "first ip"], {
        until: ["end", "end address", "to", "last", "last ip"],
      }),
      rule("name", ["name", "description", "comment"]),
      rule("tags", tagColumns, { split: "," }),
      rule("vlan", vlanColumns, { take: "number" }),
      rule("internal", ["internal"]),
    ],
  }),
  netbox: () => ({
    rules: [
      rule("key", ["prefix"]),
      rule("key", ["start address", "start_address"], { until: ["end address", "end_address"], take: "host" }),
      rule("key", ["address", "ip address"], { take: "host" }),
      rule("name", ["dns name", "description"]),
      rule("tags", ["tags.slug", ...tagColumns], { split: "," }),
      rule("vlan", ["vlan.vid", "vlan"], { take: "number" }),
      rule("metadata:.tenant.name", ["tenant.name", "tenant"]),
      rule("metadata:.site.name", siteColumns),
      rule("metadata:.role.name", ["role.name", "role.label", "role"]),
      rule("metadata:.vrf.name", ["vrf.name", "vrf"], { values: new Map([["Global", ""]]) }),
    ],
  }),
  phpipam: () => ({
    rules: [
      rule("key", ["subnet"], { mask: ["mask", "subnet mask"] }),
      rule("key", ["ip address", "ip", "ip_addr", "address"]),
      rule("name", ["hostname", "dns name", "description"]),
      rule("tags", ["tag", "tags", "ip state", "state"], { split: "," }),
      rule("vlan", [...vlanColumns, "vlan.number"], { take: "number" }),
      rule("metadata:.section.name", ["section", "section name"]),
      rule("metadata:.site.name", [...siteColumns, "location name"]),
      rule("metadata:.vrf.name", ["vrf", "vrf name"]),
      rule("metadata:.owner.name", ["owner", "customer"]),
    ],
  }),
  infoblox: () => ({
    // A network is exported together with its container, which may have the same address.
    duplicates: "last",
    rules: [
      rule("key", ["start_address", "start address"], { until: ["end_address", "end address"] }),
      rule("key", ["address", "network"], { mask: ["netmask", "cidr"] }),
      rule("key", ["ip_address", "ipv6_address", "ip address"]),
      rule("key", ["addresses"], { split: "," }),
      rule("name", ["fqdn", "host name", "name", "comment"]),
      rule("vlan", ["EA-VLAN", "vlans", "vlan", "vlan id"], { take: "number" }),
      rule("metadata:.site.name", ["EA-Site", "site"]),
      rule("metadata:.tenant.name", ["EA-Tenant", "tenant"]),
      rule("metadata:.region.name", ["EA-Region", "region"]),
      rule("metadata:.network.view", ["network_view", "network view"], { values: new Map([["default", ""]]) }),
    ],
  }),
  netdisco: () => ({
    duplicates: "first",
    rules: [
      rule("key", ["ip", "ip address", "node ip", "device ip", "host", "prefix", "subnet"]),
      rule("name", ["dns", "dns name", "device name", "name", "netbios", "hostname"]),
      rule("vlan", ["vlan", "native vlan"], { take: "number" }),
      rule("metadata:.mac.addr", ["mac", "mac address"]),
      rule("metadata:.site.name", ["location", "site"]),
      rule("metadata:.vendor.name", ["vendor"]),
      rule("metadata:.model.name", ["model"]),
    ],
  }),
};
