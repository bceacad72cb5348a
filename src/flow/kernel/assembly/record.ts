import * as L from "../layout.gen";
import {
  comma,
  putText,
  readUint,
  writeByte,
  writeUint32,
  closingBracket,
  copy,
  quote,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeUint64,
  copyLong,
  maxSafe,
  writeMilliseconds,
  writeNtp,
  writeSeconds,
} from "./values";
import {
  forgetNoted,
  note,
  noteAnywhere,
  noteChunk,
  help,
  writeValue,
  clearIcmp,
  clearSlots,
  keep,
  keepNumber,
  keepUint,
  register,
  setPlace,
  setRegister,
  slot,
} from "./memory";
import { readUptime, select, timeOfUptime, writeSteps, writeText } from "./steps";
import { isLineWanted } from "./filter";
import { unwanted, writeRest } from "./rest";
import { noteSeen } from "./flow-ids";

// A stack of MPLS labels (RFC 3032): 20 bits of label, three of experimental use, one at the bottom of the stack.

@inline
function entry(i: i32): u32 {
  return load<u32>(L.labels + 4 * <usize>i);
}

/**
 * Writes a stack, the top first. Exporters have as many fields as they can give and fill those behind the stack with zeros: these
 * are left out.
 *
 * @param pairs place and length of `count` fields, three or four bytes each; the fourth is a time to live.
 */
function writeLabels(p: usize, pairs: usize, count: i32, from: usize, varies: bool): usize {
  let last = 0;
  for (let i = 0; i < count; i++) {
    const place = <usize>load<u16>(pairs + 4 * i);
    const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
    const value = <u32>readUint(at, 3);
    store<u32>(L.labels + 4 * <usize>i, value);
    if (value != 0) last = i + 1;
  }
  if (last == 0) return p;
  p = putText(p, L.labelText);
  for (let i = 0; i < last; i++) p = putComma(writeUint32(p, entry(i) >>> 4));
  p = putText(p - 1, L.labelExpText);
  for (let i = 0; i < last; i++) p = putComma(writeByte(p, (entry(i) >>> 1) & 7));
  p = putText(p - 1, L.labelBottomText);
  for (let i = 0; i < last; i++) {
    const isBottom = (entry(i) & 1) == 1;
    // "true", "fals" and "e"
    store<u32>(p, isBottom ? 0x65757274 : 0x736c6166);
    if (!isBottom) store<u8>(p, 0x65, 4);
    p = putComma(p + (isBottom ? 4 : 5));
  }
  return writeUint32(putText(p - 1, L.topLabelText), entry(0) >>> 4);
}

@inline
function putComma(p: usize): usize {
  store<u8>(p, comma);
  return p + 1;
}

// Lists of values of one length (RFC 6313, basicList) whose names are known.

/** The bytes of a list's head before the enterprise number. */
const shortHead = 5;

@inline
function hasHead(shape: usize, at: usize, head: i32): bool {
  if (load<u32>(at) != load<u32>(shape, L.shapeHead) || load<u8>(at, 4) != load<u8>(shape, L.shapeHead + 4)) return false;
  return head == shortHead || load<u32>(at, 5) == load<u32>(shape, L.shapeHead + 5);
}

@inline
function writeItem(p: usize, code: i32, at: usize, length: i32): usize {
  switch (code) {
    case L.opUint8:
      return writeByte(p, load<u8>(at));
    case L.opUint16:
      return writeUint32(p, bswap(load<u16>(at)));
    case L.opUint32:
      return writeUint32(p, bswap(load<u32>(at)));
    case L.opUint:
      return writeUint64(p, readUint(at, length));
    case L.opIpv4:
      return writeIpv4(p, bswap(load<u32>(at)));
    case L.opIpv6:
      return writeIpv6(p, at);
    case L.opMac:
      return writeMac(p, at);
    default:
      return writeHex(p, at, length);
  }
}

/** Writes a list of one of this many shapes. @returns where it ends, 0 when it has none of them. */
function writeList(p: usize, shapes: usize, at: usize, length: i32): usize {
  if (length < shortHead) return 0;
  const end = shapes + L.maxListShapes * L.listShapeBytes;
  for (let shape = shapes; shape < end; shape += L.listShapeBytes) {
    const text = <i32>load<u16>(shape, L.shapeTextLength);
    if (text == 0) return 0;
    const head = <i32>load<u8>(shape, L.shapeHeadLength);
    if (length < head || !hasHead(shape, at, head)) continue;
    const size = <i32>load<u16>(shape, L.shapeValueLength);
    const count = (length - head) / size;
    const isMany = load<u8>(shape, L.shapeIsMany) != 0;
    if (count == 0 || count > L.maxListValues || count * size != length - head) return 0;
    if (count > 1 != isMany) continue;
    const isQuoted = load<u8>(shape, L.shapeIsQuoted) != 0;
    const code = <i32>load<u8>(shape, L.shapeCode);
    copy(p, shape + L.shapeText, text);
    p += text;
    at += head;
    for (let i = 0; i < count; i++, at += size) {
      if (i > 0) store<u8>(p++, comma);
      if (isQuoted) store<u8>(p++, quote);
      p = writeItem(p, code, at, size);
      if (isQuoted) store<u8>(p++, quote);
    }
    if (isMany) store<u8>(p++, closingBracket);
    return p;
  }
  return 0;
}

