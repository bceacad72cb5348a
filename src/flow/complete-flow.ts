import type { RecordFields } from "../record/index.ts";
import { scaleCounters } from "./sampling/scale-counters.ts";

/**
 * Adds what follows from the fields of a flow: the IP version by its addresses where the exporter does not give it, and
 * estimates of the counters.
 *
 * @param rate one of how many packets was looked at; undefined when that is not known, then there are no estimates.
 */
export function completeFlow(record: RecordFields, rate: number | undefined): void {
  if (!record.has("ip.version.ver")) {
    const address = record.get("flow.src.ip.addr") ?? record.get("flow.dst.ip.addr");
    if (typeof address === "string") record.set("ip.version.ver", address.includes(":") ? 6 : 4);
  }
  if (rate !== undefined) scaleCounters(record, rate);
}

const icmpProtocols: ReadonlySet<unknown> = new Set([1, 58]);

/**
 * Adds type and code of ICMP where the exporter gives them as destination port, type * 256 + code, and no source port. So
 * it is in NetFlow v5, which has no fields for them, and with many exporters of the later versions. Port 0 says nothing: it
 * may be an echo reply, or an exporter that leaves ports empty.
 */
export function addIcmp(record: RecordFields): void {
  if (!icmpProtocols.has(record.get("l4.proto.id"))) return;
  if (record.has("icmp.type.id") || record.has("icmp.code.id")) return;
  const port = record.get("flow.dst.l4.port.id");
  if (typeof port !== "number" || port === 0 || port > 0xffff) return;
  if ((record.get("flow.src.l4.port.id") ?? 0) !== 0) return;
  record.set("icmp.type.id", port >>> 8);
  record.set("icmp.code.id", port & 0xff);
}
