import type { ExceptionType, ValueType, VarBind } from "../var-bind.ts";
import {
  copyBytes,
  copyOctets,
  enter,
  expectEnd,
  peekTag,
  readHeader,
  readInteger32,
  readModulo32,
  readOctets,
  readOid,
  readUnsigned32,
  readUnsigned64,
  type Cursor,
} from "./ber-reader.ts";
import {
  sizeOf,
  writeHeader,
  writeInteger,
  writeOctets,
  writeOid,
  writeRaw,
  writeUnsigned64,
  type Writer,
} from "./ber-writer.ts";
import { DecodeError, type ValueFault } from "./decode-error.ts";
import { tags } from "./tags.ts";

const valueTags: Readonly<Record<Exclude<ValueType, "Unknown" | "Malformed">, number>> = {
  Integer32: tags.integer,
  OctetString: tags.octetString,
  Null: tags.null,
  ObjectIdentifier: tags.objectIdentifier,
  IpAddress: 0x40,
  Counter32: 0x41,
  Gauge32: 0x42,
  TimeTicks: 0x43,
  Opaque: 0x44,
  Counter64: 0x46,
  noSuchObject: 0x80,
  noSuchInstance: 0x81,
  endOfMibView: 0x82,
};

/**
 * Reads a VarBindList (RFC 3416 section 3). A value that cannot be read is `Malformed` and costs no other one: the length
 * of its varbind says where the next begins.
 *
 * @param faults takes what is odd about values.
 */
export function readVarBinds(cursor: Cursor, faults: ValueFault[]): VarBind[] {
  const list = enter(cursor, tags.sequence);
  const varbinds: VarBind[] = [];
  while (list.at < list.end) varbinds.push(readVarBind(enter(list, tags.sequence), faults));
  return varbinds;
}

function readVarBind(cursor: Cursor, faults: ValueFault[]): VarBind {
  const oid = readOid(cursor, tags.objectIdentifier);
  try {
    const varbind = readValue(cursor, oid, faults);
    expectEnd(cursor);
    return varbind;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    faults.push(error.fault);
    return { oid, type: "Malformed", value: null };
  }
}

function readValue(cursor: Cursor, oid: VarBind["oid"], faults: ValueFault[]): VarBind {
  const tag = peekTag(cursor);
  switch (tag) {
    case 0x02:
      return { oid, type: "Integer32", value: readInteger32(cursor, tag) };
    case 0x04:
      return { oid, type: "OctetString", value: copyOctets(cursor, tag) };
    case 0x05:
      return { oid, type: "Null", value: readNothing(cursor, tag) };
    case 0x06:
      return { oid, type: "ObjectIdentifier", value: readOid(cursor, tag) };
    case 0x40:
      return { oid, type: "IpAddress", value: copyOctets(cursor, tag) };
    case 0x41:
      return { oid, type: "Counter32", value: readModulo32(cursor, tag, faults) };
    case 0x42:
    case 0x47: // UInteger32 of RFC 1442, which old agents still send.
      return { oid, type: "Gauge32", value: readUnsigned32(cursor, tag) };
    case 0x43:
      return { oid, type: "TimeTicks", value: readModulo32(cursor, tag, faults) };
    case 0x44:
      return { oid, type: "Opaque", value: copyOctets(cursor, tag) };
    case 0x46:
      return { oid, type: "Counter64", value: readUnsigned64(cursor, tag) };
    case 0x80:
    case 0x81:
    case 0x82:
      return { oid, type: exceptions[tag - 0x80] as ExceptionType, value: readNothing(cursor, tag) };
    default:
      return { oid, type: "Unknown", value: readUnknown(cursor, tag) };
  }
}

const exceptions: readonly ExceptionType[] = ["noSuchObject", "noSuchInstance", "endOfMibView"];

/** Content where none belongs is passed over, as net-snmp does. */
function readNothing(cursor: Cursor, tag: number): null {
  cursor.at = readHeader(cursor, tag);
  return null;
}

/** A primitive element of a one-octet tag can be stepped over; constructed ones and longer tags are refused. */
function readUnknown(cursor: Cursor, tag: number): Uint8Array {
  if ((tag & 0x20) !== 0 || (tag & 0x1f) === 0x1f) throw new DecodeError(`value with tag 0x${tag.toString(16)}`, "tag");
  const start = cursor.at;
  readOctets(cursor, tag);
  return copyBytes(cursor.bytes.subarray(start, cursor.at));
}

/** Writes a VarBindList. */
export function writeVarBinds(writer: Writer, varbinds: readonly VarBind[]): void {
  const mark = sizeOf(writer);
  for (let i = varbinds.length - 1; i >= 0; i--) writeVarBind(writer, varbinds[i] as VarBind);
  writeHeader(writer, tags.sequence, mark);
}

function writeVarBind(writer: Writer, varbind: VarBind): void {
  const mark = sizeOf(writer);
  switch (varbind.type) {
    case "Integer32":
    case "Counter32":
    case "Gauge32":
    case "TimeTicks":
      writeInteger(writer, valueTags[varbind.type], varbind.value);
      break;
    case "Counter64":
      writeUnsigned64(writer, valueTags[varbind.type], varbind.value);
      break;
    case "OctetString":
    case "IpAddress":
    case "Opaque":
      writeOctets(writer, valueTags[varbind.type], varbind.value);
      break;
    case "ObjectIdentifier":
      writeOid(writer, valueTags[varbind.type], varbind.value);
      break;
    case "Unknown":
      writeRaw(writer, varbind.value);
      break;
    case "Malformed":
      writeHeader(writer, valueTags.Null, mark);
      break;
    case "Null":
    case "noSuchObject":
    case "noSuchInstance":
    case "endOfMibView":
      writeHeader(writer, valueTags[varbind.type], mark);
      break;
  }
  writeOid(writer, tags.objectIdentifier, varbind.oid);
  writeHeader(writer, tags.sequence, mark);
}
