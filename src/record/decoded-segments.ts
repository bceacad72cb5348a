/**
 * What may follow directly after an object (`flow.src`, `flow.dst`, `flow.export`) in a name that a decoder gives: a
 * decoder's `flow.src.l4.port.id` needs `l4` here. A name below an object with any other segment there belongs to the
 * operator's metadata alone, so it needs no check against the record. Two names are never one the beginning of the
 * other (`flow.src.l4` and `flow.src.l4.port.id`): Elasticsearch refuses such a line.
 *
 * Reserved within these for what metadata adds: `ip.subnet.*`, `vlan.tag.id` and `isInternal`; no decoder puts a value
 * at `ip`, `ip.subnet`, `vlan` or `vlan.tag` themselves.
 */
export const decodedSegments: ReadonlySet<string> = new Set([
  "agent",
  "app",
  "as",
  "bgp",
  "domain",
  "engine",
  "geo",
  "host",
  "id",
  "ip",
  "isInternal",
  "l4",
  "locality",
  "mac",
  "mpls",
  "name",
  "nat",
  "net",
  "netif",
  "observation",
  "port",
  "relay",
  "sequence",
  "template",
  "timestamp",
  "type",
  "uptime",
  "user",
  "version",
  "vlan",
  "vrf",
]);
