import * as L from "../layout.gen";
import { addApp, slot, noteChunk, addNumber, rateOf, writeEstimates, writeNames, keep } from "./memory";
import { closingBracket, comma, copy, maxSafe, putText, quote, writeUint64, copyLong, writeByte } from "./values";
import { append, finish, writeLabels } from "./addresses";
import { findScopes, hasScopes } from "./scopes";
import { writeCommunityId } from "./community-id";
import { completeEnds } from "./ends";
import { writeIds } from "./flow-ids";
import { decideRole, makeKeys, method } from "./roles";
import { isWanted } from "./filter";

// Adds the application at an end of the flow, by its address and port.

/** The port of an end where there may be an application, else -1. */
@inline
function portOf(number: i32, address: i64): i32 {
  const port = slot(number);
  if (address < 0 || <u64>port > 65535) return -1;
  return (load<u8>(L.appPorts + (<usize>port >> 3)) & (1 << (<i32>port & 7))) != 0 ? <i32>port : -1;
}

/** @returns where the line ends then; 0 when the record must become fields. */
function writeApp(p: usize, source: i64, destination: i64): usize {
  const sourcePort = portOf(L.sourcePortSlot, source);
  const destinationPort = portOf(L.destinationPortSlot, destination);
  if (sourcePort < 0 && destinationPort < 0) return p;
  const end = addApp(
    <i32>p,
    <i32>source,
    <i32>(source >> 32),
    sourcePort,
    <i32>destination,
    <i32>(destination >> 32),
    destinationPort,
  );
  return end < 0 ? 0 : <usize>end;
}

// Names and numbers that follow from the fields of a line.

/** The names of type and code of ICMP. */
function writeIcmpNames(p: usize): usize {
  const protocol = slot(L.protocolSlot);
  if (protocol != 1 && protocol != 58) return p;
  const type = slot(L.icmpTypeSlot);
  if (<u64>type > 255) return p;
  const entry: usize = (protocol == 1 ? L.icmpNames : L.icmpV6Names) + L.icmpNameBytes * <usize>type;
  const length = load<i32>(entry, 4);
  if (length == 0) return p;
  copy(p, load<u32>(entry), length);
  p += length;
  const code = slot(L.icmpCodeSlot);
  if (<u64>code >= <u64>load<u32>(entry, 12)) return p;
  const named: usize = load<u32>(entry, 8) + 8 * <usize>code;
  const codeLength = load<i32>(named, 4);
  if (codeLength == 0) return p;
  copy(p, load<u32>(named), codeLength);
  return p + codeLength;
}

/** The IP version by the addresses where the line has none, and its name. */
function writeVersion(p: usize, addressLength: i32): usize {
  let version = slot(L.versionSlot);
  if (version == L.isAbsent) {
    if (addressLength == 0) return p;
    version = addressLength == 4 ? 4 : 6;
    p = putText(p, L.versionText);
    store<u8>(p++, 0x30 + <u8>version);
  }
  if (version != 4 && version != 6) return p;
  p = putText(p, L.versionNameText);
  store<u8>(p, 0x30 + <u8>version);
  store<u8>(p, quote, 1);
  return p + 2;
}

/** The VLANs of both ends by where the packets came in and went out; and both, where they are not 0. */
function writeVlans(p: usize): usize {
  const source = slot(L.sourceVlanSlot);
  const destination = slot(L.destinationVlanSlot);
  const hasSource = <u64>source <= maxSafe;
  const hasDestination = <u64>destination <= maxSafe;
  if (!hasSource && !hasDestination) return p;
  if (hasSource) p = writeUint64(putText(p, L.inVlanText), source);
  if (hasDestination) p = writeUint64(putText(p, L.outVlanText), destination);
  const first = hasSource && source != 0;
  const second = hasDestination && destination != 0 && (!first || destination != source);
  if (!first && !second) return p;
  p = putText(p, L.vlansText);
  if (first) p = writeUint64(p, source);
  if (first && second) store<u8>(p++, comma);
  if (second) p = writeUint64(p, destination);
  store<u8>(p, closingBracket);
  return p + 1;
}

