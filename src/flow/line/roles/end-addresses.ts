import { parseAddress } from "../../../base/ip/index.ts";
import type { FieldValues } from "../../../record/index.ts";

/** An address as two numbers of 64 bits; IPv4 in its mapped form. */
export interface EndAddress {
  readonly upper: bigint;
  readonly lower: bigint;
  readonly family: 4 | 6;
}

const mapped = 0xffff_0000_0000n;
const maxLower = 0xffff_ffff_ffff_ffffn;

/** The addresses of both ends; undefined unless there are two of one family. */
export function endAddresses(record: FieldValues): readonly [source: EndAddress, destination: EndAddress] | undefined {
  const source = endAddress(record, "flow.src.ip.addr");
  const destination = endAddress(record, "flow.dst.ip.addr");
  if (source === undefined || source.family !== destination?.family) return undefined;
  return [source, destination];
}

function endAddress(record: FieldValues, name: string): EndAddress | undefined {
  const text = record.get(name);
  const address = typeof text === "string" ? parseAddress(text) : undefined;
  if (address === undefined) return undefined;
  const { family, value } = address;
  if (family === 4) return { upper: 0n, lower: mapped | value, family };
  return { upper: value >> 64n, lower: value & maxLower, family };
}

/** A number of sixteen bits that a record has; -1 for any other value. */
export function portOf(record: FieldValues, name: string): number {
  const value = record.get(name);
  return typeof value === "number" && value >= 0 && value <= 0xffff ? value : -1;
}

/** Protocols whose ports distinguish an end from others of its address: TCP, UDP, SCTP. */
export const protocolsWithPorts: ReadonlySet<unknown> = new Set([6, 17, 132]);
