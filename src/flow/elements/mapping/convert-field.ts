import { formatAddressBytes } from "../../../base/ip/index.ts";
import { enumerations } from "../registry/enumerations.gen.ts";
import { protocolNames } from "../registry/protocol-names.gen.ts";
import { toUnsigned } from "./convert-type.ts";
import type { Convert } from "./convert-type.ts";

/** Bits of the TCP header, lowest first (IANA, "TCP Header Flags"). */
const tcpFlags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];
const tcpTags = Array.from({ length: 1 << tcpFlags.length }, (_, bits) =>
  tcpFlags.filter((_flag, i) => (bits & (1 << i)) !== 0),
);

/** The bits of the TCP header that are flags or reserved for such. */
export const tcpFlagBits = 0xfff;

/** Kinds of options (IANA, "TCP Option Kind Numbers"), as they are abbreviated; others are `OPT-<kind>`. */
const tcpOptions = new Map([
  [0, "EOL"],
  [1, "NOP"],
  [2, "MSS"],
  [3, "WSOPT"],
  [4, "SACKPERM"],
  [5, "SACK"],
  [8, "TSOPT"],
  [19, "MD5"],
  [28, "UTO"],
  [29, "TCP-AO"],
  [30, "MPTCP"],
  [34, "TFO"],
]);

/** Names of the options whose kinds are the bits of a number, from the lowest on; undefined where there is none. */
function tcpOptionNames(bits: bigint): readonly string[] | undefined {
  const kinds: number[] = [];
  for (let rest = bits, kind = 0; rest > 0n; rest >>= 1n, kind++) if ((rest & 1n) === 1n) kinds.push(kind);
  return kinds.length === 0 ? undefined : kinds.map((kind) => tcpOptions.get(kind) ?? `OPT-${kind}`);
}

/** Kinds up to this one are in nearly each set of options: SACK, window scale, timestamps and so on. */
const lastUsualKind = 8;

/**
 * The names of the options in tcpOptions. RFC 5102 and its errata 1739 disagree on which bit is that of kind 0, the highest of the field
 * or the lowest, and exporters do both: the usual kinds tell the order. Undefined where they do not.
 */
function orderedOptionNames(bits: bigint, length: number): readonly string[] | undefined {
  const width = 8 * length;
  const isUsual = (shift: number): boolean =>
    ((bits >> BigInt(shift)) & ((1n << BigInt(lastUsualKind + 1)) - 1n)) !== 0n;
  const isLowestFirst = isUsual(0);
  if (isLowestFirst === isUsual(Math.max(0, width - lastUsualKind - 1))) return undefined;
  if (isLowestFirst) return tcpOptionNames(bits);
  const turned = bits.toString(2).padStart(width, "0");
  return tcpOptionNames(BigInt(`0b${Array.from(turned).toReversed().join("")}`));
}

/** tcpOptionsFull (RFC 9740): the option of a kind is the bit of its number, from the lowest on. */
export const tcpOptionsFull: Convert = ({ bytes }, at, length) =>
  length > tcpOptionsFullBytes ? undefined : tcpOptionNames(BigInt(`0x${bytes.toString("hex", at, at + length)}`));
const tcpOptionsFullBytes = 32;

const directions = ["ingress", "egress"];

/** IANA, "flowEndReason". */
const endReasons = [undefined, "idle timeout", "active timeout", "end of flow", "forced end", "lack of resources"];

/** The causes that Cisco's firewalls give for a denied flow ("NetFlow Implementation Guide", NF_F_FW_EXT_EVENT). */
const firewallExtendedEvents: ReadonlyMap<number, string> = new Map([
  [1001, "denied by ingress ACL"],
  [1002, "denied by egress ACL"],
  [1003, "denied access to the firewall's interface"],
  [1004, "first packet was not TCP SYN"],
]);

/** Kinds of tunnels by the outer header's protocol (IANA, "Protocol Numbers"); those within UDP are not known by it. */
const tunnelTypes: ReadonlyMap<number, string> = new Map([
  [4, "ipip"],
  [41, "ipip"],
  [47, "gre"],
  [97, "etherip"],
  [137, "mpls-in-ip"],
  [143, "ethernet-in-ip"],
]);

/** The classification engine of RFC 6759 whose selectors begin with an enterprise number. */
const panaL7Pen = 20;

/** Names of the flags that are set among nine bits, the lowest first; undefined where none is. */
export const tcpFlagNames = (bits: number): readonly string[] | undefined =>
  (bits & 0x1ff) === 0 ? undefined : tcpTags[bits & 0x1ff];

/** A conversion of a small unsigned number. */
const ofNumber =
  (convert: (value: number) => string | number | readonly string[] | undefined): Convert =>
  (source, at, length) => {
    const value = toUnsigned(source, at, length);
    return typeof value === "number" ? convert(value) : undefined;
  };

/** Always the same text, where the bytes are a number. */
const constant =
  (text: string): Convert =>
  (source, at, length) =>
    toUnsigned(source, at, length) === undefined ? undefined : text;

const nameOf = (names: ReadonlyMap<number, string>): Convert => ofNumber((value) => names.get(value));

