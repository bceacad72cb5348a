import type { ExceptionType, ValueType, VarBind } from "./ber.ts";
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
  sizeOf,
  writeHeader,
  writeInteger,
  writeOctets,
  writeOid,
  writeRaw,
  writeUnsigned64,
  DecodeError,
  type ValueFault,
  tags,
  cursorOver,
  Writer,
  written,
} from "./ber.ts";

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
 * Reads a VarBindList (RFC 3416 section 3). An unreadable value becomes `Malformed` and does not affect the others: the length of its
 * varbind shows where the next begins.
 *
 * @param faults takes the oddities of values.
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

/** Reads a value without content. Content is skipped, as net-snmp does. */
function readNothing(cursor: Cursor, tag: number): null {
  cursor.at = readHeader(cursor, tag);
  return null;
}

/** Reads an unknown element. Primitive ones with a one-octet tag can be skipped; constructed ones and longer tags are refused. */
function readUnknown(cursor: Cursor, tag: number): Uint8Array {
  if ((tag & 0x20) !== 0 || (tag & 0x1f) === 0x1f) throw new DecodeError(`value with tag 0x${tag.toString(16)}`, "tag");
  const start = cursor.at;
  readOctets(cursor, tag);
  return copyBytes(cursor.bytes.subarray(start, cursor.at));
}

