import * as L from "../layout.gen";
import { hexPairTable } from "../layout.gen";
import {
  quote,
  backslash,
  maxSafe,
  readUint,
  secondOfNtp,
  blank,
  colon,
  comma,
  copy,
  copyLong,
  copyPair,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeSmall,
  writeUint32,
  writeUint64,
} from "./values";
import { hasValue, note, keep, keepNumber } from "./memory";

// Text in JSON, as src/flow/elements/mapping/convert-type.ts reads it.

/** Whether all bytes of a range are UTF-8 (RFC 3629): the shortest forms, no surrogates, nothing above U+10FFFF. */
function isUtf8(at: usize, end: usize): bool {
  while (at < end) {
    const first = load<u8>(at);
    if (first < 0x80) {
      at++;
      continue;
    }
    if (first < 0xc2 || first > 0xf4) return false;
    const length: usize = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (at + length > end) return false;
    const second = load<u8>(at, 1);
    const least: u8 = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const most: u8 = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (let i: usize = 2; i < length; i++) if ((load<u8>(at + i) & 0xc0) != 0x80) return false;
    at += length;
  }
  return true;
}

/** A character that JSON does not have as it is. */
function writeEscape(p: usize, character: u8): usize {
  store<u8>(p, backslash);
  let letter = character;
  if (character == 8) letter = 0x62;
  else if (character == 9) letter = 0x74;
  else if (character == 10) letter = 0x6e;
  else if (character == 12) letter = 0x66;
  else if (character == 13) letter = 0x72;
  else if (character < 0x20) {
    // "u00"
    store<u32>(p, 0x303075, 1);
    store<u16>(p, load<u16>(hexPairTable + (<usize>character << 1)), 4);
    return p + 6;
  }
  store<u8>(p, letter, 1);
  return p + 2;
}

/** Text without the NULs that pad it, and the quote behind it. Bytes that are not UTF-8 are characters of Latin-1. */
export function writeText(p: usize, at: usize, length: i32): usize {
  let end = at + length;
  while (end > at && load<u8>(end - 1) == 0) end--;
  /** -1: that is not known yet. */
  let utf8 = -1;
  while (at < end) {
    const chunk = v128.load(at);
    v128.store(p, chunk);
    // As signed bytes, those from 0x80 on are negative.
    const special = v128.or(
      i8x16.lt_s(chunk, i8x16.splat(0x20)),
      v128.or(i8x16.eq(chunk, i8x16.splat(quote)), i8x16.eq(chunk, i8x16.splat(backslash))),
    );
    const plain = min<usize>(ctz(i8x16.bitmask(special) | 0x10000), end - at);
    p += plain;
    at += plain;
    if (plain == 16 || at == end) continue;
    let character = load<u8>(at);
    if (character < 0x80) {
      p = writeEscape(p, character);
      at++;
      continue;
    }
    if (utf8 < 0) utf8 = isUtf8(at, end) ? 1 : 0;
    for (; character >= 0x80 && at < end; character = load<u8>(++at)) {
      if (utf8 == 0) {
        store<u8>(p++, 0xc0 | (character >> 6));
        character &= 0xbf;
      }
      store<u8>(p++, character);
    }
  }
  store<u8>(p, quote);
  return p + 1;
}

// Where the fields of a record are, and which of several counts.

/** The exporter's uptime for the record under way. */
let uptime: i64 = 0;
let uptimeIsKnown: bool = false;

