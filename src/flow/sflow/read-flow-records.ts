import type { RecordFields, Value } from "../../record/index.ts";
import { tcpFlagNames } from "../mapping/convert-field.ts";
import { createParsedPacket, parsePacket } from "../packet/parse-packet.ts";
import type { PacketStart } from "../packet/parse-headers.ts";
import { putInnerPacket, putPacket } from "../packet/put-packet.ts";
import { protocolNames } from "../registry/protocol-names.gen.ts";
import { flowFormats, flowRecordLayouts } from "./flow-record-layouts.ts";
import { putHex } from "./put-hex.ts";
import { readGateway } from "./read-gateway.ts";
import { readLayout, type XdrLayout, type XdrReader, type XdrSource } from "./xdr-layout.ts";

/** Header protocols whose packets are parsed; of others the bytes are given. */
export const packetStarts: Readonly<Record<number, PacketStart>> = {
  1: "ethernet",
  7: "ppp",
  11: "ipv4",
  12: "ipv6",
  13: "mpls",
  14: "ppp",
};

const ethernetLayout: XdrLayout = [
  ["flow.bytes", "uint32"],
  ["flow.src.mac.addr", "mac"],
  ["flow.dst.mac.addr", "mac"],
  ["flow.ie.ethernetType", "uint32"],
];

function ipLayout(family: "ipv4" | "ipv6"): XdrLayout {
  return [
    ["flow.ie.ipTotalLength", "uint32"],
    ["l4.proto.id", "uint32"],
    ["flow.src.ip.addr", family],
    ["flow.dst.ip.addr", family],
    ["flow.src.l4.port.id", "uint32"],
    ["flow.dst.l4.port.id", "uint32"],
    ["tcp.flags.bits", "uint32"],
    // Type of service, the priority of IPv6: both are the byte of DSCP and ECN.
    ["", "uint32"],
  ];
}

const sampledLayouts: ReadonlyMap<number, XdrLayout> = new Map([
  [flowFormats.ethernet, ethernetLayout],
  [flowFormats.ipv4, ipLayout("ipv4")],
  [flowFormats.ipv6, ipLayout("ipv6")],
]);

/** Reads the records of a flow sample into one record. */
export interface FlowRecordReader {
  /** Begins a sample. */
  begin(source: XdrSource): void;
  /**
   * Takes one flow record: its content from `at` to `end`.
   *
   * @param key enterprise in the upper twenty bits, format in the lower twelve.
   * @returns whether it is cut; what was before the cut is in the record, and all of it in hex.
   */
  read(record: RecordFields, key: number, at: number, end: number): boolean;
  /** Puts what the sampled packet itself says. It stands before what the agent says of it, the VLAN aside. */
  finish(record: RecordFields): void;
}

export function createFlowRecordReader(reader: XdrReader): FlowRecordReader {
  const packet = createParsedPacket();
  let source: XdrSource = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)) };
  let headerAt = -1;
  let headerEnd = -1;
  let headerStart: PacketStart = "ethernet";
  let frameLength = 0;

  const readHeader = (record: RecordFields, key: number, at: number, end: number): boolean => {
    if (headerAt >= 0 || end - at < 16) {
      putHex(record, "flow", key, source.bytes, at, end);
      return end - at < 16;
    }
    const { view } = source;
    const protocol = view.getUint32(at);
    const length = view.getUint32(at + 12);
    const isCut = length > end - at - 16;
    const start = packetStarts[protocol];
    frameLength = view.getUint32(at + 4);
    headerAt = at + 16;
    headerEnd = isCut ? end : headerAt + length;
    if (start === undefined) {
      record.set("flow.sample.header.protocol.id", protocol);
      record.set("flow.ie.dataLinkFrameSection", `0x${source.bytes.toString("hex", headerAt, headerEnd)}`);
      headerEnd = headerAt;
    } else headerStart = start;
    return isCut;
  };

  /** A structure of fields; where not all of it comes out in fields, its bytes come out, too. */
  const readFields = (record: RecordFields, layout: XdrLayout, kindKey: number, at: number, end: number): boolean => {
    reader.reset(source, at, end);
    const { isCut, isWhole } = readLayout(reader, layout, record);
    if (!isWhole) putHex(record, "flow", kindKey, source.bytes, at, end);
    return isCut;
  };

  /** What follows from the type of service, which lies at the end of the sampled IP records. */
  const finishIp = (record: RecordFields, at: number, end: number, length: number): void => {
    if (end - at < length) return;
    const trafficClass = source.view.getUint32(at + length - 4) & 0xff;
    putMissing(record, "ip.dscp.id", trafficClass >> 2);
    putMissing(record, "ip.ecn.id", trafficClass & 3);
    const protocol = record.get("l4.proto.id");
    putMissing(record, "l4.proto.name", typeof protocol === "number" ? protocolNames[protocol] : undefined);
    const bits = record.get("tcp.flags.bits");
    putMissing(record, "tcp.flags.tags", typeof bits === "number" ? tcpFlagNames(bits) : undefined);
  };

  return {
    begin(of) {
      source = of;
      headerAt = -1;
    },
    read(record, key, at, end) {
      if (key === flowFormats.header) return readHeader(record, key, at, end);
      if (key === flowFormats.gateway) {
        reader.reset(source, at, end);
        const isWhole = readGateway(reader, record);
        if (!isWhole) putHex(record, "flow", key, source.bytes, at, end);
        return reader.isCut;
      }
      const sampled = sampledLayouts.get(key);
      if (sampled !== undefined) {
        const isCut = readFields(record, sampled, key, at, end);
        if (key === flowFormats.ipv4) finishIp(record, at, end, 32);
        else if (key === flowFormats.ipv6) finishIp(record, at, end, 56);
        return isCut;
      }
      const layout = flowRecordLayouts.get(key);
      if (layout !== undefined) return readFields(record, layout, key, at, end);
      putHex(record, "flow", key, source.bytes, at, end);
      return false;
    },
    finish(record) {
      if (headerAt < 0) {
        putMissing(record, "flow.bytes", record.get("flow.ie.ipTotalLength"));
        return;
      }
      record.set("flow.bytes", frameLength);
      if (headerEnd <= headerAt) return;
      const hasInner = parsePacket(source.bytes, headerAt, headerEnd, headerStart, packet);
      putPacket(record, source.bytes, packet.outer);
      if (hasInner) putInnerPacket(record, source.bytes, packet.inner);
    },
  };
}

function putMissing(record: RecordFields, name: string, value: Value | undefined): void {
  if (value !== undefined && !record.has(name)) record.set(name, value);
}
