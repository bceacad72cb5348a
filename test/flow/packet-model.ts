/** What a packet says, by name; the fields that are not there are absent. */
export type ModelPacket = Readonly<Record<string, number | string>>;

const at = (bytes: Buffer, from: number, length: number): Buffer | undefined =>
  from + length <= bytes.length ? bytes.subarray(from, from + length) : undefined;
const number = (bytes: Buffer | undefined): number | undefined =>
  bytes === undefined ? undefined : Number(`0x${bytes.toString("hex")}`);

/**
 * The outer headers of a packet, slow and after the letter of the standards: each layer takes its part and hands over the
 * rest. No tunnels.
 */
export function modelPacket(frame: Buffer): ModelPacket {
  const found: Record<string, number | string> = {};
  const set = (name: string, value: number | string | undefined): void => {
    if (value !== undefined) found[name] = value;
  };
  set("destinationMac", at(frame, 0, 12) && frame.toString("hex", 0, 6));
  set("sourceMac", at(frame, 6, 6)?.toString("hex"));
  const type = number(at(frame, 12, 2));
  if (type !== undefined) modelType(frame.subarray(14), type, set, 0);
  return found;
}

type Put = (name: string, value: number | string | undefined) => void;

function modelType(rest: Buffer, type: number, set: Put, depth: number): void {
  if (type === 0x8100 || type === 0x88a8 || type === 0x9100) {
    const tag = number(at(rest, 0, 2));
    const next = number(at(rest, 2, 2));
    if (tag === undefined || next === undefined) {
      set("etherType", type);
      return;
    }
    if (depth < 2) set(depth === 0 ? "outerTag" : "innerTag", tag);
    modelType(rest.subarray(4), next, set, depth + 1);
    return;
  }
  if (type <= 1500) {
    const snap = at(rest, 0, 8);
    if (snap !== undefined && snap.toString("hex", 0, 6) === "aaaa03000000") {
      modelPayload(rest.subarray(8), snap.readUInt16BE(6), set);
    }
    return;
  }
  modelPayload(rest, type, set);
}

function modelPayload(rest: Buffer, type: number, set: Put): void {
  set("etherType", type);
  if (type === 0x0800) modelIpv4(rest, set);
  else if (type === 0x86dd) modelIpv6(rest, set);
}

function modelIpv4(packet: Buffer, set: Put): void {
  const header = at(packet, 0, 20);
  if (header === undefined || header.readUInt8(0) >> 4 !== 4) return;
  const headerLength = (header.readUInt8(0) & 15) * 4;
  if (headerLength < 20) return;
  const length = header.readUInt16BE(2);
  const fragment = header.readUInt16BE(6);
  set("ipVersion", 4);
  set("trafficClass", header.readUInt8(1));
  set("ipLength", length);
  set("ttl", header.readUInt8(8));
  set("protocol", header.readUInt8(9));
  set("source", header.toString("hex", 12, 16));
  set("destination", header.toString("hex", 16, 20));
  const isFragment = (fragment & 0x2000) !== 0 || (fragment & 0x1fff) !== 0;
  if (isFragment) {
    set("fragmentId", header.readUInt16BE(4));
    set("fragmentOffset", fragment & 0x1fff);
    set("fragmentFlags", (fragment >> 8) & 0xe0);
  }
  if ((fragment & 0x1fff) !== 0) return;
  const end = length < headerLength ? packet.length : Math.min(packet.length, length);
  modelTransport(packet.subarray(headerLength, end), header.readUInt8(9), set);
}

const extensions = new Set([0, 43, 44, 51, 60, 135]);

function modelIpv6(packet: Buffer, set: Put): void {
  const header = at(packet, 0, 40);
  if (header === undefined || header.readUInt8(0) >> 4 !== 6) return;
  const payload = header.readUInt16BE(4);
  set("ipVersion", 6);
  set("trafficClass", (header.readUInt32BE(0) >>> 20) & 0xff);
  set("flowLabel", header.readUInt32BE(0) & 0xfffff);
  set("ipLength", 40 + payload);
  set("ttl", header.readUInt8(7));
  set("source", header.toString("hex", 8, 24));
  set("destination", header.toString("hex", 24, 40));
  let rest = payload === 0 ? packet.subarray(40) : packet.subarray(40, 40 + payload);
  let next = header.readUInt8(6);
  set("protocol", next);
  while (extensions.has(next)) {
    if (rest.length < 8) return;
    const kind = next;
    next = rest.readUInt8(0);
    set("protocol", next);
    if (kind === 44) {
      set("fragmentOffset", rest.readUInt16BE(2) >> 3);
      set("fragmentFlags", (rest.readUInt16BE(2) & 1) * 32);
      set("fragmentId", rest.readUInt32BE(4));
      if (rest.readUInt16BE(2) >> 3 !== 0) return;
      rest = rest.subarray(8);
    } else {
      const length = kind === 51 ? (rest.readUInt8(1) + 2) * 4 : (rest.readUInt8(1) + 1) * 8;
      if (length > rest.length) return;
      rest = rest.subarray(length);
    }
  }
  modelTransport(rest, next, set);
}

function modelTransport(rest: Buffer, protocol: number, set: Put): void {
  if ([6, 17, 33, 132, 136].includes(protocol) && rest.length >= 4) {
    set("sourcePort", rest.readUInt16BE(0));
    set("destinationPort", rest.readUInt16BE(2));
  }
  if (protocol === 6 && rest.length >= 14) set("tcpFlags", rest.readUInt16BE(12) & 0x1ff);
  if ((protocol === 1 || protocol === 58) && rest.length >= 2) {
    set("icmpType", rest.readUInt8(0));
    set("icmpCode", rest.readUInt8(1));
  }
  if (protocol === 2 && rest.length > 0) set("igmpType", rest.readUInt8(0));
}
