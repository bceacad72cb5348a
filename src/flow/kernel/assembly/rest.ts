// What a line has behind the fields of its template: what follows from them, and what is added to them.
import * as L from "../layout";
import { append, finish, writeLabels } from "./addresses";
import { writeApp } from "./apps";
import { writeCommunityId } from "./community-id";
import { completeEnds } from "./ends";
import { notePiece } from "./noted";
import { writeIds } from "./flow-ids";
import { decideRole, makeKeys, method } from "./roles";
import { writeEstablished, writeIcmpNames, writeVersion, writeVlans } from "./derived";
import { isWanted } from "./filter";
import { addNumber, rateOf, writeEstimates, writeNames } from "./imports";
import { keep, slot } from "./slots";
import { noteTraffic } from "./traffic";
import { copy, copyLong, putText, writeByte, writeUint64 } from "./values";

/** Where the additions of the line under way begin. */
export let additionsAt: usize = 0;
/** A bit for each addition to a number that it got. */
let added: u64 = 0;
/** Whether it got an application. */
let hasApp: bool = false;

const maxSafe: f64 = 9_007_199_254_740_991;

/** Writes what a rate gives to each line that has it: its text, its factor, and which counters it can be applied to. */
function renderRate(rate: f64): void {
  store<f64>(L.renderedRate, rate);
  const isWhole = Math.trunc(rate) == rate && rate <= maxSafe;
  const factor = isWhole ? <u64>rate : 0;
  store<u64>(L.rateFactor, factor);
  // Exact as long as the product is: a double is then an integer below 2^53.
  store<i64>(L.largestCounter, isWhole ? <i64>(<u64>maxSafe / max(factor, 1)) : i64.MIN_VALUE);
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
  if (load<u8>(L.hasNames) != 0) {
    const names = p;
    p = writeNames(<i32>p);
    notePiece(names, p);
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
  if (load<u8>(L.isBare) != 0) return 0;
  if (load<u8>(L.numberCount) != 0) {
    const numbers = p;
    p = addNumbers(p);
    if (p == 0) return 0;
    notePiece(numbers, p);
  }
  if (load<u8>(L.hasApps) != 0) {
    const end = writeApp(p, source, destination);
    if (end == 0) return 0;
    hasApp = end > p;
    p = end;
  }
  if (hasAddresses) {
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
