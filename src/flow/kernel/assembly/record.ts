// Runs a program, which was made of a template, for one record.
import * as L from "../layout";
import { forgetNoted, note, noteAnywhere, notePiece } from "./noted";
import { maxSafe, readUptime, select, timeOfUptime } from "./fields";
import { isLineWanted } from "./filter";
import { help, writeValue } from "./imports";
import { writeLabels } from "./labels";
import { writeList } from "./lists";
import { unwanted, writeRest } from "./rest";
import { noteSeen } from "./seen-flows";
import { clearIcmp, clearSlots, keep, keepNumber, keepUint, register, setPlace, setRegister, slot } from "./slots";
import { writeSteps } from "./steps";
import { writeText } from "./texts";
import {
  copy,
  copyLong,
  readUint,
  writeByte,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeMilliseconds,
  writeNtp,
  writeSeconds,
  writeUint32,
  writeUint64,
} from "./values";

/** What {@link writeRecord} returns for a line without additions, and where there is no room for what a helper writes. */
export const bare: usize = 0;
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

/** @returns where the line ends, `start` when there is none, {@link bare} or {@link noRoom}. */
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
        notePiece(p, end);
        p = end;
        break;
      }
      case L.opHelper: {
        const end = help(argument, <i32>p, <i32>from);
        if (end < 0) return noRoom;
        notePiece(p, end);
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
          return bare;
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
