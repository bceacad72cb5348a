import type { UdmContext } from "../../model/entry.ts";

/** The names of the built-in maps. */
export const readyMapNames = ["netgloss", "sheet", "netbox", "phpipam", "infoblox", "netdisco"] as const;
export type ReadyMapName = (typeof readyMapNames)[number];

/** Returns the built-in map of a product's exports. */
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

/** Other column names that sheets use for `vlan`. */
const vlanColumns = ["vlan", "vlan id", "vlanid", "vid", "vlan number"];
const siteColumns = ["site.name", "scope.name", "site", "location", "scope"];
const tagColumns = ["tags", "tag", "labels"];

const maps: Readonly<Record<ReadyMapName, () => Partial<ColumnMap>>> = {
  netgloss: () => ({
    isExact: true,
    rest: "refuse",
    rules: [
      { from: ["key"], to: "key" },
      rule("scope", ["scope"]),
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
    // Infoblox exports a network together with its container, which may have the same address.
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

/** The field of an entry that a column sets. `metadata` alone is the whole map. */
export type Target = (typeof plainTargets)[number] | `metadata:${string}`;
export const plainTargets = [
  "key",
  "scope",
  "name",
  "tags",
  "vlan",
  "internal",
  "contexts",
  "metadata",
  "otherFields",
] as const;

/**
 * The part of a cell that is used: `host` is the address without its prefix length (`192.0.2.1/24` → `192.0.2.1`), `number` the
 * last whole number (`servers (20)` → `20`).
 */
type Take = (typeof takes)[number];
export const takes = ["host", "number"] as const;

/** A rule that sets a field from columns. */
export interface ColumnRule {
  /** Columns of a sheet, or paths in an object (`tenant.name`). The first one that is not empty counts. */
  readonly from: readonly string[];
  readonly to: Target;
  /** Columns with the prefix length or the network mask of a key. */
  readonly mask?: readonly string[];
  /** Columns with the last address of a range, for a key. */
  readonly until?: readonly string[];
  readonly take?: Take;
  /** The separator of the texts of one cell: tags, contexts. */
  readonly split?: string;
  /** The value for an empty cell. */
  readonly default?: string;
  /** Replacements of texts. A text without a replacement stays. */
  readonly values?: ReadonlyMap<string, string>;
  /** True where a text without this column is no fault. */
  readonly isOptional?: boolean;
}

/** Values that do not come from a column. */
export interface FixedValues {
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly vlan?: bigint;
  readonly internal?: boolean;
  readonly contexts?: readonly UdmContext[];
  readonly metadata?: ReadonlyMap<string, string>;
}

/** The rules that turn rows into entries. If several rules set one field, the first with a value counts; tags are combined. */
export interface ColumnMap {
  readonly rules: readonly ColumnRule[];
  /** The use of columns without a rule: ignored, metadata under their own name, or a fault. `metadata:x` is always metadata `x`. */
  readonly rest: "ignore" | "metadata" | "refuse";
  /** Values for fields that a row leaves empty. Tags are added to those of the row. */
  readonly defaults: FixedValues;
  /** Values that replace those of the rows. */
  readonly constants: FixedValues;
  /** The texts of columns that select rows. A row must have one of them in each column. */
  readonly where: ReadonlyMap<string, readonly string[]>;
  /** The treatment of a key in several rows: a fault, or one of them. */
  readonly duplicates: "refuse" | "first" | "last";
  /** True for the collector's own form: exact names of columns, blanks kept, and `\` before characters that have a special meaning. */
  readonly isExact: boolean;
}

/** Returns the name of a column for comparison, without case, blanks, hyphens and underscores. */
export function plainName(column: string): string {
  return column.toLowerCase().replaceAll(/[\s_*-]+/g, "");
}

export const metadataColumn = "metadata:";