const fin = 1;
const syn = 2;
const rst = 4;
const psh = 8;
const ack = 16;

/** Whether flags of TCP say that a session was established, or was not. */
function writeEstablished(p: usize): usize {
  if (slot(L.protocolSlot) != 6) return p;
  const all = slot(L.tcpFlagsSlot);
  if (all < 0) return p;
  const flags = <i32>(all & (fin | syn | rst | psh | ack));
  if (flags == 0) return p;
  if ((flags & ack) == 0) return putText(p, L.notEstablishedText);
  if ((flags & (fin | psh)) == 0 && (flags & (syn | rst)) != 0) return p;
  return putText(p, L.establishedText);
}

// What passed the interfaces of an exporter, by the flows it reports.

/** The cell of a key that is not in its first place; 0 when there is no room for it. */
function findCell(key: u64, cell: u32): usize {
  for (let i = 0; i < L.trafficProbes; i++) {
    const at: usize = L.trafficTable + L.trafficCell * <usize>cell;
    const found = load<u64>(at);
    if (found == 0) store<u64>(at, key);
    if (found == 0 || found == key) return at;
    cell = (cell + 1) & (L.trafficCells - 1);
  }
  store<u32>(L.trafficLost, load<u32>(L.trafficLost) + 1);
  return 0;
}

/** Adds to one way of an interface. @param rest bytes as exported, and packets. */
@inline
function add(index: i64, base: u64, bytes: f64, rest: v128): void {
  // 0 stands for an interface that is not known.
  if (<u64>(index - 1) >= 0xffff_ffff) return;
  const key = base | (<u64>index << L.trafficIndexShift);
  const cell = <u32>((key * 0x9e3779b97f4a7c15) >>> 52);
  let at: usize = L.trafficTable + L.trafficCell * <usize>cell;
  if (load<u64>(at) != key) at = findCell(key, cell);
  if (at == 0) return;
  store<f64>(at, load<f64>(at, L.trafficBytes) + bytes, L.trafficBytes);
  v128.store(at, f64x2.add(v128.load(at, L.trafficRawBytes), rest), L.trafficRawBytes);
}

/** The counter of a slot; 0 where there is none. */
@inline
function counter(number: i32): f64 {
  const value = slot(number);
  if (value == L.tooLarge) return <f64>load<u64>(L.exactValues + 8 * <usize>number);
  return value < 0 ? 0 : <f64>value;
}

/** Adds what passed from one interface to another, by the slots of its counters. */
@inline
function addBoth(from: i64, to: i64, base: u64, octets: i32, packets: i32, rate: f64): void {
  const raw = counter(octets);
  if (raw == 0) return;
  const rest = f64x2.replace_lane(f64x2.splat(raw), 1, counter(packets) * rate);
  add(from, base, raw * rate, rest);
  add(to, base | L.trafficWay, raw * rate, rest);
}

/** Adds what a flow reports, whether its line is wanted or not. @param known its sampling rate; one that is not known counts as 1. */
function noteTraffic(known: f64): void {
  const rate = known < 0 ? 1.0 : known;
  const direction = slot(load<u8>(L.seenDirectionSlot));
  const seen: u64 = direction == 0 ? L.trafficSeenIngress : direction == 1 ? L.trafficSeenEgress : 0;
  const base = ((<u64>load<u32>(L.trafficExporter)) << L.trafficKeyShift) | seen;
  const input = slot(load<u8>(L.trafficInSlot));
  const output = slot(load<u8>(L.trafficOutSlot));
  addBoth(input, output, base, L.octetsSlot, L.packetsSlot, rate);
  if (slot(L.reverseOctetsSlot) < 0) return;
  addBoth(output, input, base, L.reverseOctetsSlot, L.reversePacketsSlot, rate);
}

// What a line has behind the fields of its template: what follows from them, and what is added to them.

/** Where the additions of the line under way begin. */
export let additionsAt: usize = 0;
/** A bit for each addition to a number that it got. */
let added: u64 = 0;
/** Whether it got an application. */
let hasApp: bool = false;

