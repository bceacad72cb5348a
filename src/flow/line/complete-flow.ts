import type { RecordFields, Value } from "../../record/index.ts";
import { icmpName } from "../kernel/icmp-names.ts";
import type { CounterNames } from "../elements/mapping/counter-names.ts";
import { isSwappedIcmpV6 } from "../kernel/icmp-types.ts";
import type { IcmpOrder } from "../exporters/exporter.ts";
import { scaleCounters } from "../exporters/scale-counters.ts";

/**
 * Adds what follows from the fields of a flow: the IP version by its addresses where the exporter does not give it, its name, the
 * VLANs of both ways, whether a session of TCP was established, and estimates of the counters.
 *
 * @param rate one of how many packets was looked at; undefined when that is not known: then it counts as 1.
 * @param counters what the counters are called.
 */
export function completeFlow(record: RecordFields, rate: number | undefined, counters: CounterNames): void {
  if (!record.has("ip.version.ver")) {
    const address = record.get("flow.src.ip.addr") ?? record.get("flow.dst.ip.addr");
    if (typeof address === "string") record.set("ip.version.ver", address.includes(":") ? 6 : 4);
  }
  const version = record.get("ip.version.ver");
  if (version === 4 || version === 6) record.set("ip.version.name", `IPv${version}`);
  addVlans(record);
  const established = isEstablished(record.get("l4.proto.id"), record.get("tcp.flags.bits"));
  if (established !== undefined) record.set("l4.session.established", established);
  scaleCounters(record, rate, counters);
}

/** A VLAN of 0 is none: it is not among those of the flow. */
function addVlans(record: RecordFields): void {
  const source = record.get("flow.src.vlan.tag.id");
  const destination = record.get("flow.dst.vlan.tag.id");
  if (typeof source === "number") record.set("flow.in.vlan.tag.id", source);
  if (typeof destination === "number") record.set("flow.out.vlan.tag.id", destination);
  const tags = [source, destination].filter((tag) => typeof tag === "number" && tag !== 0) as number[];
  if (tags.length > 0) record.set("vlan.tag.id", [...new Set(tags)]);
}

const tcp = 6;
const [fin, syn, rst, psh, ack] = [1, 2, 4, 8, 16];

/**
 * Whether a session of TCP was established, by the flags of all its packets: without ACK it was not. With ACK it was when there is
 * PSH or FIN, or neither SYN nor RST; else the flags do not say it.
 */
function isEstablished(protocol: Value | undefined, bits: Value | undefined): boolean | undefined {
  if (protocol !== tcp || typeof bits !== "number" || (bits & (fin | syn | rst | psh | ack)) === 0) return undefined;
  if ((bits & ack) === 0) return false;
  return (bits & (fin | psh)) !== 0 || (bits & (syn | rst)) === 0 ? true : undefined;
}

const icmpV6 = 58;
const icmpProtocols: ReadonlySet<unknown> = new Set([1, icmpV6]);

/** Adds type and code of ICMP where the exporter gives them as a port, and their names. @param order of the exporter, where it is learned. */
export function addIcmp(record: RecordFields, order?: IcmpOrder): void {
  addIcmpNumbers(record, order);
  const [protocol, type, code] = [record.get("l4.proto.id"), record.get("icmp.type.id"), record.get("icmp.code.id")];
  if (typeof protocol !== "number" || typeof type !== "number") return;
  const known = icmpName(protocol, type);
  if (known === undefined) return;
  record.set("icmp.type.name", known.name);
  const codeName = typeof code === "number" ? known.codes.get(code) : undefined;
  if (codeName !== undefined) record.set("icmp.code.name", codeName);
}

/**
 * Adds type and code of ICMP where the exporter gives them as destination port, type * 256 + code, and no source port. So
 * it is in NetFlow v5, which has no fields for them, and with many exporters of the later versions. Port 0 is an echo reply; of
 * ICMPv6, where type 0 is reserved, it says nothing.
 */
function addIcmpNumbers(record: RecordFields, order: IcmpOrder | undefined): void {
  const protocol = record.get("l4.proto.id");
  if (!icmpProtocols.has(protocol)) return;
  if (record.has("icmp.type.id") || record.has("icmp.code.id")) return;
  const port = record.get("flow.dst.l4.port.id");
  if (typeof port !== "number" || port > 0xffff || (port === 0 && protocol === icmpV6)) return;
  if ((record.get("flow.src.l4.port.id") ?? 0) !== 0) return;
  const [first, second] = [port >>> 8, port & 0xff];
  const isSwapped = protocol === icmpV6 && isSwappedIcmpV6(first, second, order);
  record.set("icmp.type.id", isSwapped ? second : first);
  record.set("icmp.code.id", isSwapped ? first : second);
}
