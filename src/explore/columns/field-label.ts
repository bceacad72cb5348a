const beginnings: readonly (readonly [string, string])[] = [
  ["flow.src.", "source"],
  ["flow.dst.", "destination"],
  ["flow.client.", "client"],
  ["flow.server.", "server"],
  ["flow.export.", "exporter"],
  ["flow.in.", "input"],
  ["flow.out.", "output"],
  ["flow.", ""],
];

/** What the rest of a name is called by people. */
const rests: Readonly<Record<string, string>> = {
  "@timestamp": "time received",
  "ip.addr": "address",
  "ip.subnet.name": "name",
  "ip.subnet.tags": "tag",
  "host.name": "host name",
  "l4.port.id": "port",
  "l4.port.name": "service",
  "l4.proto.name": "protocol",
  "l4.proto.id": "protocol number",
  "app.name": "application",
  isInternal: "is internal",
  "as.asn": "AS number",
  "as.label": "AS",
  "as.org": "AS organisation",
  "geo.country.code": "country code",
  "geo.country.name": "country",
  "geo.city.name": "city",
  type: "protocol",
  "netif.index": "interface index",
  "netif.name": "interface",
  "netif.alias": "interface alias",
  "direction.name": "direction",
  "next_hop.ip.addr": "next hop",
  "vlan.tag.id": "VLAN",
  "sec.threat.name": "threat",
  "ip.version.ver": "IP version",
  "ip.dscp.name": "DSCP",
  "tcp.flags.bits": "TCP flags (bits)",
  "tcp.flags.tags": "TCP flag",
  "icmp.type.id": "ICMP type",
  sample_rate: "sampling rate",
  "start.timestamp": "time of the first packet",
  "end.timestamp": "time of the last packet",
  "scaled.bytes": "bytes (estimate)",
  "scaled.packets": "packets (estimate)",
};

/** A name of a field for people: `flow.src.ip.subnet.name` is `Source name`, `flow.src.site.name` is `Source site name`. */
export function fieldLabel(field: string): string {
  const [beginning = "", word = ""] = beginnings.find(([each]) => field.startsWith(each)) ?? [];
  const rest = field.slice(beginning.length);
  const text = `${word} ${rests[rest] ?? rest.replaceAll(/[._]/g, " ")}`.trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
