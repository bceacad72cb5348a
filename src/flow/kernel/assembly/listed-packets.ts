// Lists the steps of packets whose headers are of the common kinds: Ethernet with up to two tags, IPv4 and IPv6, TCP, UDP and ICMP, in no
// tunnel and in one piece. src/flow/wire/packet lists the same of them, and all others.
import * as L from "../layout";

/** Where the next step is listed. */
export let listEnd: usize = 0;

export function beginList(at: usize): void {
  listEnd = at;
}

/** Lists a step of a table, with a number or the place of its value. */
@inline
export function list(table: usize, step: usize, value: u32): void {
  store<u32>(listEnd, load<u32>(table + 4 * step));
  store<u32>(listEnd, value, 4);
  listEnd += 8;
}

/** The headers of the packet that was read last. Places are 0 where there is no such header. */
let frameAt: usize = 0;
let tags: i32 = 0;
let outerTag: u32 = 0;
let innerTag: u32 = 0;
let etherType: u32 = 0;
export let ipAt: usize = 0;
/** Bytes of an address. */
export let addressLength: i32 = 0;
let protocol: u32 = 0;
let transportAt: usize = 0;

@inline
export function half(at: usize): u32 {
  return <u32>bswap(load<u16>(at));
}

const ofIpv4: u32 = 0x0800;
const ofIpv6: u32 = 0x86dd;

@inline
function isTag(type: u32): bool {
  return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/** Ports at which tunnels answer: VXLAN and that of Linux, VXLAN-GPE, Geneve, GTP, Teredo, MPLS, CAPWAP, L2TP, GRE. */
@inline
function isTunnel(port: u32): bool {
  if (port < 1701 || port > 8472) return false;
  return (
    port == 4789 ||
    port == 8472 ||
    port == 4790 ||
    port == 6081 ||
    port == 2152 ||
    port == 3544 ||
    port == 6635 ||
    port == 5247 ||
    port == 1701 ||
    port == 4754
  );
}

/** Whether the header behind that of IP is one that can be listed. */
function readTransport(end: usize): bool {
  const left = <i32>(end - transportAt);
  if (protocol == 6) return left >= 14;
  if (protocol == 17) return left >= 4 && !isTunnel(half(transportAt)) && !isTunnel(half(transportAt + 2));
  return (protocol == 1 || protocol == 58) && left >= 2;
}

function readIpv4(at: usize, end: usize): bool {
  if (<i32>(end - at) < 20) return false;
  const first = <u32>load<u8>(at);
  const headerLength = (first & 15) << 2;
  // Nor is it a fragment.
  if (first >>> 4 != 4 || headerLength < 20 || (half(at + 6) & 0x3fff) != 0) return false;
  const length = half(at + 2);
  ipAt = at;
  addressLength = 4;
  protocol = load<u8>(at, 9);
  transportAt = at + headerLength;
  return readTransport(length < headerLength ? end : min(end, at + length));
}

function readIpv6(at: usize, end: usize): bool {
  if (<i32>(end - at) < 40 || load<u8>(at) >>> 4 != 6) return false;
  const payload = half(at + 4);
  ipAt = at;
  addressLength = 16;
  protocol = load<u8>(at, 6);
  transportAt = at + 40;
  return readTransport(payload == 0 ? end : min(end, at + 40 + payload));
}

/** Reads an Ethernet frame. @returns whether its steps can be listed. */
export function readFrame(at: usize, end: usize): bool {
  tags = 0;
  frameAt = at;
  if (<i32>(end - at) < 14) return false;
  etherType = half(at + 12);
  let position = at + 14;
  for (; isTag(etherType); position += 4) {
    if (tags == 2 || <i32>(end - position) < 4) return false;
    if (tags++ == 0) outerTag = half(position);
    else innerTag = half(position);
    etherType = half(position + 2);
  }
  if (etherType == ofIpv4) return readIpv4(position, end);
  return etherType == ofIpv6 && readIpv6(position, end);
}

/** The same for a packet of IP. */
export function readPacket(at: usize, end: usize, version: i32): bool {
  tags = 0;
  frameAt = 0;
  return version == 4 ? readIpv4(at, end) : readIpv6(at, end);
}

/** The length of the IP packet that was read, by its header. */
@inline
export function ipLength(): u32 {
  return addressLength == 4 ? half(ipAt + 2) : half(ipAt + 4) + 40;
}

/** Whether the frame that was read has a VLAN. */
@inline
export function hasTag(): bool {
  return tags > 0;
}

/** @param agentVlan the VLAN of the source that the line has already, -1 when it has none. */
@inline
function listVlan(table: usize, agentVlan: i64): void {
  const vlan = outerTag & 0xfff;
  if (agentVlan < 0) list(table, L.vlanStep, vlan);
  else if (agentVlan != vlan) list(table, L.otherVlanStep, vlan);
}

/** Lists the packet that was read. */
export function listPacket(table: usize, agentVlan: i64): void {
  if (frameAt != 0) {
    if (tags == 0) list(table, L.frameStep, <u32>frameAt);
    else if (tags == 1) {
      list(table, L.taggedFrameStep, <u32>frameAt);
      listVlan(table, agentVlan);
    } else {
      list(table, L.sourceMacStep, <u32>frameAt + 6);
      list(table, L.destinationMacStep, <u32>frameAt);
      list(table, L.etherTypeStep, etherType);
      listVlan(table, agentVlan);
      list(table, L.priorityStep, outerTag >>> 13);
      list(table, L.innerVlanStep, innerTag & 0xfff);
      list(table, L.innerPriorityStep, innerTag >>> 13);
    }
  }
  if (addressLength == 4) list(table, L.ipv4Step, <u32>ipAt);
  else {
    list(table, L.ipv6Step, <u32>ipAt);
    list(table, L.trafficClassStep, (half(ipAt) >>> 4) & 0xff);
    list(table, L.lengthStep, 40 + half(ipAt + 4));
    list(table, L.flowLabelStep, bswap(load<u32>(ipAt)) & 0xf_ffff);
    list(table, L.protocolStep, protocol);
  }
  if (protocol == 6) list(table, L.tcpStep, <u32>transportAt);
  else if (protocol == 17) list(table, L.portsStep, <u32>transportAt);
  else {
    list(table, L.icmpTypeStep, load<u8>(transportAt));
    list(table, L.icmpCodeStep, load<u8>(transportAt, 1));
  }
}
