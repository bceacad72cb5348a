import { renderFields, type Value } from "../../record/index.ts";
import { lineText, nameText, putEntry, putText, textTable, type TextTable } from "../compiled/line-text.ts";
import { writeIpv4, writeIpv6, writeMac, writeUint32 } from "../compiled/write-values.ts";
import { tcpFlagNames } from "../mapping/convert-field.ts";
import { protocolNames } from "../registry/protocol-names.gen.ts";
import { tunnels, type PacketHeader } from "./packet-header.ts";
import { innerNames, outerNames, type PacketNames } from "./put-packet.ts";

/** More bytes than are written for any header. */
export const maxPacketLength = 2560;

/** What the fields of a packet are written with. */
export type PacketTexts = ReturnType<typeof createPacketTexts>;

export const outerTexts = createPacketTexts(outerNames);
export const innerTexts = createPacketTexts(innerNames);

function createPacketTexts(names: PacketNames) {
  const quoted = (name: string): string => `,${JSON.stringify(name)}:"`;
  return {
    sourceMac: lineText(quoted(names.sourceMac)),
    destinationMac: lineText(`"${quoted(names.destinationMac)}`),
    endQuote: lineText(`"`),
    etherType: nameText(names.etherType),
    vlan: nameText(names.vlan),
    otherVlan: nameText(names.otherVlan),
    priority: nameText(names.priority),
    innerVlan: nameText(names.innerVlan),
    innerPriority: nameText(names.innerPriority),
    topLabel: nameText(names.topLabel),
    labels: nameText(names.labels, "["),
    labelExperimental: lineText(`],${JSON.stringify(names.labelExperimental)}:[`),
    endList: lineText("]"),
    source4: nameText(names.version, `4${quoted(names.source)}`),
    source6: nameText(names.version, `6${quoted(names.source)}`),
    destination: lineText(`"${quoted(names.destination)}`),
    length: nameText(names.length),
    flowLabel: nameText(names.flowLabel),
    fragmentId: nameText(names.fragmentId),
    fragmentOffset: nameText(names.fragmentOffset),
    fragmentFlags: nameText(names.fragmentFlags),
    sourcePort: nameText(names.sourcePort),
    destinationPort: nameText(names.destinationPort),
    icmpType: nameText(names.icmpType),
    icmpCode: nameText(names.icmpCode),
    igmpType: nameText(names.igmpType),
    tunnelId: nameText(names.tunnelId),
    trafficClasses: table(256, (value) => [
      [names.dscp, value >> 2],
      [names.ecn, value & 3],
    ]),
    timesToLive: table(256, (value) => [[names.ttl, value]]),
    protocols: table(256, (value) => [
      [names.protocol, value],
      [names.protocolName, protocolNames[value]],
    ]),
    tcpFlags: table(512, (value) => [
      [names.tcpFlags, value],
      [names.tcpTags, tcpFlagNames(value)],
    ]),
    tunnels: table(tunnels.length, (value) => [[names.tunnel, tunnels[value]]]),
  };
}

function table(size: number, fields: (value: number) => [string, Value | undefined][]): TextTable {
  return textTable(
    Array.from({ length: size }, (_, value) =>
      renderFields(fields(value).filter((field): field is [string, Value] => field[1] !== undefined)),
    ),
  );
}

/**
 * Writes the fields of a packet as {@link putPacket} puts them, or with other texts {@link putInnerPacket}. There is room
 * for {@link maxPacketLength} and some bytes more.
 *
 * @param toldVlan the VLAN of the source that the line has already, -1 when it has none. Where that is 0 and the packet
 *   has a tag, the caller has written the tag's in its place.
 * @returns where they end.
 */
export function writePacket(
  out: DataView,
  at: number,
  input: DataView,
  header: PacketHeader,
  toldVlan: number,
  texts: PacketTexts,
): number {
  let p = at;
  const { macs, etherType } = header;
  if (macs >= 0) {
    p = putText(out, p, texts.sourceMac);
    p = writeMac(out, p, input, macs + 6);
    p = putText(out, p, texts.destinationMac);
    p = writeMac(out, p, input, macs);
    p = putText(out, p, texts.endQuote);
  }
  if (etherType >= 0) p = writeUint32(out, putText(out, p, texts.etherType), etherType);
  if (header.outerTag >= 0) p = writeTags(out, p, header, toldVlan, texts);
  if (header.labelCount > 0) p = writeLabels(out, p, input, header, texts);
  if (header.ipVersion >= 0) p = writeIp(out, p, input, header, texts);
  if (header.tunnel < 0) return p;
  p = putEntry(out, p, texts.tunnels, header.tunnel);
  return header.tunnelId < 0 ? p : writeUint32(out, putText(out, p, texts.tunnelId), header.tunnelId);
}

