// Lists of values of one length (RFC 6313, basicList) whose names are known.
import * as L from "../layout";
import { copy, readUint, writeByte, writeHex, writeIpv4, writeIpv6, writeMac, writeUint32, writeUint64 } from "./values";

const comma: u8 = 0x2c;
const quote: u8 = 0x22;
const closingBracket: u8 = 0x5d;

/** The bytes of a list's head before the enterprise number. */
const shortHead = 5;

@inline
function hasHead(shape: usize, at: usize, head: i32): bool {
  if (load<u32>(at) != load<u32>(shape, L.shapeHead) || load<u8>(at, 4) != load<u8>(shape, L.shapeHead + 4)) return false;
  return head == shortHead || load<u32>(at, 5) == load<u32>(shape, L.shapeHead + 5);
}

@inline
function writeValue(p: usize, code: i32, at: usize, length: i32): usize {
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
export function writeList(p: usize, shapes: usize, at: usize, length: i32): usize {
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
      p = writeValue(p, code, at, size);
      if (isQuoted) store<u8>(p++, quote);
    }
    if (isMany) store<u8>(p++, closingBracket);
    return p;
  }
  return 0;
}
