import { findField, recordFields } from "../../fields/field-table.ts";
import type { FieldType } from "../../fields/record-field.ts";
import { nearName } from "../../../base/text/index.ts";
import type { KnownField, ValueType, Vocabulary } from "./vocabulary.ts";

/** A short name of fields of records. */
interface ShortName {
  readonly name: string;
  readonly fields: readonly string[];
  readonly description: string;
}

const ofEnds = (name: string, rest: string, description: string): readonly ShortName[] => [
  { name: `src.${name}`, fields: [`flow.src.${rest}`], description: `${description} of the source` },
  { name: `dst.${name}`, fields: [`flow.dst.${rest}`], description: `${description} of the destination` },
  { name, fields: [`flow.src.${rest}`, `flow.dst.${rest}`], description: `${description} of either end` },
];

const one = (name: string, field: string, description: string): ShortName => ({ name, fields: [field], description });

/** In the order of the docs. Every field is one of the table of record fields. */
export const shortNames: readonly ShortName[] = [
  one("src", "flow.src.ip.addr", "source address"),
  one("dst", "flow.dst.ip.addr", "destination address"),
  { name: "addr", fields: ["flow.src.ip.addr", "flow.dst.ip.addr"], description: "address of either end" },
  // What most people type first.
  ...ofEnds("ip", "ip.addr", "address"),
  ...ofEnds("port", "l4.port.id", "port"),
  one("proto", "l4.proto.id", "IP protocol: a number, or a name such as tcp"),
  one("bytes", "flow.bytes", "bytes"),
  one("packets", "flow.packets", "packets"),
  ...ofEnds("name", "ip.subnet.name", "name by metadata"),
  ...ofEnds("tag", "ip.subnet.tags", "tag by metadata"),
  ...ofEnds("internal", "isInternal", "whether metadata calls an address internal,"),
  ...ofEnds("locality", "locality", "locality"),
  ...ofEnds("host", "host.name", "host name by DNS"),
  ...ofEnds("service", "l4.port.name", "service by the port"),
  ...ofEnds("as", "as.asn", "autonomous system"),
  ...ofEnds("as.org", "as.org", "organisation of the autonomous system"),
  ...ofEnds("country", "geo.country.code", "country code"),
  ...ofEnds("city", "geo.city.name", "city"),
  ...ofEnds("mac", "mac.addr", "MAC address"),
  ...ofEnds("vlan", "vlan.tag.id", "VLAN"),
  one("next_hop", "flow.next_hop.ip.addr", "next hop"),
  one("in.if", "flow.in.netif.index", "ifIndex of the way in"),
  one("out.if", "flow.out.netif.index", "ifIndex of the way out"),
  one("in.if.name", "flow.in.netif.name", "name of the interface of the way in"),
  one("out.if.name", "flow.out.netif.name", "name of the interface of the way out"),
  one("in.if.tag", "flow.in.netif.tags", "tag of the interface of the way in"),
  one("out.if.tag", "flow.out.netif.tags", "tag of the interface of the way out"),
  one("direction", "flow.direction.name", "ingress or egress"),
  one("dscp", "ip.dscp.id", "code point of DiffServ"),
  one("tcp.flag", "tcp.flags.tags", "flag of TCP that is set, such as SYN"),
  one("icmp.type", "icmp.type.id", "type of ICMP"),
  one("icmp.code", "icmp.code.id", "code of ICMP"),
  one("ip.version", "ip.version.ver", "IP version"),
  one("start", "flow.start.timestamp", "when the first packet was seen"),
  one("end", "flow.end.timestamp", "when the last packet was seen"),
  one("time", "@timestamp", "when the record was received"),
  one("exporter", "flow.export.ip.addr", "address of the exporter"),
  one("exporter.name", "flow.export.ip.subnet.name", "name of the exporter by metadata"),
  one("exporter.tag", "flow.export.ip.subnet.tags", "tag of the exporter by metadata"),
  one("protocol", "flow.export.type", "netflow, ipfix or sflow"),
  one("type", "flow.record.type", "what is no flow: options, counters, …"),
  one("system", "system.ip.addr", "address of an SNMP device"),
  one("system.name", "system.ip.subnet.name", "name of an SNMP device by metadata"),
  one("system.tag", "system.ip.subnet.tags", "tag of an SNMP device by metadata"),
  one("object", "snmp.object.name", "SNMP object that was polled"),
];

