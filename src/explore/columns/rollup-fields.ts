import { isMetadataName, ofEnds, ofWays } from "./column.ts";

/**
 * What rollups keep: fields that have few values. No address of an end of a flow and no port of a client is among them, for then a minute
 * would have nearly as many rows as records.
 */
const usual: ReadonlySet<string> = new Set([
  ...ofEnds("ip.subnet.name"),
  ...ofEnds("ip.subnet.tags"),
  "l4.proto.name",
  "l4.proto.id",
  "app.name",
  "flow.client.ip.subnet.name",
  "flow.server.ip.subnet.name",
  "flow.server.l4.port.id",
  "flow.server.l4.port.name",
  ...ofEnds("isInternal"),
  ...ofEnds("locality"),
  "flow.locality",
  ...ofEnds("as.asn"),
  ...ofEnds("as.label"),
  ...ofEnds("geo.country.code"),
  ...ofEnds("geo.country.name"),
  "flow.export.ip.addr",
  "flow.export.ip.subnet.name",
  "flow.export.ip.subnet.tags",
  "flow.export.type",
  ...ofWays("netif.index"),
  ...ofWays("netif.name"),
  ...ofWays("netif.alias"),
  "flow.direction.name",
  ...ofEnds("vlan.tag.id"),
  ...ofEnds("sec.threat.name"),
  "ip.version.ver",
  "ip.dscp.name",
]);

/** Whether rollups keep a field that records have. Keys of metadata are kept. */
export function createRollupFields(further: readonly string[]): (field: string) => boolean {
  const named = new Set(further);
  return (field) => usual.has(field) || named.has(field) || isMetadataName(field);
}
