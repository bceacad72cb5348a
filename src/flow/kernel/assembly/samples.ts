import * as L from "../layout.gen";
import {
  beginAddresses,
  beginRecord,
  endAddresses,
  endRecord,
  grown,
  hashSlot,
  prefetchSlots,
  prefetchTexts,
  listMissing,
  listsMissing,
  locateMissing,
} from "./addresses";
import { beginDigests, writeDigests } from "./community-id";
import { forgetNoted, clearSlots } from "./memory";
import { isLineWanted } from "./filter";
import { additionsAt, beginAdditions, countAdditions, unwanted, writeRest } from "./rest";
import { noteSeen } from "./flow-ids";
import { writeSteps } from "./steps";
import { copyLong } from "./values";

// Lists the steps of packets whose headers are of the common kinds: Ethernet with up to two tags, IPv4 and IPv6, TCP, UDP and ICMP, in no
// tunnel and in one piece. src/flow/wire/packet lists the same of them, and all others.

/** Where the next step is listed. */
let listEnd: usize = 0;

function beginList(at: usize): void {
  listEnd = at;
}

/** Lists a step of a table, with a number or the place of its value. */
@inline
function list(table: usize, step: usize, value: u32): void {
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
let ipAt: usize = 0;
/** Bytes of an address. */
let addressLength: i32 = 0;
let protocol: u32 = 0;
let transportAt: usize = 0;

@inline
function half(at: usize): u32 {
  return <u32>bswap(load<u16>(at));
}

const ethernetIpv4: u32 = 0x0800;
const ethernetIpv6: u32 = 0x86dd;

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
function readFrame(at: usize, end: usize): bool {
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
  if (etherType == ethernetIpv4) return readIpv4(position, end);
  return etherType == ethernetIpv6 && readIpv6(position, end);
}

/** The same for a packet of IP. */
function readPacket(at: usize, end: usize, version: i32): bool {
  tags = 0;
  frameAt = 0;
  return version == 4 ? readIpv4(at, end) : readIpv6(at, end);
}

/** The length of the IP packet that was read, by its header. */
@inline
function ipLength(): u32 {
  return addressLength == 4 ? half(ipAt + 2) : half(ipAt + 4) + 40;
}

/** Whether the frame that was read has a VLAN. */
@inline
function hasTag(): bool {
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
function listPacket(table: usize, agentVlan: i64): void {
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

// Lists the steps of flow samples of the common kinds: both interfaces by index, one header that can be listed, and structures whose
// fields have fixed places. src/flow/wire/sflow lists the same of them, and all others.

/** Bytes of more steps than are listed here of one sample. */
const mostSteps: usize = 1024;

@inline
function word(at: usize): u32 {
  return bswap(load<u32>(at));
}

const unknown: u32 = 0xffff_ffff;
/** In place of the index of an interface: the packet came from the device itself, or was for it. */
const internal: u32 = 0x3fff_ffff;
/** How the interface of a packet is given. */
const byIndex: u32 = 0;
const byCount: u32 = 2;
/** What stands for an index where there is none. */
const none: i64 = -1;
const several: i64 = -2;

const ofEthernet: u32 = 1;
const ofIpv4: u32 = 11;
const ofIpv6: u32 = 12;
const headerHead: usize = 16;
const table: usize = L.listedOfSample;

/** What is known of a structure; 0: it is not one whose fields have fixed places. */
function findStructure(format: u32, length: u32, at: usize): usize {
  const end: usize = L.structures + L.structureBytes * <usize>load<u32>(L.structureCount);
  for (let entry: usize = L.structures; entry < end; entry += L.structureBytes) {
    if (load<u32>(entry) != format || load<u32>(entry, L.structureLength) != length) continue;
    const start = load<u32>(entry, L.structureStart);
    if (start == L.anyStart || start == word(at)) return entry;
  }
  return 0;
}

/** Lists an interface, and where a packet came in or went out. @returns its index, or {@link none}, or {@link several}. */
function listInterface(format: u32, value: u32, index: usize, isInternal: usize): i64 {
  if (format == byCount) {
    list(table, L.outCountStep, value);
    return several;
  }
  if (value == internal) {
    list(table, isInternal, value);
    return none;
  }
  list(table, index, value);
  return value;
}

/** Lists the fixed part of a sample. @returns whether its interfaces are of the common kinds. */
function listFixed(at: usize, isExpanded: bool): bool {
  const first = word(at + 4);
  const type = isExpanded ? first : first >>> 24;
  const source = isExpanded ? word(at + 8) : first & 0xff_ffff;
  const inAt = at + (isExpanded ? 24 : 20);
  const one = word(inAt);
  const two = word(inAt + (isExpanded ? 8 : 4));
  const inFormat = isExpanded ? one : one >>> 30;
  const outFormat = isExpanded ? two : two >>> 30;
  if (inFormat != byIndex || (outFormat != byIndex && outFormat != byCount)) return false;
  const inValue = isExpanded ? word(inAt + 4) : one & internal;
  const outValue = isExpanded ? word(inAt + 12) : two & internal;
  let input: i64 = inValue;
  let output: i64 = outValue;
  if (inValue != internal && outFormat == byIndex && outValue != internal) {
    list(table, isExpanded ? L.expandedWholeStep : L.compactWholeStep, <u32>at);
  } else {
    list(table, isExpanded ? L.expandedStep : L.compactStep, <u32>at);
    input = listInterface(byIndex, inValue, L.inIndexStep, L.inInternalStep);
    output = listInterface(outFormat, outValue, L.outIndexStep, L.outInternalStep);
  }
  const isIn = input == source;
  const isOut = output == source || (output == several && !isIn);
  if (type == 0 && isIn != isOut) list(table, isIn ? L.ingressStep : L.egressStep, isIn ? 0 : 1);
  return true;
}

/** Finds the sampled header, and whether all records are of the common kinds, whole, and no two of one group. @returns 0 otherwise. */
function findHeader(at: usize, end: usize): usize {
  const count = word(at);
  let position = at + 4;
  let header: usize = 0;
  let groups: u64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    if (<i32>(end - position) < 8) return 0;
    const format = word(position);
    const length = word(position + 4);
    position += 8;
    if (length > end - position) return 0;
    if (format == L.headerFormat) {
      if (header != 0 || length < headerHead) return 0;
      const sampled = word(position + 12);
      if (sampled == 0 || sampled > length - headerHead) return 0;
      header = position;
    } else {
      const structure = findStructure(format, length, position);
      if (structure == 0) return 0;
      const group: u64 = (<u64>1) << load<u32>(structure, L.structureGroup);
      if ((groups & group) != 0) return 0;
      groups |= group;
    }
    position = min(end, position + ((length + 3) & ~3));
  }
  return position == end ? header : 0;
}

/** Lists the structures of a sample that {@link findHeader} has seen. @returns the VLAN of the source by the switch; -1: it says none. */
function listStructures(at: usize, header: usize): i64 {
  const count = word(at);
  let position = at + 4;
  let vlan: i64 = none;
  for (let i: u32 = 0; i < count; i++) {
    const format = word(position);
    const length = word(position + 4);
    position += 8;
    if (position != header) {
      const structure = findStructure(format, length, position);
      let step: usize = L.structureStep;
      if (format == L.switchFormat) {
        const said = word(position);
        // A VLAN 0 of the source gives its place to that of the packet's tag.
        if (said == 0 && hasTag()) step = L.structureRest;
        else if (said != unknown) vlan = said;
      }
      list(structure + step, 0, <u32>position);
    }
    position += (length + 3) & ~3;
  }
  return vlan;
}

function listSample(at: usize, end: usize, isExpanded: bool): bool {
  const records = at + (isExpanded ? 40 : 28);
  const header = findHeader(records, end);
  if (header == 0) return false;
  const kind = word(header);
  const from = header + headerHead;
  const to = from + word(header + 12);
  if (kind == ofEthernet) {
    if (!readFrame(from, to)) return false;
  } else if (kind == ofIpv4 || kind == ofIpv6) {
    if (!readPacket(from, to, kind == ofIpv4 ? 4 : 6)) return false;
  } else return false;
  const frameLength = word(header + 4);
  // What stands in place of a length that cannot be is found by the other side.
  if (frameLength < ipLength() || frameLength > <u32>L.longestFrame) return false;
  if (!listFixed(at, isExpanded)) return false;
  list(table, L.packetsStep, 1);
  const agentVlan = listStructures(records, header);
  list(table, L.frameLengthStep, frameLength);
  listPacket(L.listedOfPacket, agentVlan);
  return true;
}

/**
 * Lists the steps of samples until one comes that the other side has to list.
 *
 * @param at where the list goes on; `listedSteps` says where it ends then. Where there is no room, the other side has to list, too.
 * @returns the position of that sample, or `end`.
 */
export function listSamples(first: i32, end: i32, at: usize): i32 {
  let i = first;
  for (; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    const form = load<u32>(block, L.sampleForm);
    beginList(at);
    if (form == L.formOther || at + mostSteps > <usize>L.stepListEnd) break;
    if (!listSample(load<u32>(block, L.sampleAt), load<u32>(block, L.sampleEnd), form == L.formExpanded)) break;
    store<u32>(block, <u32>at, L.sampleSteps);
    store<u32>(block, <u32>listEnd, L.sampleStepsEnd);
    store<u32>(block, <u32>ipAt + (addressLength == 4 ? 12 : 8), L.sampleSource);
    store<u32>(block, <u32>ipAt + (addressLength == 4 ? 16 : 24), L.sampleDestination);
    store<u32>(block, addressLength, L.sampleAddressLength);
    store<u32>(block, load<u32>(L.listedRoom), L.sampleRoom);
    at = listEnd;
  }
  store<u32>(L.listedSteps, <u32>at);
  return i;
}

// Writes the lines of samples: each is a list of steps, which were chosen by what is in it, with their numbers and places.

export function prefetchSamples(first: i32, end: i32): void {
  if (!beginAddresses(load<u32>(L.addressControl))) return;
  let position = 0;
  for (let i = first; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    const length = load<u32>(block, L.sampleAddressLength);
    if (length == 0) continue;
    hashSlot(0, load<u32>(block, L.sampleSource), length == 16, position);
    hashSlot(1, load<u32>(block, L.sampleDestination), length == 16, position);
    position++;
  }
  const sum = prefetchSlots(0, position) + prefetchSlots(1, position);
  store<u32>(L.prefetchedSum, sum + prefetchTexts(0, position) + prefetchTexts(1, position));
  if (!listsMissing()) return;
  for (let i = first; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    const length = load<u32>(block, L.sampleAddressLength);
    if (length == 0) continue;
    listMissing(0, load<u32>(block, L.sampleSource), length == 16);
    listMissing(1, load<u32>(block, L.sampleDestination), length == 16);
  }
  locateMissing();
}

export function writeSamples(first: i32, end: i32, out: usize, limit: usize): i32 {
  const hasAddresses = beginAddresses(load<u32>(L.addressControl));
  let p = out;
  let i = first;
  let lines = 0;
  let status: i32 = L.isDone;
  beginDigests();
  for (; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    if (p + load<u32>(block, L.sampleRoom) > limit) {
      status = L.isFull;
      break;
    }
    let line = p;
    const headLength = load<i32>(block, L.sampleHeadLength);
    copyLong(line, load<u32>(block, L.sampleHead), headLength);
    line += headLength;
    clearSlots();
    beginRecord();
    forgetNoted();
    line = writeSteps(line, load<u32>(block, L.sampleSteps), load<u32>(block, L.sampleStepsEnd));
    store<f64>(L.rate, load<f64>(block, L.sampleRate));
    store<u64>(L.takenNames, 0);
    beginAdditions();
    line = writeRest(line, hasAddresses, p + headLength, 0);
    if (line == 0) {
      noteSeen();
      status = L.isLeft;
      break;
    }
    if (line == unwanted) continue;
    store<u16>(line, 0x0a7d);
    if (!isLineWanted(p, line + 2)) continue;
    noteSeen();
    lines++;
    endRecord();
    countAdditions();
    p = line + 2;
  }
  writeDigests();
  endAddresses();
  store<u32>(L.resultEnd, <u32>p);
  store<u32>(L.resultCount, i);
  store<u32>(L.resultLines, lines);
  store<u32>(L.resultRest, <u32>additionsAt + grown);
  return status;
}
