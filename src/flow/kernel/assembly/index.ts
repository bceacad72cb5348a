// Writes the lines of records: it runs a program, which was made of a template, for each record of a set.
import * as L from "../layout";
import { append, beginAddresses, beginRecord, endAddresses, endRecord, finish, touchSlots, touchTexts } from "./addresses";
import { writeCommunityId } from "./community-id";
import { addNumber, bootTime, interpret, rateOf, writeEstimates, writeNames } from "./imports";
import { prefetchSamples, writeSamples } from "./samples";
import {
  copy,
  putText,
  readUint,
  writeByte,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeMilliseconds,
  writePlainText,
  writeSeconds,
  writeUint32,
  writeUint64,
} from "./values";

/** The exporter's uptime for the record under way. */
let uptime: i64 = 0;
let uptimeIsKnown: bool = false;

@inline
function slot(number: i32): i64 {
  return load<i64>(L.slots + 8 * number);
}

@inline
function keep(number: i32, value: i64): void {
  store<i64>(L.slots + 8 * <usize>number, value);
}

/** Whatever is beyond 2^62 is as good as that: nothing is made of numbers that are not exact in a double. */
@inline
function keepUint(number: i32, value: u64): void {
  keep(number, <i64>min<u64>(value, 1 << 62));
}

/** Where a field begins; in an operation of a program whose records vary, its position in the template is told. */
@inline
function placeOf(operation: usize, from: usize, varies: bool): usize {
  const place = <usize>load<u16>(operation, L.operationPlace);
  const delta = <usize>load<u16>(operation, L.operationDelta);
  return varies ? load<u32>(L.fieldOffsets + 4 * place) + delta : from + place + delta;
}

/** Finds the fields of a record. @returns where the next one begins, 0 when this one does not fit. */
function locateFields(program: usize, at: usize, end: usize): usize {
  const count = <i32>load<u16>(program, L.programFields);
  const lengths = program + load<u32>(program, L.programLengths);
  for (let i = 0; i < count; i++) {
    let length = <u32>load<u16>(lengths + 2 * i);
    if (length == L.variable) {
      // RFC 7011 section 7: one byte, or 255 and two bytes.
      if (at >= end) return 0;
      length = load<u8>(at++);
      if (length == 255) {
        if (at + 2 > end) return 0;
        length = <u32>bswap(load<u16>(at));
        at += 2;
      }
    }
    store<u32>(L.fieldOffsets + 4 * i, <u32>at);
    store<u32>(L.fieldLengths + 4 * i, length);
    at += length;
  }
  return at <= end ? at : 0;
}

/** Whether the rest of a set is padding although a record would fit. */
function isPadding(program: usize, at: usize, start: usize, end: usize): bool {
  if (load<u32>(program, L.programMinLength) >= 4 || end - at >= 4 || at == start) return false;
  if ((load<u16>(program, L.programFlags) & L.mayBePadded) == 0) return false;
  for (; at < end; at++) if (load<u8>(at) != 0) return false;
  return true;
}

/** Which of several fields is not all zero bytes; the first when all are. */
function select(pairs: usize, count: i32, from: usize, varies: bool): i32 {
  for (let i = 0; i < count; i++) {
    const place = <usize>load<u16>(pairs + 4 * i);
    const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
    const length = <i32>load<u16>(pairs + 4 * i, 2);
    for (let j = 0; j < length; j++) if (load<u8>(at + j) != 0) return i;
  }
  return 0;
}

const maxSafe: f64 = 9_007_199_254_740_991;

/** The rate and the estimates of the counters; 0 when one of them is beyond 2^53-1. */
function estimate(p: usize, rate: f64): usize {
  const octets = slot(L.octetsSlot);
  const packets = slot(L.packetsSlot);
  if (Math.trunc(rate) != rate || rate > maxSafe) {
    const end = writeEstimates(<i32>p, rate, <f64>octets, <f64>packets);
    return end < 0 ? 0 : end;
  }
  // Exact as long as the product is: a double is then an integer below 2^53.
  if (<f64>octets > maxSafe || <f64>packets > maxSafe) return 0;
  if (<f64>octets * rate > maxSafe || <f64>packets * rate > maxSafe) return 0;
  p = writeUint64(putText(p, L.rateText), <u64>rate);
  if (octets >= 0) p = writeUint64(putText(p, L.scaledOctetsText), <u64>octets * <u64>rate);
  if (packets >= 0) p = writeUint64(putText(p, L.scaledPacketsText), <u64>packets * <u64>rate);
  return p;
}