// Runs a program, which was made of a template, for one record.

/** What {@link writeRecord} returns for a line without additions, and where there is no room for what a helper writes. */
export const unenriched: usize = 0;
export const noRoom: usize = 1;

/** Where a field begins; in an operation of a program whose records vary, its position in the template is given. */
@inline
function placeOf(operation: usize, from: usize, varies: bool): usize {
  const place = <usize>load<u16>(operation, L.operationPlace);
  return varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
}

@inline
function lengthOf(operation: usize): i32 {
  const length = <i32>load<u16>(operation, L.operationLength);
  if (length != L.variable) return length;
  return load<i32>(L.fieldLengths + 4 * <usize>load<u16>(operation, L.operationPlace));
}

/** Behind the text of an operation. */
@inline
function tailOf(operation: usize): usize {
  return operation + L.operationHead + ((<usize>load<u16>(operation, L.operationText) + 15) & ~15);
}

/** A time, or nothing. @returns where it ends, 0 when there is none. */
function writeTime(p: usize, code: i32, at: usize, length: i32): usize {
  if (code == L.opMicroseconds) return writeNtp(p, at, 6);
  if (code == L.opNanoseconds) return writeNtp(p, at, 9);
  const value = code == L.opUptime ? readUptime(at, length) : readUint(at, length);
  if (value > maxSafe) return 0;
  if (code == L.opSeconds) return writeSeconds(p, <i64>value);
  return writeMilliseconds(p, code == L.opUptime ? timeOfUptime(value) : <i64>value);
}

/** A signed number of one to eight bytes. */
function writeInt(p: usize, at: usize, length: i32): usize {
  const unused = 64 - 8 * length;
  const value = (<i64>(readUint(at, length) << unused)) >> unused;
  if (value >= 0) return writeUint64(p, value);
  store<u8>(p, 0x2d);
  return writeUint64(p + 1, <u64>0 - <u64>value);
}

/** The id of an application, of two to nine bytes. */
function writeApplication(p: usize, at: usize, length: i32): usize {
  const engine = <u32>load<u8>(at);
  store<u8>(p, 0x22);
  p = writeByte(p + 1, engine);
  store<u8>(p++, 0x3a);
  at++;
  length--;
  if (engine == L.vendorsEngine && length > 4) {
    p = writeUint32(p, bswap(load<u32>(at)));
    store<u8>(p++, 0x3a);
    at += 4;
    length -= 4;
  }
  p = writeUint64(p, readUint(at, length));
  store<u8>(p, 0x22);
  return p + 1;
}

/** Whether an exporter says of a direction that it saw nothing of it. */
function isEmptyFlow(): bool {
  const octets = slot(L.octetsSlot);
  const packets = slot(L.packetsSlot);
  if (octets != 0 && packets != 0) return false;
  return (octets == 0 || octets == L.isAbsent) && (packets == 0 || packets == L.isAbsent);
}