/** Finds the fields of a record. @returns where the next one begins, 0 when this one does not fit. */
export function locateFields(program: usize, at: usize, end: usize): usize {
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
export function isPadding(program: usize, at: usize, start: usize, end: usize): bool {
  if (load<u32>(program, L.programMinLength) >= 4 || end - at >= 4 || at == start) return false;
  if ((load<u16>(program, L.programFlags) & L.mayBePadded) == 0) return false;
  for (; at < end; at++) if (load<u8>(at) != 0) return false;
  return true;
}

/** Takes what the header or options say of the exporter's uptime. */
export function beginUptime(): void {
  uptime = load<i64>(L.uptime);
  uptimeIsKnown = load<u8>(L.uptimeIsKnown) != 0;
}

/** Takes the exporter's start time of a record, where its template has it and the header has no uptime. */
export function readBootTime(program: usize, from: usize, varies: bool): void {
  let length = load<i32>(program, L.programBootTimeLength);
  if (length == 0 || load<u8>(L.uptimeIsOfHeader) != 0) return;
  beginUptime();
  const place = <usize>load<u32>(program, L.programBootTime);
  const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
  if (length == L.variable) length = load<i32>(L.fieldLengths + 4 * place);
  if (length == 0 || length > 8) return;
  const start = readUint(at, length);
  if (start > maxSafe) return;
  uptime = load<i64>(L.exportTime) - <i64>start;
  uptimeIsKnown = true;
}

/** The time of an uptime in milliseconds, since the epoch; -1 when it cannot be known. */
export function timeOfUptime(value: u64): i64 {
  if (!uptimeIsKnown) return -1;
  return load<i64>(L.exportTime) - <i64>(<i32>(uptime - <i64>value));
}

/** An uptime as its field has it. In eight bytes it is in the first four where the others are zero. */
@inline
export function readUptime(at: usize, length: i32): u64 {
  return length == 8 && load<u32>(at, 4) == 0 ? <u64>bswap(load<u32>(at)) : readUint(at, length);
}

/** Whether a field that could win a selection has a value. */
function hasAnyValue(candidate: usize, at: usize, length: i32): bool {
  const kind = load<u16>(candidate, L.candidateKind);
  if (kind == L.byHelper) return hasValue(load<i32>(candidate, L.candidateHelper), <i32>at, length) != 0;
  if (length < <i32>load<u16>(candidate, L.candidateLeast)) return false;
  if (length > <i32>load<u16>(candidate, L.candidateMost)) return false;
  if (kind == L.byLength) return true;
  if (kind == L.byMicroseconds) return secondOfNtp(at, 6) >= 0;
  if (kind == L.byNanoseconds) return secondOfNtp(at, 9) >= 0;
  const value = kind == L.byUptime ? readUptime(at, length) : readUint(at, length);
  if (value > maxSafe) return false;
  if (kind == L.bySeconds) return value <= <u64>L.lastSecond;
  const time = kind == L.byUptime ? <u64>timeOfUptime(value) : value;
  return time / 1000 <= <u64>L.lastSecond;
}

/** Which of several fields is not all zero bytes and has a value; the first when none has. */
export function select(candidates: usize, count: i32, from: usize, varies: bool): i32 {
  for (let i = 0; i < count; i++, candidates += L.candidateBytes) {
    const place = <usize>load<u16>(candidates, L.candidatePlace);
    const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
    let length = <i32>load<u16>(candidates, L.candidateLength);
    if (length == L.variable) length = load<i32>(L.fieldLengths + 4 * place);
    for (let j = 0; j < length; j++) {
      if (load<u8>(at + j) == 0) continue;
      if (hasAnyValue(candidates, at, length)) return i;
      break;
    }
  }
  return 0;
}

// Writes steps: chunks of a line, each with a number or the place of its value.

@inline
function word(at: usize): u32 {
  return bswap(load<u32>(at));
}

@inline
function writeCharacter(p: usize, character: u8): usize {
  store<u8>(p, character);
  return p + 1;
}

/** A count and this many numbers: labels are the upper twenty bits, tags the lower twelve, communities as RFC 1997 has them. */
function writeNumbers(p: usize, at: usize, kind: u32): usize {
  const count = word(at);
  for (let i: u32 = 0; i < count; i++) {
    at += 4;
    if (i > 0) p = writeCharacter(p, comma);
    const value = word(at);
    if (kind == L.listOfLabels) p = writeUint32(p, value >>> 12);
    else if (kind == L.listOfTags) p = writeUint32(p, value & 0xfff);
    else {
      p = writeUint32(writeCharacter(p, quote), value >>> 16);
      p = writeUint32(writeCharacter(p, colon), value & 0xffff);
      p = writeCharacter(p, quote);
    }
  }
  return writeCharacter(p, 0x5d);
}

/** The entries of a label stack (RFC 3032): their labels, or the three bits behind. */
function writeStack(p: usize, value: u32, kind: u32): usize {
  const count = value >>> 24;
  const at: usize = value & 0xffffff;
  for (let i: u32 = 0; i < count; i++) {
    if (i > 0) p = writeCharacter(p, comma);
    const entry = word(at + 4 * i);
    p = writeUint32(p, kind == L.stackOfLabels ? entry >>> 12 : (entry >>> 9) & 7);
  }
  return writeCharacter(p, 0x5d);
}

/** Segments of an AS path: a type, a count and this many numbers; sets (type 1) in braces. */
function writePath(p: usize, at: usize): usize {
  const segments = word(at);
  at += 4;
  for (let i: u32 = 0; i < segments; i++) {
    const isSet = word(at) == 1;
    const count = word(at + 4);
    at += 8;
    if (i > 0) p = writeCharacter(p, blank);
    if (isSet) p = writeCharacter(p, 0x7b);
    for (let j: u32 = 0; j < count; j++, at += 4) {
      if (j > 0) p = writeCharacter(p, isSet ? comma : blank);
      p = writeUint32(p, word(at));
    }
    if (isSet) p = writeCharacter(p, 0x7d);
  }
  return writeCharacter(p, quote);
}

/** Chunks of bytes in hex, behind the text before them. */
function writeHexes(p: usize, at: usize): usize {
  const count = load<u32>(at);
  const length = load<i32>(at, 4);
  const text = at + 8 + 8 * count;
  copyLong(p, text, length);
  p += length;
  for (let i: u32 = 0; i < count; i++) {
    at += 8;
    if (i > 0) p = writeCharacter(p, comma);
    p = writeHex(writeCharacter(p, quote), load<u32>(at), load<i32>(at, 4));
    p = writeCharacter(p, quote);
  }
  return writeCharacter(p, 0x5d);
}

@inline
function half(at: usize): u32 {
  return <u32>bswap(load<u16>(at));
}

/** Writes what a table has for a small number. */
@inline
function writeEntry(p: usize, step: usize, slot: u32, value: u32): usize {
  keep(slot, value);
  keep(load<u16>(step, L.operationLength), value >>> 2);
  const entry: usize = load<u32>(step, L.operationArgument) + 8 * value;
  const length = load<i32>(entry, 4);
  copy(p, load<u32>(entry), length);
  return p + length;
}

/**
 * Writes what a step is about behind its text. @param at a number, or the place of a value. @returns where it ends; 0 where there is none.
 */
@inline
function writeValue(p: usize, step: usize, at: usize): usize {
  const slot = <u32>load<u8>(step, L.operationSlot);
  let value: u32 = 0;
  switch (<i32>load<u8>(step, L.operationCode)) {
    case L.stepFixed:
      keep(slot, at);
      return p;
    case L.stepNumber:
      value = <u32>at;
      break;
    case L.stepUint8:
      value = load<u8>(at);
      break;
    case L.stepUint16:
      value = half(at);
      break;
    case L.stepUint24:
      value = (<u32>load<u8>(at) << 16) | half(at + 1);
      break;
    case L.stepUint32:
      value = word(at);
      break;
    case L.stepKnown32:
      value = word(at);
      if (value == u32.MAX_VALUE) return 0;
      break;
    case L.stepVlan:
      value = half(at) & 0xfff;
      break;
    case L.stepPriority:
      value = half(at) >>> 13;
      break;
    case L.stepEntry:
      return writeEntry(p, step, slot, <u32>at);
    case L.stepEntry8:
      return writeEntry(p, step, slot, load<u8>(at));
    case L.stepEntryOfFlags:
      return writeEntry(p, step, slot, half(at) & 0x1ff);
    case L.stepIpv4:
      keep(slot, (4 << 32) | <i64>at);
      return writeCharacter(writeIpv4(p, word(at)), quote);
    case L.stepIpv6:
      keep(slot, (16 << 32) | <i64>at);
      return writeCharacter(writeIpv6(p, at), quote);
    case L.stepMac:
      return writeCharacter(writeMac(p, at), quote);
    case L.stepUint64:
      return writeUint64(p, readUint(at, 8));
    case L.stepText:
      return writeText(p, at + 4, word(at));
    case L.stepNumbers:
      return writeNumbers(p, at, load<u32>(step, L.operationArgument));
    case L.stepStack:
      return writeStack(p, <u32>at, load<u32>(step, L.operationArgument));
    case L.stepQuoted:
      return writeCharacter(writeUint32(p, <u32>at), quote);
    case L.stepHexes:
      return writeHexes(p, at);
    case L.stepPath:
      return writePath(p, at);
    default: {
      const length = load<i32>(at);
      copy(p, at + 4, length);
      return p + length;
    }
  }
  keepNumber(slot, value, p);
  return writeSmall(p, value);
}

/** Writes a list of steps: the places of each, which may be several, and of its value. */
export function writeSteps(p: usize, at: usize, end: usize): usize {
  let step: usize = 0;
  let value: usize = 0;
  let size: usize = 0;
  while (size != 0 || at < end) {
    if (size == 0) {
      step = load<u32>(at);
      value = load<u32>(at, 4);
      at += 8;
    }
    const text = <i32>load<u16>(step, L.operationText);
    copyPair(p, step + L.operationHead, text);
    const from = p + text;
    const valueEnd = writeValue(from, step, value + load<u16>(step, L.operationPlace));
    if (valueEnd != 0) {
      p = valueEnd;
      const mark = <u32>load<u8>(step, L.stepMark);
      if (mark != 0) note(mark, from - load<u16>(step, L.stepName), p);
    }
    size = load<u16>(step, L.operationSize);
    step += size;
  }
  return p;
}