const maxRate: f64 = 9_007_199_254_740_991;

/** Writes what a rate gives to each line that has it: its text, its factor, and which counters it can be applied to. */
function renderRate(rate: f64): void {
  store<f64>(L.renderedRate, rate);
  const isWhole = Math.trunc(rate) == rate && rate <= maxRate;
  const factor = isWhole ? <u64>rate : 0;
  store<u64>(L.rateFactor, factor);
  // Exact as long as the product is: a double is then an integer below 2^53.
  store<i64>(L.largestCounter, isWhole ? <i64>(<u64>maxRate / max(factor, 1)) : i64.MIN_VALUE);
  if (!isWhole) return;
  const end = writeUint64(putText(L.rateTexts, L.rateText), factor);
  store<u32>(L.rateTextLength, <u32>(end - L.rateTexts));
  store<u32>(L.rateTextsLength, <u32>(putText(end, L.scaledOctetsText) - L.rateTexts));
}

/** The estimate of one counter, where there is one. */
@inline
function scaled(p: usize, text: i32, counter: i64): usize {
  return counter < 0 ? p : writeUint64(putText(p, text), <u64>counter * load<u64>(L.rateFactor));
}

/** The rate and the estimates of the counters; a rate that is not known counts as 1. */
function estimate(p: usize, known: f64): usize {
  const octets = slot(L.octetsSlot);
  const packets = slot(L.packetsSlot);
  const reverseOctets = slot(L.reverseOctetsSlot);
  const reversePackets = slot(L.reversePacketsSlot);
  const isForward = reverseOctets < 0 && reversePackets < 0;
  if (known < 0 && isForward && octets < 0 && packets < 0) return p;
  const rate = known < 0 ? 1.0 : known;
  if (rate != load<f64>(L.renderedRate)) renderRate(rate);
  const most = load<i64>(L.largestCounter);
  if (octets <= most && packets <= most && reverseOctets <= most && reversePackets <= most) {
    copy(p, L.rateTexts, load<i32>(L.rateTextsLength));
    if (octets < 0) p += load<u32>(L.rateTextLength);
    else p = writeUint64(p + load<u32>(L.rateTextsLength), <u64>octets * load<u64>(L.rateFactor));
    p = scaled(p, L.scaledPacketsText, packets);
    if (!isForward) {
      p = scaled(p, L.reverseOctetsText, reverseOctets);
      p = scaled(p, L.reversePacketsText, reversePackets);
    }
  } else p = <usize>writeEstimates(<i32>p, rate);
  return known < 0 ? putText(p, L.assumedText) : p;
}

/** The estimate of a counter as the value of a slot. */
@inline
function estimateOf(counter: i64): i64 {
  if (counter < 0) return L.isAbsent;
  return counter <= load<i64>(L.largestCounter) ? counter * <i64>load<u64>(L.rateFactor) : L.isOther;
}

/** The rate of the record; negative when it is not known. */
@inline
function knownRate(): f64 {
  return load<u8>(L.rateIsOfRecord) != 0 ? rateOf() : load<f64>(L.rate);
}

/** Keeps the estimates that a filter tests. */
function keepEstimates(known: f64): void {
  const rate = known < 0 ? 1.0 : known;
  if (rate != load<f64>(L.renderedRate)) renderRate(rate);
  keep(L.scaledOctetsSlot, estimateOf(slot(L.octetsSlot)));
  keep(L.scaledPacketsSlot, estimateOf(slot(L.packetsSlot)));
}