/** @returns where the line ends, `start` when there is none, {@link unenriched} or {@link noRoom}. */
export function writeRecord(program: usize, from: usize, varies: bool, hasAddresses: bool, start: usize): usize {
  const head = load<i32>(L.headLength);
  copyLong(start, L.headText, head);
  let p = start + head;
  if ((load<u16>(program, L.programFlags) & L.isSteady) != 0) clearIcmp();
  else clearSlots();
  store<u64>(L.takenNames, 0);
  forgetNoted();
  const fieldsAt = p;
  let at = program + L.programOperations;
  while (true) {
    const operation = at;
    const kind = <i32>load<u8>(operation, L.operationCode);
    const code = kind & ~L.isNoted;
    const number = <i32>load<u8>(operation, L.operationSlot);
    const place = placeOf(operation, from, varies);
    const text = <i32>load<u16>(operation, L.operationText);
    const delta = <usize>load<u16>(operation, L.operationDelta);
    const argument = load<u32>(operation, L.operationArgument);
    copy(p, operation + L.operationHead, text);
    p += text;
    const valueAt = p;
    at += load<u16>(operation, L.operationSize);
    const noteAt = at - L.noteBytes;
    switch (code) {
      case L.opText:
        break;
      case L.opUint8: {
        const value = <u32>load<u8>(place + delta);
        keepNumber(number, value, p);
        p = writeByte(p, value);
        break;
      }
      case L.opUint16: {
        const value = <u32>bswap(load<u16>(place + delta));
        keepNumber(number, value, p);
        p = writeUint32(p, value);
        break;
      }
      case L.opUint32: {
        const value = bswap(load<u32>(place + delta));
        keepNumber(number, value, p);
        p = writeUint32(p, value);
        break;
      }
      case L.opUint: {
        const value = readUint(place + delta, lengthOf(operation));
        keepUint(number, value);
        setPlace(number, p);
        p = writeUint64(p, value);
        break;
      }
      case L.opTcpBits: {
        const value = <u32>readUint(place, lengthOf(operation)) & L.tcpFlagBits;
        keepNumber(number, value, p);
        p = writeUint32(p, value);
        break;
      }
      case L.opInt:
        p = writeInt(p, place, lengthOf(operation));
        break;
      case L.opApplication:
        p = writeApplication(p, place, lengthOf(operation));
        break;
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
        p = writeHex(p, place, lengthOf(operation));
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
      case L.opString:
        keep(number, L.isOther);
        p = writeText(p, place, lengthOf(operation));
        break;
      case L.opSeconds:
      case L.opMilliseconds:
      case L.opMicroseconds:
      case L.opNanoseconds:
      case L.opUptime: {
        const end = writeTime(p, code, place, lengthOf(operation));
        if (end != 0) {
          p = end;
          at += delta << 4;
        } else p -= argument;
        break;
      }
      case L.opValue: {
        const length = lengthOf(operation);
        const end = length == 0 ? 0 : <usize>writeValue(argument, <i32>p, <i32>place, length, number);
        setRegister(L.outcome, end != 0 ? 1 : length == 0 ? 2 : 0);
        p = end != 0 ? end : p - delta;
        break;
      }
      case L.opList: {
        const shapes = tailOf(operation);
        let end = writeList(p, shapes, place, lengthOf(operation));
        if (end == 0) {
          store<u32>(L.listShapes, <u32>shapes);
          const helped = help(argument, <i32>p, <i32>from);
          if (helped < 0) return noRoom;
          end = helped;
        }
        noteChunk(p, end);
        p = end;
        break;
      }
      case L.opHelper: {
        const end = help(argument, <i32>p, <i32>from);
        if (end < 0) return noRoom;
        noteChunk(p, end);
        p = writeSteps(end, L.stepList, load<u32>(L.listedSteps));
        break;
      }
      case L.opSelect:
        setRegister(L.selected, select(tailOf(operation), load<u16>(operation, L.operationLength), from, varies));
        break;
      case L.opFits: {
        const length = load<u32>(L.fieldLengths + 4 * <usize>load<u16>(operation, L.operationPlace));
        const isFit = length >= load<u16>(operation, L.operationLength) && length <= argument;
        setRegister(L.fits, length == 0 ? 2 : isFit ? 1 : 0);
        break;
      }
      case L.opSkip:
        at += argument;
        break;
      case L.opUnless:
        if (register(<i32>delta) != <i32>load<u16>(operation, L.operationLength)) at += argument;
        break;
      case L.opIf:
        if (register(<i32>delta) == <i32>load<u16>(operation, L.operationLength)) at += argument;
        break;
      case L.opSet:
        setRegister(<i32>delta, load<u16>(operation, L.operationLength));
        break;
      case L.opTake:
        store<u64>(L.takenNames, load<u64>(L.takenNames) | ((<u64>1) << argument));
        break;
      case L.opOther:
        keep(number, L.isOther);
        break;
      case L.opPlace:
        keep(number, (<i64>lengthOf(operation) << 32) | <i64>place);
        break;
      case L.opAnywhere:
        noteAnywhere();
        break;
      case L.opLabels:
        p = writeLabels(p, tailOf(operation), load<u16>(operation, L.operationLength), from, varies);
        break;
      case L.opReverse:
        if (p == fieldsAt || isEmptyFlow()) return start;
        break;
      default:
        p = writeRest(p, hasAddresses, fieldsAt, load<i32>(program, L.programBegan));
        if (p == unwanted) return start;
        if (p == 0) {
          noteSeen();
          return unenriched;
        }
        store<u16>(p, 0x0a7d);
        if (!isLineWanted(start, p + 2)) return start;
        noteSeen();
        return p + 2;
    }
    // Text before a value that was none has been taken back.
    if ((kind & L.isNoted) != 0 && p > valueAt) note(load<u16>(noteAt), valueAt - load<u16>(noteAt, 2), p);
  }
  return 0;
}