const comma = 0x2c;

function writeLabels(out: DataView, at: number, input: DataView, header: PacketHeader, texts: PacketTexts): number {
  const { labels, labelCount } = header;
  let p = writeUint32(out, putText(out, at, texts.topLabel), input.getUint32(labels) >>> 12);
  p = putText(out, p, texts.labels);
  for (let i = 0; i < labelCount; i++) {
    if (i > 0) out.setUint8(p++, comma);
    p = writeUint32(out, p, input.getUint32(labels + 4 * i) >>> 12);
  }
  p = putText(out, p, texts.labelExperimental);
  for (let i = 0; i < labelCount; i++) {
    if (i > 0) out.setUint8(p++, comma);
    p = writeUint32(out, p, (input.getUint8(labels + 4 * i + 2) >> 1) & 7);
  }
  return putText(out, p, texts.endList);
}

function writeTags(
  out: DataView,
  at: number,
  { outerTag, innerTag }: PacketHeader,
  toldVlan: number,
  texts: PacketTexts,
): number {
  let p = at;
  const vlan = outerTag & 0xfff;
  if (toldVlan < 0) p = writeUint32(out, putText(out, p, texts.vlan), vlan);
  else if (toldVlan !== 0 && toldVlan !== vlan) p = writeUint32(out, putText(out, p, texts.otherVlan), vlan);
  p = writeUint32(out, putText(out, p, texts.priority), outerTag >> 13);
  if (innerTag < 0) return p;
  p = writeUint32(out, putText(out, p, texts.innerVlan), innerTag & 0xfff);
  return writeUint32(out, putText(out, p, texts.innerPriority), innerTag >> 13);
}

function writeIp(out: DataView, at: number, input: DataView, header: PacketHeader, texts: PacketTexts): number {
  let p = at;
  const { source, destination, flowLabel, fragmentId } = header;
  if (header.ipVersion === 4) {
    p = writeIpv4(out, putText(out, p, texts.source4), input.getUint32(source));
    p = writeIpv4(out, putText(out, p, texts.destination), input.getUint32(destination));
  } else {
    p = writeIpv6(out, putText(out, p, texts.source6), input, source);
    p = writeIpv6(out, putText(out, p, texts.destination), input, destination);
  }
  p = putText(out, p, texts.endQuote);
  p = putEntry(out, p, texts.trafficClasses, header.trafficClass);
  p = putEntry(out, p, texts.timesToLive, header.ttl);
  p = writeUint32(out, putText(out, p, texts.length), header.ipLength);
  if (flowLabel >= 0) p = writeUint32(out, putText(out, p, texts.flowLabel), flowLabel);
  if (fragmentId >= 0) {
    p = writeUint32(out, putText(out, p, texts.fragmentId), fragmentId);
    p = writeUint32(out, putText(out, p, texts.fragmentOffset), header.fragmentOffset);
    p = writeUint32(out, putText(out, p, texts.fragmentFlags), header.fragmentFlags);
  }
  p = putEntry(out, p, texts.protocols, header.protocol);
  return writeTransport(out, p, header, texts);
}

function writeTransport(out: DataView, at: number, header: PacketHeader, texts: PacketTexts): number {
  let p = at;
  if (header.sourcePort >= 0) {
    p = writeUint32(out, putText(out, p, texts.sourcePort), header.sourcePort);
    p = writeUint32(out, putText(out, p, texts.destinationPort), header.destinationPort);
  }
  if (header.tcpFlags >= 0) p = putEntry(out, p, texts.tcpFlags, header.tcpFlags);
  if (header.icmpType >= 0) {
    p = writeUint32(out, putText(out, p, texts.icmpType), header.icmpType);
    p = writeUint32(out, putText(out, p, texts.icmpCode), header.icmpCode);
  }
  if (header.igmpType >= 0) p = writeUint32(out, putText(out, p, texts.igmpType), header.igmpType);
  return p;
}
