import type { RecordFields } from "../../record/index.ts";
import { isSwappedIcmpV6 } from "./kernel/icmp-types.ts";
import { scaleCounters } from "../exporters/sampling/scale-counters.ts";

/**
 * Adds what follows from the fields of a flow: the IP version by its addresses where the exporter does not give it, and
 * estimates of the counters.
 *
 * @param rate one of how many packets was looked at; undefined when that is not known: then it counts as 1.
 */
export function completeFlow(record: RecordFields, rate: number | undefined): void {
  if (!record.has("ip.version.ver")) {
    const address = record.get("flow.src.ip.addr") ?? record.get("flow.dst.ip.addr");
    if (typeof address === "string") record.set("ip.version.ver", address.includes(":") ? 6 : 4);
  }
  scaleCounters(record, rate);
}

const icmpV6 = 58;
const icmpProtocols: ReadonlySet<unknown> = new Set([1, icmpV6]);

/**
 * Adds type and code of ICMP where the exporter gives them as destination port, type * 256 + code, and no source port. So
 * it is in NetFlow v5, which has no fields for them, and with many exporters of the later versions. Port 0 is an echo reply; of
 * ICMPv6, where type 0 is reserved, it says nothing.
 */
export function addIcmp(record: RecordFields): void {
  const protocol = record.get("l4.proto.id");
  if (!icmpProtocols.has(protocol)) return;
  if (record.has("icmp.type.id") || record.has("icmp.code.id")) return;
  const port = record.get("flow.dst.l4.port.id");
  if (typeof port !== "number" || port > 0xffff || (port === 0 && protocol === icmpV6)) return;
  if ((record.get("flow.src.l4.port.id") ?? 0) !== 0) return;
  const [first, second] = [port >>> 8, port & 0xff];
  const isSwapped = protocol === icmpV6 && isSwappedIcmpV6(first, second);
  record.set("icmp.type.id", isSwapped ? second : first);
  record.set("icmp.code.id", isSwapped ? first : second);
}
