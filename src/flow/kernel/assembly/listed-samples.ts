// Lists the steps of flow samples of the common kinds: both interfaces by index, one header that can be listed, and structures whose
// fields have fixed places. src/flow/wire/sflow lists the same of them, and all others.
import * as L from "../layout";
import {
  addressLength,
  beginList,
  hasTag,
  ipAt,
  ipLength,
  list,
  listEnd,
  listPacket,
  readFrame,
  readPacket,
} from "./listed-packets";

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
