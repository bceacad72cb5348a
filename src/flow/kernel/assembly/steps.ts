// Writes steps: pieces of a line, each with a number or the place of its value.
import * as L from "../layout";
import { note } from "./noted";
import { keep, keepNumber } from "./slots";
import { writeText } from "./texts";
import {
  copy,
  copyLong,
  copyPair,
  readUint,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeSmall,
  writeUint32,
  writeUint64,
} from "./values";

const quote: u8 = 0x22;
const comma: u8 = 0x2c;
const colon: u8 = 0x3a;
const blank: u8 = 0x20;

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

/** Pieces of bytes in hex, behind the text before them. */
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
