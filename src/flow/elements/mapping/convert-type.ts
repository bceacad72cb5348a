import { formatAddressBytes } from "../../../base/ip/index.ts";
import type { DataType } from "../registry/information-element.ts";
import type { Convert, FieldSource } from "./field-source.ts";

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as they are: `0x` and two lower-case digits for each. */
export const toHex: Convert = ({ bytes }, at, length) => `0x${bytes.toString("hex", at, at + length)}`;

/** An unsigned integer of one to eight bytes (RFC 7011 section 6.2), exact: a bigint above 2^53-1. */
export const toUnsigned = ({ view }: FieldSource, at: number, length: number): number | bigint | undefined => {
  switch (length) {
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at);
    case 3:
      return view.getUint16(at) * 0x100 + view.getUint8(at + 2);
    case 4:
      return view.getUint32(at);
    case 5:
    case 6:
    case 7:
    case 8: {
      let high = 0;
      for (let i = at; i < at + length - 4; i++) high = high * 0x100 + view.getUint8(i);
      const low = view.getUint32(at + length - 4);
      return high <= 0x1fffff ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low);
    }
    default:
      return undefined;
  }
};

const toSigned: Convert = ({ view }, at, length) => {
  if (length > 8) return undefined;
  let value = BigInt(view.getInt8(at));
  for (let i = at + 1; i < at + length; i++) value = (value << 8n) | BigInt(view.getUint8(i));
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

/** IEEE 754 single or double; JSON has no infinities and no NaN, so these are no values. */
const toFloat: Convert = ({ view }, at, length) => {
  const value = length === 4 ? shortestSingle(view.getFloat32(at)) : length === 8 ? view.getFloat64(at) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
};

/** The number of the fewest digits that is this one in single precision: 30.58, and not 30.579999923706055. */
export function shortestSingle(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** RFC 7011 section 6.1.5: 1 is true, 2 is false, nothing else is allowed. */
const toBoolean: Convert = ({ view }, at, length) => {
  const value = length === 1 ? view.getUint8(at) : 0;
  return value === 1 ? true : value === 2 ? false : undefined;
};

/** Six bytes as pairs of lower-case digits with colons between them. */
export function formatMac(bytes: Uint8Array, at: number): string {
  let text = hexDigits[bytes[at] as number] as string;
  for (let i = at + 1; i < at + 6; i++) text += `:${hexDigits[bytes[i] as number]}`;
  return text;
}

const toMacAddress: Convert = ({ bytes }, at, length) => (length === 6 ? formatMac(bytes, at) : undefined);

const toIpv4: Convert = ({ bytes }, at, length) => (length === 4 ? formatAddressBytes(bytes, at, 4) : undefined);
const toIpv6: Convert = ({ bytes }, at, length) => (length === 16 ? formatAddressBytes(bytes, at, 6) : undefined);

/**
 * Text in UTF-8 without the NULs that pad it. Bytes that are not UTF-8 are read as Latin-1, where each byte is a
 * character: an interface description of an old device stays readable, and no byte is lost.
 */
export function formatText(bytes: Buffer, at: number, length: number): string {
  let end = at + length;
  while (end > at && bytes[end - 1] === 0) end--;
  const text = bytes.toString("utf8", at, end);
  const mayBeBroken = text.includes("\ufffd");
  return mayBeBroken && !Buffer.from(text).equals(bytes.subarray(at, end)) ? bytes.toString("latin1", at, end) : text;
}

const toText: Convert = ({ bytes }, at, length) => formatText(bytes, at, length);

const toSeconds: Convert = (source, at, length) => {
  const seconds = toUnsigned(source, at, length);
  return typeof seconds === "number" ? source.times.seconds(seconds) : undefined;
};

const toMilliseconds: Convert = (source, at, length) => {
  const milliseconds = toUnsigned(source, at, length);
  return typeof milliseconds === "number" ? source.times.milliseconds(milliseconds) : undefined;
};

const ntpToUnix = 2_208_988_800;

/**
 * The NTP timestamp of RFC 7011 sections 6.1.9 and 6.1.10: seconds since 1900 and a fraction of 2^32. Its seconds wrap
 * in 2036; without the top bit they count from there. All zero means that the time is not known (RFC 5905 section 6).
 */
const ntp =
  (digits: 6 | 9): Convert =>
  ({ view, times }, at, length) => {
    if (length !== 8) return undefined;
    const ntpSeconds = view.getUint32(at);
    const ntpFraction = view.getUint32(at + 4);
    if (ntpSeconds === 0 && ntpFraction === 0) return undefined;
    const scale = 10 ** digits;
    const fraction = Math.round((ntpFraction / 0x1_0000_0000) * scale);
    const seconds = ntpSeconds - ntpToUnix + (ntpSeconds < 0x8000_0000 ? 0x1_0000_0000 : 0);
    return fraction < scale ? times.fraction(seconds, fraction, digits) : times.fraction(seconds + 1, 0, digits);
  };

/** How the values of each abstract data type (RFC 7011 section 6.1) are read. Lists stay bytes. */
export const convertType: Readonly<Record<DataType, Convert>> = {
  octetArray: toHex,
  unsigned8: toUnsigned,
  unsigned16: toUnsigned,
  unsigned32: toUnsigned,
  unsigned64: toUnsigned,
  unsigned256: toUnsigned,
  signed8: toSigned,
  signed16: toSigned,
  signed32: toSigned,
  signed64: toSigned,
  float32: toFloat,
  float64: toFloat,
  boolean: toBoolean,
  macAddress: toMacAddress,
  string: toText,
  dateTimeSeconds: toSeconds,
  dateTimeMilliseconds: toMilliseconds,
  dateTimeMicroseconds: ntp(6),
  dateTimeNanoseconds: ntp(9),
  ipv4Address: toIpv4,
  ipv6Address: toIpv6,
  basicList: toHex,
  subTemplateList: toHex,
  subTemplateMultiList: toHex,
};