/** What is added to numbers; 0 when the record must become fields. Leaves a bit for each that was. */
let added: u64 = 0;

function addNumbers(p: usize): usize {
  const count = <i32>load<u8>(L.numberCount);
  added = 0;
  for (let i = 0; i < count; i++) {
    const block: usize = L.numberBlocks + L.numberBlock * i;
    if (load<u8>(block, L.numberIsOn) == 0 || (added & load<u64>(block, L.numberBefore)) != 0) continue;
    const value = slot(load<u8>(block, L.numberValueSlot));
    if (value < 0) continue;
    const scopeSlot = <i32>load<u8>(block, L.numberScopeSlot);
    const scope = scopeSlot == L.noSlot ? 0 : slot(scopeSlot);
    if (scope < 0) continue;
    const end = addNumber(i, <i32>p, <f64>value, <f64>scope);
    if (end < 0) return 0;
    if (<usize>end > p) {
      added |= (<u64>1) << i;
      p = end;
    }
  }
  return p;
}

export function beginNumbers(): void {
  added = 0;
}

export function countNumbers(): void {
  for (let i = 0; added != 0; i++, added >>= 1) {
    if ((added & 1) == 0) continue;
    const block: usize = L.numberBlocks + L.numberBlock * i;
    store<u32>(block, load<u32>(block, L.numberAdded) + 1, L.numberAdded);
  }
}

/** Type and code of ICMP where an exporter gives them as destination port. */
function writeIcmp(p: usize): usize {
  const protocol = slot(L.protocolSlot);
  const port = slot(L.destinationPortSlot);
  if ((protocol != 1 && protocol != 58) || slot(L.sourcePortSlot) > 0 || port <= 0 || port > 65535) return p;
  if (slot(L.icmpTypeSlot) >= 0 || slot(L.icmpCodeSlot) >= 0) return p;
  p = writeByte(putText(p, L.icmpTypeText), <u32>port >>> 8);
  return writeByte(putText(p, L.icmpCodeText), <u32>port & 255);
}

