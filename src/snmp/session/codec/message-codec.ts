import { cursorOver, enter, expectEnd, readHeader, readInteger32, readOctets, type Cursor } from "./ber-reader.ts";
import { createWriter, sizeOf, writeHeader, writeInteger, writeOctets, writeRaw, written } from "./ber-writer.ts";
import { DecodeError } from "./decode-error.ts";
import { readPduFront, readPduRest, writePdu, type Pdu, type PduFront } from "./pdu-codec.ts";
import { tags } from "./tags.ts";

/** msgVersion on the wire. */
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
  /** msgID. */
  readonly id: number;
  readonly maxSize: number;
  readonly isAuthenticated: boolean;
  readonly isPrivate: boolean;
  readonly isReportable: boolean;
  readonly engineId: Uint8Array;
  readonly boots: number;
  readonly time: number;
  readonly user: Uint8Array;
  /** Where the authentication parameters lie in the datagram. */
  readonly mac: { readonly at: number; readonly length: number };
  readonly privacyParameters: Uint8Array;
  /** The scoped PDU: its element, or the cipher text when `isPrivate`. */
  readonly data: Uint8Array;
}

export type Message = CommunityMessage | UsmMessage;

/**
 * Reads a datagram as far as it takes to find the request that it answers; values are decoded after that. The message
 * must fill the datagram.
 */
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
  const writer = createWriter();
  writePdu(writer, pdu);
  writeOctets(writer, tags.octetString, community);
  writeInteger(writer, tags.integer, version);
  writeHeader(writer, tags.sequence, 0);
  return written(writer);
}

/** What goes into a message of version 3: the fields of {@link UsmMessage}, the MAC as a length to leave room for. */
export interface UsmParts extends Omit<UsmMessage, "version" | "mac"> {
  readonly macLength: number;
}

/** The message with zeros where its MAC belongs, and where that is. */
export function encodeUsmMessage(parts: UsmParts): { readonly bytes: Uint8Array; readonly macAt: number } {
  const writer = createWriter();
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

/** A PDU and the context it belongs to (RFC 3412 section 6.8). */
export interface ScopedPdu {
  readonly contextEngineId: Uint8Array;
  readonly contextName: Uint8Array;
  readonly pdu: Pdu;
}

export function encodeScopedPdu(scoped: ScopedPdu): Uint8Array {
  const writer = createWriter();
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