/** Writes a VarBindList. */
function writeVarBinds(writer: Writer, varbinds: readonly VarBind[]): void {
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

const pduTags = {
  get: 0xa0,
  getNext: 0xa1,
  response: 0xa2,
  set: 0xa3,
  getBulk: 0xa5,
  inform: 0xa6,
  trap: 0xa7,
  report: 0xa8,
} as const;

export type PduType = keyof typeof pduTags;

const pduTypes = new Map(Object.entries(pduTags).map(([type, tag]) => [tag as number, type as PduType]));

/**
 * A protocol data unit (RFC 3416 section 3; version 1 has the same structure). In a getBulk the two error fields contain non-repeaters
 * and max-repetitions.
 */
export interface Pdu {
  readonly type: PduType;
  readonly requestId: number;
  readonly errorStatus: number;
  readonly errorIndex: number;
  readonly varbinds: readonly VarBind[];
  /** The faults of the values of a PDU that was read; undefined for none. */
  readonly faults?: readonly ValueFault[];
}

/** The front of a PDU, which is enough to find its request; {@link readPduRest} reads the rest. */
interface PduFront {
  readonly type: PduType;
  readonly requestId: number;
  readonly rest: Cursor;
}

export function readPduFront(cursor: Cursor): PduFront {
  const tag = peekTag(cursor);
  const type = pduTypes.get(tag);
  if (type === undefined) throw new DecodeError(`PDU with tag 0x${tag.toString(16)}`);
  const rest = enter(cursor, tag);
  return { type, requestId: readInteger32(rest, tags.integer), rest };
}

export function readPduRest({ type, requestId, rest }: PduFront): Pdu {
  const errorStatus = readInteger32(rest, tags.integer);
  const errorIndex = readInteger32(rest, tags.integer);
  const faults: ValueFault[] = [];
  const varbinds = readVarBinds(rest, faults);
  expectEnd(rest);
  return { type, requestId, errorStatus, errorIndex, varbinds, ...(faults.length > 0 && { faults }) };
}

function writePdu(writer: Writer, pdu: Pdu): void {
  const mark = sizeOf(writer);
  writeVarBinds(writer, pdu.varbinds);
  writeInteger(writer, tags.integer, pdu.errorIndex);
  writeInteger(writer, tags.integer, pdu.errorStatus);
  writeInteger(writer, tags.integer, pdu.requestId);
  writeHeader(writer, pduTags[pdu.type], mark);
}

/** The values of msgVersion in messages. */
export const wireVersions = { "1": 0, "2c": 1, "3": 3 } as const;

/** A message of version 1 (RFC 1157) or 2c (RFC 1901), read up to its request id. */
export interface CommunityMessage {
  readonly version: 0 | 1;
  /** The request id. */
  readonly id: number;
  /** A view of the datagram. */
  readonly community: Uint8Array;
  readonly pdu: PduFront;
}

/** A message of version 3 with the user-based security model (RFC 3412 section 6, RFC 3414 section 2.4). */
export interface UsmMessage {
  readonly version: 3;
  /** The msgID. */
  readonly id: number;
  readonly maxSize: number;
  readonly isAuthenticated: boolean;
  readonly isPrivate: boolean;
  readonly isReportable: boolean;
  readonly engineId: Uint8Array;
  readonly boots: number;
  readonly time: number;
  readonly user: Uint8Array;
  /** The position of the authentication parameters in the datagram. */
  readonly mac: { readonly at: number; readonly length: number };
  readonly privacyParameters: Uint8Array;
  /** The scoped PDU: its element, or the cipher text if `isPrivate`. */
  readonly data: Uint8Array;
}

export type Message = CommunityMessage | UsmMessage;

/** Reads a datagram up to the id of its request; values are decoded later. The message must fill the datagram. */
export function decodeMessage(datagram: Uint8Array): Message {
  const outer = cursorOver(datagram);
  const cursor = enter(outer, tags.sequence);
  expectEnd(outer);
  const version = readInteger32(cursor, tags.integer);
  if (version === 0 || version === 1) {
    const community = readOctets(cursor, tags.octetString);
    const pdu = readPduFront(cursor);
    expectEnd(cursor);
    return { version, id: pdu.requestId, community, pdu };
  }
  if (version === 3) return readUsmMessage(cursor);
  throw new DecodeError(`version ${version}`);
}

function readUsmMessage(cursor: Cursor): UsmMessage {
  const header = enter(cursor, tags.sequence);
  const id = readInteger32(header, tags.integer);
  const maxSize = readInteger32(header, tags.integer);
  const flags = readOctets(header, tags.octetString);
  const securityModel = readInteger32(header, tags.integer);
  expectEnd(header);
  if (flags.length !== 1) throw new DecodeError("message flags");
  if (securityModel !== usmSecurityModel) throw new DecodeError(`security model ${securityModel}`);
  const parameters = enter(cursor, tags.octetString);
  const security = enter(parameters, tags.sequence);
  expectEnd(parameters);
  const engineId = readOctets(security, tags.octetString);
  const boots = readNatural(security);
  const time = readNatural(security);
  const user = readOctets(security, tags.octetString);
  const macEnd = readHeader(security, tags.octetString);
  const mac = { at: security.at, length: macEnd - security.at };
  security.at = macEnd;
  const privacyParameters = readOctets(security, tags.octetString);
  expectEnd(security);
  const bits = flags[0] as number;
  const isPrivate = (bits & flagBits.privacy) !== 0;
  const dataStart = cursor.at;
  const content = readOctets(cursor, isPrivate ? tags.octetString : tags.sequence);
  const data = isPrivate ? content : cursor.bytes.subarray(dataStart, cursor.at);
  expectEnd(cursor);
  return {
    version: 3,
    id,
    maxSize,
    isAuthenticated: (bits & flagBits.authentication) !== 0,
    isPrivate,
    isReportable: (bits & flagBits.reportable) !== 0,
    engineId,
    boots,
    time,
    user,
    mac,
    privacyParameters,
    data,
  };
}

const usmSecurityModel = 3;
const flagBits = { authentication: 1, privacy: 2, reportable: 4 } as const;

function readNatural(cursor: Cursor): number {
  const value = readInteger32(cursor, tags.integer);
  if (value < 0) throw new DecodeError("negative where unsigned");
  return value;
}

export function encodeCommunityMessage(version: 0 | 1, community: Uint8Array, pdu: Pdu): Uint8Array {
  const writer = new Writer();
  writePdu(writer, pdu);
  writeOctets(writer, tags.octetString, community);
  writeInteger(writer, tags.integer, version);
  writeHeader(writer, tags.sequence, 0);
  return written(writer);
}

/** The parts of a version 3 message: the fields of {@link UsmMessage}, with the length to reserve in place of the MAC. */
interface UsmParts extends Omit<UsmMessage, "version" | "mac"> {
  readonly macLength: number;
}

/** Encodes a message with zeros in place of its MAC. @returns the message and the position of the MAC. */
export function encodeUsmMessage(parts: UsmParts): { readonly bytes: Uint8Array; readonly macAt: number } {
  const writer = new Writer();
  if (parts.isPrivate) writeOctets(writer, tags.octetString, parts.data);
  else writeRaw(writer, parts.data);
  const afterSecurity = sizeOf(writer);
  writeOctets(writer, tags.octetString, parts.privacyParameters);
  const afterMac = sizeOf(writer);
  writeOctets(writer, tags.octetString, new Uint8Array(parts.macLength));
  writeOctets(writer, tags.octetString, parts.user);
  writeInteger(writer, tags.integer, parts.time);
  writeInteger(writer, tags.integer, parts.boots);
  writeOctets(writer, tags.octetString, parts.engineId);
  writeHeader(writer, tags.sequence, afterSecurity);
  writeHeader(writer, tags.octetString, afterSecurity);
  const afterHeader = sizeOf(writer);
  const bits =
    (parts.isAuthenticated ? flagBits.authentication : 0) |
    (parts.isPrivate ? flagBits.privacy : 0) |
    (parts.isReportable ? flagBits.reportable : 0);
  writeInteger(writer, tags.integer, usmSecurityModel);
  writeOctets(writer, tags.octetString, Uint8Array.of(bits));
  writeInteger(writer, tags.integer, parts.maxSize);
  writeInteger(writer, tags.integer, parts.id);
  writeHeader(writer, tags.sequence, afterHeader);
  writeInteger(writer, tags.integer, wireVersions["3"]);
  writeHeader(writer, tags.sequence, 0);
  const bytes = written(writer);
  return { bytes, macAt: bytes.length - afterMac - parts.macLength };
}

/** A PDU and its context (RFC 3412 section 6.8). */
export interface ScopedPdu {
  readonly contextEngineId: Uint8Array;
  readonly contextName: Uint8Array;
  readonly pdu: Pdu;
}

export function encodeScopedPdu(scoped: ScopedPdu): Uint8Array {
  const writer = new Writer();
  writePdu(writer, scoped.pdu);
  writeOctets(writer, tags.octetString, scoped.contextName);
  writeOctets(writer, tags.octetString, scoped.contextEngineId);
  writeHeader(writer, tags.sequence, 0);
  return written(writer);
}

/** Reads a scoped PDU; bytes behind it are the padding of a block cipher (RFC 3414 section 8.1.1.3). */
export function decodeScopedPdu(bytes: Uint8Array): ScopedPdu {
  const cursor = enter(cursorOver(bytes), tags.sequence);
  const contextEngineId = readOctets(cursor, tags.octetString);
  const contextName = readOctets(cursor, tags.octetString);
  const pdu = readPduRest(readPduFront(cursor));
  expectEnd(cursor);
  return { contextEngineId, contextName, pdu };
}
