import { formatAddress, parseAddress } from "../../base/ip/index.ts";
import {
  cursorOver,
  enter,
  expectEnd,
  peekTag,
  readInteger32,
  readModulo32,
  readOctets,
  readOid,
  type Cursor,
  DecodeError,
  type ValueFault,
  tags,
} from "../session/ber.ts";
import { readPduFront, readPduRest, type Pdu, readVarBinds } from "../session/message-codec.ts";
import { compareOids, type Oid, type VarBind } from "../session/ber.ts";

const trapV1Tag = 0xa4;
const ipAddressTag = 0x40;
const timeTicksTag = 0x43;

// The objects of SNMPv2-MIB (RFC 3418) and SNMP-COMMUNITY-MIB (RFC 3584).
const sysUpTime: Oid = [1, 3, 6, 1, 2, 1, 1, 3, 0];
const snmpTrapOid: Oid = [1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0];
const snmpTrapEnterprise: Oid = [1, 3, 6, 1, 6, 3, 1, 1, 4, 3, 0];
const snmpTrapAddress: Oid = [1, 3, 6, 1, 6, 3, 18, 1, 3, 0];
const snmpTrapCommunity: Oid = [1, 3, 6, 1, 6, 3, 18, 1, 4, 0];
/** The root of the standard notifications; coldStart(0) to egpNeighborLoss(5) are its 1 to 6. */
const snmpTraps: Oid = [1, 3, 6, 1, 6, 3, 1, 1, 5];
const enterpriseSpecific = 6;

/** A message of version 1 or 2c: its community, and the notification in it. */
interface CommunityNotification {
  readonly community: Uint8Array;
  readonly trap: Trap;
  /** The PDU of an inform, which requires an answer. */
  readonly inform: Pdu | undefined;
}

/** Returns the version of a message without decoding the rest. @throws DecodeError if it is not an SNMP message. */
export function messageVersion(datagram: Uint8Array): number {
  return readInteger32(enter(cursorOver(datagram), tags.sequence), tags.integer);
}

/** Reads a message of version 1 or 2c. @returns undefined if it has another PDU. @throws DecodeError */
export function readCommunityNotification(datagram: Uint8Array): CommunityNotification | undefined {
  const outer = cursorOver(datagram);
  const cursor = enter(outer, tags.sequence);
  expectEnd(outer);
  const version = readInteger32(cursor, tags.integer);
  if (version !== 0 && version !== 1) throw new DecodeError(`version ${version}`);
  const community = readOctets(cursor, tags.octetString);
  if (peekTag(cursor) === trapV1Tag) {
    const trap = readTrapV1(enter(cursor, trapV1Tag));
    expectEnd(cursor);
    return { community, trap, inform: undefined };
  }
  const pdu = readPduRest(readPduFront(cursor));
  expectEnd(cursor);
  const trap = trapOf(pdu, version === 0 ? "1" : "2c", undefined);
  return trap && { community, trap, inform: pdu.type === "inform" ? pdu : undefined };
}

/** Reads the Trap-PDU of RFC 1157 section 4.1.6, with its OID translated by RFC 3584 section 3.1. */
function readTrapV1(cursor: Cursor): Trap {
  const enterprise = readOid(cursor, tags.objectIdentifier);
  const address = readOctets(cursor, ipAddressTag);
  const generic = readInteger32(cursor, tags.integer);
  const specific = readInteger32(cursor, tags.integer);
  const faults: ValueFault[] = [];
  const uptime = readUptime(cursor, faults);
  const varbinds = readVarBinds(cursor, faults);
  expectEnd(cursor);
  const isGeneric = generic >= 0 && generic < enterpriseSpecific;
  return {
    version: "1",
    kind: "trap",
    oid: isGeneric ? [...snmpTraps, generic + 1] : [...enterprise, 0, Math.max(0, specific)],
    uptime,
    agent: agentAddress(address),
    user: undefined,
    enterprise,
    varbinds,
    faults,
  };
}

/** Reads sysUpTime. A faulty value is noted and does not invalidate the notification. */
function readUptime(cursor: Cursor, faults: ValueFault[]): number | undefined {
  const { at } = cursor;
  enter(cursor, timeTicksTag);
  try {
    return readModulo32({ ...cursor, at }, timeTicksTag, faults);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    faults.push(error.fault);
    return undefined;
  }
}

function agentAddress(octets: Uint8Array): string | undefined {
  const address = octets.length === 4 ? parseAddress(octets.join(".")) : undefined;
  const text = address && formatAddress(address);
  return text === "0.0.0.0" ? undefined : text;
}

/** Returns the notification of a PDU; undefined if the PDU has none. */
export function trapOf(pdu: Pdu, version: Trap["version"], user: string | undefined): Trap | undefined {
  if (pdu.type !== "trap" && pdu.type !== "inform") return undefined;
  const find = (oid: Oid): VarBind | undefined => pdu.varbinds.find((varbind) => compareOids(varbind.oid, oid) === 0);
  const [uptime, trapOid, enterprise, address] = [
    find(sysUpTime),
    find(snmpTrapOid),
    find(snmpTrapEnterprise),
    find(snmpTrapAddress),
  ];
  const known = new Set([uptime, trapOid, enterprise, address, find(snmpTrapCommunity)]);
  return {
    version,
    kind: pdu.type,
    // Every sender must send snmpTrapOID; a notification without it has no name.
    oid: trapOid?.type === "ObjectIdentifier" ? trapOid.value : [0, 0],
    uptime: uptime?.type === "TimeTicks" ? uptime.value : undefined,
    agent: address?.type === "IpAddress" ? agentAddress(address.value) : undefined,
    user,
    enterprise: enterprise?.type === "ObjectIdentifier" ? enterprise.value : undefined,
    varbinds: pdu.varbinds.filter((varbind) => !known.has(varbind)),
    faults: pdu.faults ?? [],
  };
}

/** A notification of any version. */
export interface Trap {
  readonly version: "1" | "2c" | "3";
  readonly kind: "trap" | "inform";
  /** The OID of the notification: snmpTrapOID, or its translation for version 1 (RFC 3584 section 3.1). */
  readonly oid: Oid;
  /** sysUpTime of the sender, in hundredths of a second. */
  readonly uptime: number | undefined;
  /** The address of the agent, if the message has one: in traps of version 1 and forwarded traps. */
  readonly agent: string | undefined;
  /** The user of version 3. */
  readonly user: string | undefined;
  /** The enterprise of a version 1 trap or a forwarded trap. */
  readonly enterprise: Oid | undefined;
  /** The variables, without those that are other fields of this object. */
  readonly varbinds: readonly VarBind[];
  /** The faults of its values. */
  readonly faults: readonly ValueFault[];
}

/**
 * The reasons why a datagram gave no record.
 *
 * - `malformed`: not an SNMP message with a notification; `pdu_type`: another PDU
 * - `connections`: a TCP connection beyond the limit
 * - `source`: the sender is not in the list; `rate`: it exceeds its rate
 * - `community`, `user`, `level`, `digest`, `decryption`, `time_window`, `engine`: its credentials are wrong
 * - `rule`: a rule drops it
 */
export const trapRefusals = [
  "malformed",
  "connections",
  "pdu_type",
  "source",
  "rate",
  "community",
  "user",
  "level",
  "digest",
  "decryption",
  "time_window",
  "engine",
  "rule",
] as const;
export type TrapRefusal = (typeof trapRefusals)[number];