/** What a name may begin with in place of the beginning of a field's name. */
const shortBeginnings: readonly (readonly [short: string, full: string])[] = [
  ["src.", "flow.src."],
  ["dst.", "flow.dst."],
  ["exporter.", "flow.export."],
  ["in.if.", "flow.in.netif."],
  ["out.if.", "flow.out.netif."],
];

const localities = ["internal", "private", "public", "multicast"];
const tcpFlags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];

const wordsOfNames: ReadonlyMap<string, readonly string[]> = new Map([
  ["flow.export.type", ["netflow", "ipfix", "sflow"]],
  ["flow.direction.name", ["ingress", "egress"]],
  ["tcp.flags.tags", tcpFlags],
  ["flow.reverse.tcp.flags.tags", tcpFlags],
  ["flow.locality", localities],
  ...["src", "dst", "client", "server"].map((end): [string, string[]] => [`flow.${end}.locality`, localities]),
]);

/** All texts that a field can have, where they are words of the collector itself; undefined for other fields. */
function collectorWords(field: string): readonly string[] | undefined {
  return wordsOfNames.get(field);
}

const valueTypes: Readonly<Record<FieldType, ValueType>> = {
  keyword: "text",
  ip: "address",
  long: "number",
  unsigned_long: "number",
  double: "number",
  boolean: "boolean",
  date: "time",
  date_nanos: "time",
  geo_point: "text",
};

const protocolField = "l4.proto.id";
const shortByName = new Map(shortNames.map(({ name, fields }) => [name, fields]));

function knownField(name: string): KnownField | undefined {
  const field = findField(name);
  if (field === undefined) return undefined;
  if (name === protocolField) return { fields: [name], type: "protocol", unit: "" };
  if (field.type === "any" || field.type === "inner") return { fields: [name], type: "any", unit: "" };
  const words = collectorWords(name);
  const unit = "unit" in field ? field.unit : "";
  return { fields: [name], type: valueTypes[field.type], unit, ...(words !== undefined && { words }) };
}

const isInTable = (name: string): boolean => {
  const field = findField(name);
  return field !== undefined && !("pattern" in field);
};

const namesInTable = recordFields.map(({ name }) => name);

/** The name of a field for one that begins with a short beginning, such as `src.site.name`. */
function inFull(name: string): string | undefined {
  for (const [short, full] of shortBeginnings) if (name.startsWith(short)) return full + name.slice(short.length);
  return undefined;
}

/**
 * Names of fields of records: those of the table, those that its patterns cover, and short names. Behind `src.`, `dst.` and `exporter.` any name of
 * metadata may stand.
 */
export const recordVocabulary: Vocabulary = {
  find(name) {
    const short = shortByName.get(name);
    if (short !== undefined) {
      const known = knownField(short[0] as string);
      return known && { ...known, fields: short };
    }
    return knownField(inFull(name) ?? name);
  },
  slip(name) {
    const full = inFull(name);
    if (shortByName.has(name) || isInTable(full ?? name)) return undefined;
    return nearName(name, full === undefined ? namesInTable : namesOf(name.slice(0, name.indexOf(".") + 1)));
  },
  *names() {
    for (const { name } of shortNames) yield name;
    yield* namesInTable;
  },
};

/** Names that start with this text: short ones, and fields of the table. */
function* namesOf(beginning: string): Iterable<string> {
  for (const { name } of shortNames) if (name.startsWith(beginning)) yield name;
  for (const [short, full] of shortBeginnings) {
    if (!short.startsWith(beginning)) continue;
    for (const name of namesInTable) if (name.startsWith(full)) yield short + name.slice(full.length);
  }
}