/** What is added to numbers; 0 when there is no room for it. Leaves a bit for each that was. */
function addNumbers(p: usize): usize {
  const count = <i32>load<u8>(L.numberCount);
  let taken = load<u64>(L.takenNames);
  for (let i = 0; i < count; i++) {
    const block: usize = L.numberBlocks + L.numberBlock * i;
    const name = load<u64>(block, L.numberName);
    if (load<u8>(block, L.numberIsOn) == 0 || (taken & name) != 0) continue;
    const value = slot(load<u8>(block, L.numberValueSlot));
    if (value < 0) continue;
    const scopeSlot = <i32>load<u8>(block, L.numberScopeSlot);
    const scope = scopeSlot == L.noSlot ? 0 : slot(scopeSlot);
    if (scope < 0) continue;
    const end = addNumber(i, <i32>p, <f64>value, <f64>scope);
    if (end < 0) return 0;
    if (<usize>end > p) {
      added |= (<u64>1) << i;
      taken |= name;
      p = end;
    }
  }
  return p;
}

export function beginAdditions(): void {
  added = 0;
  hasApp = false;
}

/** Counts what was added to the line that is done. */
export function countAdditions(): void {
  if (hasApp) store<u32>(L.appsAdded, load<u32>(L.appsAdded) + 1);
  for (let i = 0; added != 0; i++, added >>= 1) {
    if ((added & 1) == 0) continue;
    const block: usize = L.numberBlocks + L.numberBlock * i;
    store<u32>(block, load<u32>(block, L.numberAdded) + 1, L.numberAdded);
  }
}

/**
 * Whether type and code of ICMPv6 are in each other's place. Where only one of them is an assigned type, that shows it; where both are,
 * the exporter's order decides.
 */
function isSwapped(type: u32, code: u32): bool {
  const isType = load<u8>(L.icmpV6TypeTable + type) != 0;
  const isCodeType = load<u8>(L.icmpV6TypeTable + code) != 0;
  const order = load<u8>(L.icmpOrder);
  if (isType == isCodeType) return isType && order == L.orderIsSwapped;
  if (order != L.orderIsNotLearnt) store<u8>(L.icmpOrder, isCodeType ? L.orderIsSwapped : L.orderIsUsual);
  return isCodeType;
}

/**
 * Type and code of ICMP where an exporter gives them as destination port. Port 0 is an echo reply of ICMP; of ICMPv6, where type 0
 * is reserved, it says nothing.
 */
function writeIcmp(p: usize): usize {
  const protocol = slot(L.protocolSlot);
  const port = slot(L.destinationPortSlot);
  if ((protocol != 1 && protocol != 58) || slot(L.sourcePortSlot) > 0 || <u64>port > 65535) return p;
  if (port == 0 && protocol == 58) return p;
  if (slot(L.icmpTypeSlot) != L.isAbsent || slot(L.icmpCodeSlot) != L.isAbsent) return p;
  let type = <u32>port >>> 8;
  let code = <u32>port & 255;
  if (protocol == 58 && isSwapped(type, code)) {
    type = code;
    code = <u32>port >>> 8;
    store<u32>(L.icmpSwapped, load<u32>(L.icmpSwapped) + 1);
  }
  keep(L.icmpTypeSlot, type);
  keep(L.icmpCodeSlot, code);
  p = writeByte(putText(p, L.icmpTypeText), type);
  return writeByte(putText(p, L.icmpCodeText), code);
}

/** What {@link writeRest} returns for a record that is not wanted. */
export const unwanted: usize = 1;

/** Which end is the client, by which rule, and what identifies conversation and session. Leaves the role with the results. */
function writeRole(p: usize, began: i32, source: usize, destination: usize, length: i32): usize {
  const flags = <u32>load<u8>(L.endsFlags);
  let role = 0;
  if ((flags & L.expandEnds) != 0) {
    role = decideRole(began);
    const count: usize = L.methodCounts + 4 * <usize>(role == 0 ? 0 : method);
    store<u32>(count, load<u32>(count) + 1);
    if (role != 0) p = putText(p, L.methodTexts + method - 1);
  }
  store<u32>(L.resultRole, role);
  store<u32>(L.resultMethod, method);
  return (flags & L.withIds) != 0 ? writeIds(p, role, source, destination, length) : p;
}

/**
 * What comes behind the fields of the template; 0 when the additions are to be made otherwise, or {@link unwanted}.
 *
 * @param fieldsAt where the fields of the line begin, @param began what is known of who began the flow.
 */
