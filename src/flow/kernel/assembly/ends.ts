// Says what a line says of source and destination also of client and server, and what it says of both in one field: as
// src/flow/line/roles/flow-ends.ts does it. Fields of both ends are noted when they are written; only pieces of a line that came as
// they are get a second look.
import { fieldMask, fieldsBytes, fieldShift, maxKeptFields, textHead, tooManyFields } from "../../../record/address-layout";
import * as L from "../layout";
import { fieldEnd } from "./field-end";
import { beginJoins, joinOf, keepJoin, wantedJoins, writeJoins } from "./joins";
import { isAnywhere, keepsFields, notedEnd } from "./noted";
import { copyPair } from "./values";

/** `,"flow.src.` and `,"flow.dst.`, of which the dots are 6 and 10 bytes behind the comma. */
const nameStart: u64 = 0x2e776f6c66222c;
const nameStartMask: u64 = 0xffffffffffffff;
const ofSource: u32 = 0x2e637273;
const ofDestination: u32 = 0x2e747364;
const prefixBytes = 11;
/** `,"` */
const fieldStart: u16 = 0x222c;
/** `,"flow.client.` and `,"flow.server.` */
const endPrefixBytes = 14;

/** Where the other names of the ends are, 0 for none. */
let sourcePrefix: usize = 0;
let destinationPrefix: usize = 0;

/** Writes a field of an end with the other name of the end, and keeps the place of one that is joined. */
@inline
function repeat(p: usize, isSource: bool, join: u32, name: usize, last: usize): usize {
  if (join != 0 && (wantedJoins & (1 << join)) != 0) keepJoin(join, isSource, name, last);
  const prefix = isSource ? sourcePrefix : destinationPrefix;
  if (prefix == 0) return p;
  v128.store(p, v128.load(prefix));
  p += endPrefixBytes;
  const rest = <i32>(last - name);
  copyPair(p, name, rest);
  return p + rest;
}

/** The same for the fields of a piece of the line. */
function repeatPiece(p: usize, from: usize, to: usize): usize {
  const dot = i8x16.splat(0x2e);
  for (let at = from; at < to; at += 32) {
    let found =
      <u32>i8x16.bitmask(v128.and(i8x16.eq(v128.load(at, 6), dot), i8x16.eq(v128.load(at, 10), dot))) |
      (<u32>i8x16.bitmask(v128.and(i8x16.eq(v128.load(at, 22), dot), i8x16.eq(v128.load(at, 26), dot))) << 16);
    for (; found != 0; found &= found - 1) {
      const field = at + ctz(found);
      const end = load<u32>(field, 7);
      const isSource = end == ofSource;
      if (!isSource && end != ofDestination) continue;
      if ((load<u64>(field) & nameStartMask) != nameStart || field >= to) continue;
      const name = field + prefixBytes;
      const join = wantedJoins == 0 ? 0 : joinOf(name);
      if (sourcePrefix == 0 && join == 0) continue;
      p = repeat(p, isSource, join, name, fieldEnd(name, to));
    }
  }
  return p;
}

const ofEnd: u32 = 1;
const codeJoinShift = 1;

/** Keeps in front of the text of an address where its fields begin. @returns how many there are, or that they are too many. */
function lookThrough(text: usize, total: i32, isSource: bool): i32 {
  const codes = text - textHead - fieldsBytes;
  const end = text + total;
  const ofObject = isSource ? ofSource : ofDestination;
  let count: i32 = 0;
  for (let at = text; at < end; count++) {
    if (count == maxKeptFields || at - text > <usize>fieldMask || load<u16>(at) != fieldStart) {
      count = tooManyFields;
      break;
    }
    const isOfEnd = (load<u64>(at) & nameStartMask) == nameStart && load<u32>(at, 7) == ofObject;
    const name = isOfEnd ? at + prefixBytes : at + 2;
    const flags = isOfEnd ? ofEnd | (joinOf(name) << codeJoinShift) : 0;
    store<u16>(codes + 2 * count, <u16>((<u32>(at - text)) | (flags << fieldShift)), 2);
    at = fieldEnd(name, end);
  }
  return count;
}

/** The same for the parts of a text of an address that the line has. */
function repeatText(p: usize, noted: usize, isSource: bool): usize {
  const text = <usize>load<u32>(noted);
  const first = <u32>load<u16>(noted, L.notedEnd);
  const second = <u32>load<u16>(noted, L.notedEnd + 2);
  const total = load<u32>(noted, L.notedTotal);
  let at = text - textHead - fieldsBytes;
  let count = keepsFields() ? <i32>load<u16>(at) : tooManyFields;
  if (count == 0) {
    count = lookThrough(text, total, isSource);
    store<u16>(at, <u16>count);
  }
  if (count == tooManyFields) {
    p = repeatPiece(p, text, text + first);
    return second < total ? repeatPiece(p, text + second, text + total) : p;
  }
  let code = <u32>load<u16>(at, 2);
  for (let i = 1; i <= count; i++) {
    at += 2;
    const next = i < count ? <u32>load<u16>(at, 2) : total;
    const offset = code & fieldMask;
    if ((code & (ofEnd << fieldShift)) != 0 && (offset < first || offset >= second)) {
      const end = i < count ? next & fieldMask : total;
      p = repeat(p, isSource, code >>> (fieldShift + codeJoinShift), text + offset + prefixBytes, text + end);
    }
    code = next;
  }
  return p;
}

/**
 * Adds to the line from `from` to `p` what follows from its fields below `flow.src` and `flow.dst`.
 *
 * @param role which is the client; 0: neither has another name.
 * @param joined a bit for each field to be joined, at the position of its number.
 */
export function completeEnds(p: usize, from: usize, role: i32, joined: u32): usize {
  const to = p;
  beginJoins(joined);
  sourcePrefix = role == 0 ? 0 : L.endPrefixes + (role == L.sourceIsClient ? 0 : 16);
  destinationPrefix = role == 0 ? 0 : L.endPrefixes + (role == L.sourceIsClient ? 16 : 0);
  if (isAnywhere) p = repeatPiece(p, from, to);
  else {
    for (let at: usize = L.notedFields; at < notedEnd; at += L.notedBytes) {
      const mark = load<u32>(at, L.notedMark);
      const first = <usize>load<u32>(at);
      const last = <usize>load<u32>(at, L.notedEnd);
      const isSource = (mark & L.markSource) != 0;
      if ((mark & L.markPiece) == 0) p = repeat(p, isSource, mark >>> L.markJoinShift, first, last);
      else if ((mark & L.markText) == L.markText) p = repeatText(p, at, isSource);
      else p = repeatPiece(p, first, last);
    }
  }
  return wantedJoins == 0 ? p : writeJoins(p);
}
