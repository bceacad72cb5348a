import type { Value } from "../../../record/index.ts";
import type { Datagram } from "./decoder.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";

/** What the header of a datagram gives to each of its records. */
export interface HeaderFields {
  readonly type: "netflow" | "ipfix" | "sflow";
  readonly version: number;
  /** RFC 3339; undefined when the header's time cannot be written so. */
  readonly timestamp: string | undefined;
  /** Where the protocol has it. */
  readonly sequence: number | undefined;
  /** Source ID, observation domain or sub-agent, where the protocol has it. */
  readonly domain?: number;
  /** Milliseconds, where the protocol has it. */
  readonly uptime?: number;
}

/** A field of the head. Two heads may have the same object: who finds it in both need not compare. */
export type HeadField = readonly [name: string, value: Value];

/** The first fields of every record of a datagram, in order. */
export type RecordHead = HeadField[];

/** Makes the first fields of every record of a datagram. */
export type RecordHeads = (datagram: Datagram, exporter: Exporter, header: HeaderFields) => RecordHead;

/** A field whose value is mostly that of the datagram before: its object is then the same. */
export function createHeadField(name: string): (value: Value) => HeadField {
  let last: HeadField = [name, ""];
  return (value) => (last[1] === value ? last : (last = [name, value]));
}

export function createRecordHeads(times: TimeFormat): RecordHeads {
  const received = createHeadField("@timestamp");
  const address = createHeadField("flow.export.ip.addr");
  const protocol = createHeadField("flow.export.type");
  const version = createHeadField("flow.export.version.ver");
  const versionName = createHeadField("flow.export.version.name");
  const timestamp = createHeadField("flow.export.timestamp");
  const domain = createHeadField("flow.export.domain.id");
  const uptime = createHeadField("flow.export.uptime");
  return (datagram, exporter, header) => {
    const head: RecordHead = [
      received(times.milliseconds(Math.trunc(datagram.receivedAt)) ?? ""),
      address(exporter.address),
      protocol(header.type),
      version(header.version),
      versionName(versionNames[header.type][header.version] ?? ""),
    ];
    if (header.timestamp !== undefined) head.push(timestamp(header.timestamp));
    if (header.sequence !== undefined) head.push(["flow.export.sequence", header.sequence]);
    if (header.domain !== undefined) head.push(domain(header.domain));
    if (header.uptime !== undefined) head.push(uptime(header.uptime));
    return head;
  };
}

/** As people write them: IPFIX has no version but one. The same texts each time, so that those of two datagrams are compared at once. */
const versionNames: Readonly<Record<HeaderFields["type"], Readonly<Record<number, string>>>> = {
  netflow: { 1: "NetFlow v1", 5: "NetFlow v5", 7: "NetFlow v7", 9: "NetFlow v9" },
  ipfix: { 10: "IPFIX" },
  sflow: { 5: "sFlow v5" },
};
