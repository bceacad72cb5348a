import { formatAddressBytes } from "../../../base/ip/index.ts";
import type { Value } from "../../../record/index.ts";
import { formatMac, formatText } from "../../elements/mapping/convert-type.ts";

/** Where places are. */
export interface ByteSource {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/**
 * What a value is. `number` and `asLabel` (an autonomous system): the number itself; of all others the place: addresses, a number of 64 bits, `text` behind its length,
 * behind their count `labels` (the upper twenty bits of each), `tags` (the lower twelve), `communities` (RFC 1997), and `path`: segments
 * of an AS path, each a type (1: a set), a count and this many numbers. All numbers are 32 bits, unsigned, and in network byte order.
 * `stackLabels` and `stackExperimental` are of a label stack (RFC 3032), whose place goes with the number of its entries: {@link stackAt}.
 */
export type StepKind =
  | "number"
  | "asLabel"
  | "uint64"
  | "ipv4"
  | "ipv6"
  | "mac"
  | "text"
  | "labels"
  | "tags"
  | "communities"
  | "path"
  | "stackLabels"
  | "stackExperimental";

const stackShift = 0x100_0000;

/** The value for a label stack. @param at below 2^24, @param count below 256. */
export function stackAt(at: number, count: number): number {
  return at + count * stackShift;
}

/** Reads the value of a kind as a record has it. */
export const readStepValue: Readonly<Record<StepKind, (value: number, source: ByteSource) => Value>> = {
  number: (value) => value,
  asLabel: (value) => `AS${value}`,
  uint64(at, { view }) {
    const high = view.getUint32(at);
    const low = view.getUint32(at + 4);
    return high <= 0x1fffff ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low);
  },
  ipv4: (at, { bytes }) => formatAddressBytes(bytes, at, 4),
  ipv6: (at, { bytes }) => formatAddressBytes(bytes, at, 6),
  mac: (at, { bytes }) => formatMac(bytes, at),
  text: (at, { bytes, view }) => formatText(bytes, at + 4, view.getUint32(at)),
  labels: (at, source) => listAt(at, source).map((entry) => entry >>> 12),
  tags: (at, source) => listAt(at, source).map((entry) => entry & 0xfff),
  communities: (at, source) => listAt(at, source).map((entry) => `${entry >>> 16}:${entry & 0xffff}`),
  path: pathAt,
  stackLabels: (value, source) => stackEntries(value, source).map((entry) => entry >>> 12),
  stackExperimental: (value, source) => stackEntries(value, source).map((entry) => (entry >>> 9) & 7),
};

function stackEntries(value: number, { view }: ByteSource): number[] {
  const at = value % stackShift;
  return Array.from({ length: Math.trunc(value / stackShift) }, (_, i) => view.getUint32(at + 4 * i));
}

const asSet = 1;

function listAt(at: number, { view }: ByteSource): number[] {
  return Array.from({ length: view.getUint32(at) }, (_, i) => view.getUint32(at + 4 + 4 * i));
}

/** Sets in braces. */
function pathAt(at: number, source: ByteSource): string {
  const { view } = source;
  let position = at + 4;
  const segments = Array.from({ length: view.getUint32(at) }, () => {
    const isSet = view.getUint32(position) === asSet;
    const numbers = listAt(position + 4, source);
    position += 8 + 4 * numbers.length;
    return isSet ? `{${numbers.join(",")}}` : numbers.join(" ");
  });
  return segments.join(" ");
}

/**
 * How a part of what lies at the place of a step is read. `place`: it is the place itself that is meant; `known32`: there is no such part
 * where the number is {@link unknown32}.
 */
export type PartRead = "place" | "uint8" | "uint16" | "uint24" | "uint32" | "known32" | "vlan" | "priority" | "flags";

/** All ones: the exporter does not know the value. */
export const unknown32 = 0xffff_ffff;

/** Reads a part at a place, as the kernel does. */
export const readPart: Readonly<Record<PartRead, (view: DataView, at: number) => number>> = {
  place: (_view, at) => at,
  uint8: (view, at) => view.getUint8(at),
  uint16: (view, at) => view.getUint16(at),
  uint24: (view, at) => view.getUint32(at - 1) & 0xff_ffff,
  uint32: (view, at) => view.getUint32(at),
  known32: (view, at) => view.getUint32(at),
  vlan: (view, at) => view.getUint16(at) & 0xfff,
  priority: (view, at) => view.getUint16(at) >> 13,
  flags: (view, at) => view.getUint16(at) & 0x1ff,
};