/** What comes after the fields of the template; 0 when the record must become fields. */
export function writeRest(p: usize, from: usize, hasAddresses: bool): usize {
  const source = slot(L.sourceSlot);
  const destination = slot(L.destinationSlot);
  // Place and, above it, length.
  const sourceLength = source == -1 ? 0 : <i32>(source >> 32);
  const destinationLength = destination == -1 ? 0 : <i32>(destination >> 32);
  p = writeIcmp(p);
  if ((sourceLength | destinationLength) != 0 && slot(L.versionSlot) == -1) {
    p = putText(p, L.versionText);
    store<u8>(p++, (sourceLength != 0 ? sourceLength : destinationLength) == 4 ? 0x34 : 0x36);
  }
  const rate = load<u8>(L.rateIsOfRecord) != 0 ? rateOf(<i32>from) : load<f64>(L.rate);
  if (rate >= 0) {
    p = estimate(p, rate);
    if (p == 0) return 0;
  }
  if (load<u8>(L.hasNames) != 0) p = writeNames(<i32>p, <i32>from);
  if (load<u8>(L.hasCommunityId) != 0 && sourceLength != 0 && sourceLength == destinationLength) {
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
  if (load<u8>(L.numberCount) != 0) {
    p = addNumbers(p);
    if (p == 0) return 0;
  }
  if (hasAddresses) {
    if (sourceLength != 0) {
      const at = <usize>(source & 0xffffffff);
      p = append(0, at, sourceLength, slot(L.sourceVlanSlot) != -1, slot(L.sourceSystemSlot), p);
      if (p == 0) return 0;
    }
    if (destinationLength != 0) {
      const at = <usize>(destination & 0xffffffff);
      p = append(1, at, destinationLength, slot(L.destinationVlanSlot) != -1, slot(L.destinationSystemSlot), p);
      if (p == 0) return 0;
    }
    const length = load<i32>(L.exporterLength);
    if (length != 0) {
      copy(p, L.exporterText, length);
      p += length;
    }
    p = finish(p);
  }
  return p;
}

/** Runs the program for one record. @returns where its line ends; 0 when the record must become fields. */
function writeRecord(program: usize, from: usize, varies: bool, hasAddresses: bool, p: usize): usize {
  const head = load<i32>(L.headLength);
  copy(p, L.headText, head);
  p += head;
  const slotsEnd = L.slots + 8 * <i32>load<u8>(L.slotCount);
  for (let i = L.slots; i < slotsEnd; i += 16) v128.store(i, i32x4.splat(-1));
  const exportTime = load<i64>(L.exportTime);
  let at = program + L.programOperations;
  let chosen = 0;
  while (true) {
    const operation = at;
    const code = <i32>load<u8>(operation, L.operationCode);
    const number = <i32>load<u8>(operation, L.operationSlot);
    const place = placeOf(operation, from, varies);
    const text = <i32>load<u16>(operation, L.operationText);
    const argument = load<u32>(operation, L.operationArgument);
    copy(p, operation + L.operationHead, text);
    p += text;
    at += load<u16>(operation, L.operationSize);
    switch (code) {
      case L.opText:
        break;
      case L.opUint8: {
        const value = <u32>load<u8>(place);
        keep(number, value);
        p = writeByte(p, value);
        break;
      }
      case L.opUint16: {
        const value = <u32>bswap(load<u16>(place));
        keep(number, value);
        p = writeUint32(p, value);
        break;
      }
      case L.opUint32: {
        const value = bswap(load<u32>(place));
        keep(number, value);
        p = writeUint32(p, value);
        break;
      }
      case L.opUint: {
        const value = readUint(place, load<u16>(operation, L.operationLength));
        keepUint(number, value);
        p = writeUint64(p, value);
        break;
      }
      case L.opIpv4:
        keep(number, (4 << 32) | <i64>place);
        p = writeIpv4(p, bswap(load<u32>(place)));
        break;
      case L.opIpv6:
        keep(number, (16 << 32) | <i64>place);
        p = writeIpv6(p, place);
        break;
      case L.opMac:
        p = writeMac(p, place);
        break;
      case L.opHex:
        p = writeHex(p, place, load<u16>(operation, L.operationLength));
        break;
      case L.opTable: {
        const value = <u32>load<u8>(place);
        keep(number, value);
        keep(load<u16>(operation, L.operationLength), value >>> 2);
        const entry: usize = argument + 8 * value;
        const length = load<i32>(entry, 4);
        copy(p, load<u32>(entry), length);
        p += length;
        break;
      }
      case L.opPlainText:
      case L.opSeconds:
      case L.opMilliseconds:
      case L.opUptime: {
        const length = <i32>load<u16>(operation, L.operationLength);
        let end: usize = 0;
        if (code == L.opPlainText) {
          const field = <usize>load<u16>(operation, L.operationPlace);
          end = writePlainText(p, place, length == L.variable ? load<i32>(L.fieldLengths + 4 * field) : length);
        } else if (code == L.opSeconds) end = writeSeconds(p, <i64>readUint(place, length));
        else if (code == L.opMilliseconds) end = writeMilliseconds(p, <i64>readUint(place, length));
        else if (uptimeIsKnown) {
          end = writeMilliseconds(p, exportTime - <i64>(<i32>(uptime - <i64>readUint(place, length))));
        }
        p = end != 0 ? end : interpret(argument & 0xffff, <i32>p - (argument >>> 16), <i32>from);
        break;
      }
      case L.opInterpret:
        p = interpret(argument, <i32>p, <i32>from);
        break;
      case L.opSelect:
        chosen = select(
          operation + L.operationHead + ((text + 15) & ~15),
          load<u16>(operation, L.operationLength),
          from,
          varies,
        );
        break;
      case L.opIsByte:
        chosen = load<u8>(place) == <u8>load<u16>(operation, L.operationLength) ? 1 : 0;
        break;
      case L.opUnless:
        if (chosen != <i32>load<u16>(operation, L.operationLength)) at += argument;
        break;
      case L.opIf:
        if (chosen == <i32>load<u16>(operation, L.operationLength)) at += argument;
        break;
      default:
        p = writeRest(p, from, hasAddresses);
        if (p == 0) return 0;
        store<u16>(p, 0x0a7d);
        return p + 2;
    }
  }
  return 0;
}

/**
 * Writes the lines of the records from `at` on until something comes that it cannot do.
 *
 * @param start of the set, @param end its end, @param limit of the memory for lines.
 * @returns how it ended; `resultEnd` then says where the last line ends, `resultNext` where the next record begins (after the
 *   one that is to become fields), `resultCount` how many lines there are.
 */
export function run(program: usize, at: usize, start: usize, end: usize, out: usize, limit: usize): i32 {
  const minLength = load<u32>(program, L.programMinLength);
  const flags = load<u16>(program, L.programFlags);
  const varies = (flags & L.isVariable) != 0;
  const room = load<u32>(program, L.programMaxLength) + load<u32>(L.extraRoom);
  const perByte = load<u32>(program, L.programPerByte);
  const hasAddresses = beginAddresses(load<u32>(L.addressControl));
  let p = out;
  let count = 0;
  let status: i32 = L.isDone;
  uptime = load<i64>(L.uptime);
  uptimeIsKnown = load<u8>(L.uptimeIsKnown) != 0;
  while (end - at >= minLength && !isPadding(program, at, start, end)) {
    const next = varies ? locateFields(program, at, end) : at + minLength;
    if (next == 0) {
      status = L.isCut;
      break;
    }
    if (p + room + perByte * (next - at) > limit) {
      status = L.isFull;
      break;
    }
    if ((flags & L.tellsBootTime) != 0 && load<u8>(L.uptimeIsOfHeader) == 0) {
      const told = bootTime(<i32>at);
      if (told == told) {
        uptime = load<i64>(L.exportTime) - <i64>told;
        uptimeIsKnown = true;
      } else {
        uptime = load<i64>(L.uptime);
        uptimeIsKnown = load<u8>(L.uptimeIsKnown) != 0;
      }
    }
    beginRecord();
    added = 0;
    const lineEnd = writeRecord(program, at, varies, hasAddresses, p);
    store<u32>(L.resultRecord, <u32>at);
    at = next;
    if (lineEnd == 0) {
      status = L.isCareful;
      break;
    }
    endRecord();
    if (added != 0) countNumbers();
    p = lineEnd;
    count++;
  }
  endAddresses();
  store<u32>(L.resultEnd, <u32>p);
  store<u32>(L.resultNext, <u32>at);
  store<u32>(L.resultCount, count);
  return status;
}

/** Brings near what is known of the addresses of the next records of a set. @param count at most `maxTouched`. */
export function touch(program: usize, at: usize, count: i32): void {
  if (!beginAddresses(load<u32>(L.addressControl))) return;
  const stride = load<i32>(program, L.programMinLength);
  const source = at + load<u32>(program, L.programSource);
  const sourceLength = load<u32>(program, L.programSourceLength);
  const destination = at + load<u32>(program, L.programDestination);
  const destinationLength = load<u32>(program, L.programDestinationLength);
  let sum = load<u32>(L.touchedSum);
  if (sourceLength != 0) sum += touchSlots(0, source, sourceLength == 16, stride, count);
  if (destinationLength != 0) sum += touchSlots(1, destination, destinationLength == 16, stride, count);
  if (sourceLength != 0) sum += touchTexts(0, count);
  if (destinationLength != 0) sum += touchTexts(1, count);
  store<u32>(L.touchedSum, sum);
}

export { prefetchSamples, writeSamples };
