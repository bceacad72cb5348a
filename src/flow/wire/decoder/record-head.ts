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

/** The first fields of every record of a datagram, in order. */
export type RecordHead = [name: string, value: Value][];

/** The first fields of every record of a datagram. */
export function recordHead(
  times: TimeFormat,
  datagram: Datagram,
  exporter: Exporter,
  header: HeaderFields,
): RecordHead {
  const head: RecordHead = [
    ["@timestamp", times.milliseconds(Math.trunc(datagram.receivedAt)) ?? ""],
    ["flow.export.ip.addr", exporter.address],
    ["flow.export.type", header.type],
    ["flow.export.version.ver", header.version],
    ["flow.export.version.name", versionNames[header.type][header.version] ?? ""],
  ];
  if (header.timestamp !== undefined) head.push(["flow.export.timestamp", header.timestamp]);
  if (header.sequence !== undefined) head.push(["flow.export.sequence", header.sequence]);
  if (header.domain !== undefined) head.push(["flow.export.domain.id", header.domain]);
  if (header.uptime !== undefined) head.push(["flow.export.uptime", header.uptime]);
  return head;
}

/** As people write them: IPFIX has no version but one. The same texts each time, so that those of two datagrams are compared at once. */
const versionNames: Readonly<Record<HeaderFields["type"], Readonly<Record<number, string>>>> = {
  netflow: { 1: "NetFlow v1", 5: "NetFlow v5", 7: "NetFlow v7", 9: "NetFlow v9" },
  ipfix: { 10: "IPFIX" },
  sflow: { 5: "sFlow v5" },
};