export function writeRest(p: usize, hasAddresses: bool, fieldsAt: usize, began: i32): usize {
  const isCounted = load<u32>(L.trafficExporter) != 0;
  const takesEstimates = load<u8>(L.filterTakesEstimates) != 0;
  const isEarly = isCounted || takesEstimates;
  let known: f64 = isEarly ? knownRate() : 0;
  if (isCounted) noteTraffic(known);
  if (takesEstimates) keepEstimates(known);
  if (!isWanted()) return unwanted;
  if (!isEarly) known = knownRate();
  const source = slot(L.sourceSlot);
  const destination = slot(L.destinationSlot);
  const sourceLength = source < 0 ? 0 : <i32>(source >> 32);
  const destinationLength = destination < 0 ? 0 : <i32>(destination >> 32);
  const hasEnds = sourceLength != 0 && sourceLength == destinationLength;
  if (hasEnds && (load<u8>(L.endsFlags) & L.expandEnds) != 0) {
    makeKeys(<usize>(source & 0xffffffff), <usize>(destination & 0xffffffff), sourceLength);
  }
  p = writeIcmpNames(writeIcmp(p));
  p = writeVersion(p, sourceLength != 0 ? sourceLength : destinationLength);
  p = writeEstablished(writeVlans(p));
  p = estimate(p, known);
  const taken = load<u64>(L.takenNames);
  if (load<u8>(L.hasNames) != 0) {
    const names = p;
    p = writeNames(<i32>p);
    noteChunk(names, p);
  }
  if (load<u8>(L.hasCommunityId) != 0 && hasEnds) {
    p = writeCommunityId(
      p,
      <usize>(source & 0xffffffff),
      <usize>(destination & 0xffffffff),
      sourceLength,
      slot(L.protocolSlot),
      slot(L.sourcePortSlot),
      slot(L.destinationPortSlot),
      slot(L.icmpTypeSlot),
      slot(L.icmpCodeSlot),
    );
  }
  store<u32>(L.resultRole, 0);
  if (hasEnds) {
    p = writeRole(p, began, <usize>(source & 0xffffffff), <usize>(destination & 0xffffffff), sourceLength);
  }
  additionsAt = p;
  if (load<u8>(L.isUnenriched) != 0) return 0;
  if (load<u8>(L.numberCount) != 0) {
    const numbers = p;
    p = addNumbers(p);
    if (p == 0) return 0;
    noteChunk(numbers, p);
  }
  if (load<u8>(L.hasApps) != 0) {
    const end = writeApp(p, source, destination);
    if (end == 0) return 0;
    hasApp = end > p;
    p = end;
  }
  if (hasAddresses) {
    if (hasScopes()) findScopes(taken, fieldsAt, p);
    p = addAddresses(p, source, destination);
    if (p == 0) return 0;
  }
  const role = load<i32>(L.resultRole);
  const joins = <u32>load<u8>(L.joinFlags);
  return (joins | role) == 0 ? p : completeEnds(p, fieldsAt, role, joins);
}

/** What is known of the addresses of a line; 0 when it is to be added otherwise. */
function addAddresses(p: usize, source: i64, destination: i64): usize {
  const sourceLength = source < 0 ? 0 : <i32>(source >> 32);
  const destinationLength = destination < 0 ? 0 : <i32>(destination >> 32);
  if (sourceLength != 0) {
    const at = <usize>(source & 0xffffffff);
    p = append(0, at, sourceLength, slot(L.sourceVlanSlot) != L.isAbsent, L.sourceAsSlot, p);
    if (p == 0) return 0;
  }
  if (destinationLength != 0) {
    const at = <usize>(destination & 0xffffffff);
    p = append(1, at, destinationLength, slot(L.destinationVlanSlot) != L.isAbsent, L.destinationAsSlot, p);
    if (p == 0) return 0;
  }
  const length = load<i32>(L.exporterLength);
  if (length != 0) {
    copyLong(p, L.exporterText, length);
    p += length;
  }
  return writeLabels(finish(p));
}