/** The conversions that the table of fields names, beyond the plain value. */
export const convertField = {
  /**
   * Uptime in milliseconds, modulo 2^32: how long before the export it was is reckoned first, so that a wrap between
   * the two does no harm. What lies ahead of the export by less than half the circle is in the future. In eight bytes the
   * value is in the first four where the others are zero: NX-OS fills it up behind.
   */
  uptime: (source, at, length) => {
    const isFirst = length === 8 && source.view.getUint32(at + 4) === 0;
    const value = toUnsigned(source, at, isFirst ? 4 : length);
    const { exportTime } = source.clock;
    const uptime = source.clock.uptime ?? (source.bootTime === undefined ? undefined : exportTime - source.bootTime);
    if (typeof value !== "number" || uptime === undefined) return undefined;
    // ToInt32 is the remainder modulo 2^32 in its signed form; of the difference of large numbers it would not be exact.
    return source.times.milliseconds(exportTime - (((uptime | 0) - (value | 0)) | 0));
  },
  microsecondsBefore: (source, at, length) => {
    const distance = toUnsigned(source, at, length);
    if (typeof distance !== "number") return undefined;
    const microseconds = source.clock.exportTime * 1000 - distance;
    const seconds = Math.floor(microseconds / 1_000_000);
    return source.times.fraction(seconds, microseconds - seconds * 1_000_000, 6);
  },
  l2: constant("l2"),
  l3: constant("l3"),
  l4: constant("l4"),
  dscp: ofNumber((value) => (value < 256 ? value >>> 2 : undefined)),
  ecn: ofNumber((value) => (value < 256 ? value & 3 : undefined)),
  protocolName: ofNumber((value) => protocolNames[value]),
  tunnelTypeName: nameOf(tunnelTypes),
  /** RFC 7125: the upper four of sixteen bits are the data offset of the header, which a collector has to ignore. */
  tcpBits: (source, at, length) => {
    const bits = toUnsigned(source, at, length);
    return bits === undefined ? undefined : Number(BigInt(bits) & BigInt(tcpFlagBits));
  },
  tcpTags: ofNumber(tcpFlagNames),
  tcpOptionTags: (source, at, length) => {
    const bits = toUnsigned(source, at, length);
    return bits === undefined ? undefined : orderedOptionNames(BigInt(bits), length);
  },
  /** An autonomous system that is known by its number alone; 0 is none. */
  asLabel: ofNumber((value) => (value === 0 ? undefined : `AS${value}`)),
  directionName: ofNumber((value) => directions[value]),
  endReasonName: ofNumber((value) => endReasons[value]),
  /** RFC 7270 section 3: the upper two bits are the status, all eight the reason for it. */
  forwardingStatusName: ofNumber((value) => (value < 256 ? enumerations.forwardingStatus.get(value >>> 6) : undefined)),
  forwardingReasonName: nameOf(enumerations.forwardingReason),
  natEventName: nameOf(enumerations.natEvent),
  natTypeName: nameOf(enumerations.natType),
  natQuotaEventName: nameOf(enumerations.natQuotaEvent),
  natThresholdEventName: nameOf(enumerations.natThresholdEvent),
  firewallEventName: nameOf(enumerations.firewallEvent),
  firewallExtendedEventName: nameOf(firewallExtendedEvents),
  biflowDirectionName: nameOf(enumerations.biflowDirection),
  mplsLabelTypeName: nameOf(enumerations.mplsLabelType),
  icmpType: ofNumber((value) => (value < 0x10000 ? value >>> 8 : undefined)),
  icmpCode: ofNumber((value) => (value < 0x10000 ? value & 0xff : undefined)),
  /**
   * RFC 4364 section 4.2: two bytes of type, then who gave the number, then the number. Who is an AS number of two bytes (0), an IPv4
   * address (1) or an AS number of four bytes (2).
   */
  routeDistinguisher: ({ view, bytes }, at, length) => {
    if (length !== 8) return undefined;
    switch (view.getUint16(at)) {
      case 0:
        return `${view.getUint16(at + 2)}:${view.getUint32(at + 4)}`;
      case 1:
        return `${formatAddressBytes(bytes, at + 2, 4)}:${view.getUint16(at + 6)}`;
      case 2:
        return `${view.getUint32(at + 2)}:${view.getUint16(at + 6)}`;
      default:
        return undefined;
    }
  },
  /**
   * RFC 6759: one byte says whose numbering it is, the others are the number there. Engine {@link panaL7Pen} numbers for a
   * vendor, whose enterprise number comes first.
   */
  applicationId: (source, at, length) => {
    if (length < 2) return undefined;
    const engine = source.view.getUint8(at);
    const penLength = engine === panaL7Pen && length > 5 ? 4 : 0;
    const selector = toUnsigned(source, at + 1 + penLength, length - 1 - penLength);
    if (selector === undefined) return undefined;
    return penLength === 0 ? `${engine}:${selector}` : `${engine}:${source.view.getUint32(at + 1)}:${selector}`;
  },
} satisfies Readonly<Record<string, Convert>>;

/** Names the conversion of an element's bytes to a field's value. `value` goes by the element's abstract data type. */
export type Conversion = "value" | keyof typeof convertField;
