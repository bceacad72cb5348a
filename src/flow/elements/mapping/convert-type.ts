import type { Value } from "../../../record/index.ts";
import { formatAddressBytes } from "../../../base/ip/index.ts";
import type { DataType } from "../registry/information-element.ts";

/** The times that a header gives. Fields that give uptimes or distances are reckoned from it. */
export interface ExportClock {
  /** When the datagram left the exporter, milliseconds since the epoch. */
  readonly exportTime: number;
  /** The exporter's uptime at that time in milliseconds modulo 2^32; undefined where the header has none (IPFIX). */
  readonly uptime: number | undefined;
}

/** The bytes that fields are read from, and what reading them takes. */
export interface FieldSource {
  readonly bytes: Buffer;
  /** The same bytes. */
  readonly view: DataView;
  readonly clock: ExportClock;
  readonly times: TimeFormat;
  /** When the exporter started, milliseconds since the epoch, where it says so (element 160) and the header does not. */
  readonly bootTime: number | undefined;
}

/**
 * Makes a field's value of its bytes. The caller has checked that `length` bytes, at least one, are there at `at`.
 *
 * @returns undefined when the bytes are no value of this kind, an unusual width for instance. Never throws.
 */
export type Convert = (source: FieldSource, at: number, length: number) => Value | undefined;

/** Writes times as RFC 3339 in UTC, with the digits that the exporter gave. */
export interface TimeFormat {
  /**
   * @param seconds whole seconds since the epoch.
   * @returns undefined outside the years 1970 to 9999, which RFC 3339 cannot write or no clock shows.
   */
  seconds(seconds: number): string | undefined;
  /** @param milliseconds since the epoch, whole. */
  milliseconds(milliseconds: number): string | undefined;
  /**
   * @param fraction digits after the second, below 10^digits.
   * @param digits 6 or 9.
   */
  fraction(seconds: number, fraction: number, digits: number): string | undefined;
}

const lastSecond = 253_402_300_799;
const cacheSize = 1024;
const milliTails = Array.from({ length: 1000 }, (_, i) => `.${String(i).padStart(3, "0")}Z`);

/** A format that remembers recent seconds: the records of a datagram fall into few of them, and a Date costs most. */
export function createTimeFormat(): TimeFormat {
  const cachedSeconds = new Float64Array(cacheSize).fill(-1);
  const cachedTexts = Array<string>(cacheSize).fill("");

  /** `YYYY-MM-DDTHH:MM:SS` */
  const prefix = (seconds: number): string | undefined => {
    const slot = seconds % cacheSize;
    if (cachedSeconds[slot] === seconds) return cachedTexts[slot];
    if (!(seconds >= 0 && seconds <= lastSecond)) return undefined;
    const text = new Date(seconds * 1000).toISOString().slice(0, 19);
    cachedSeconds[slot] = seconds;
    cachedTexts[slot] = text;
    return text;
  };
  // The headers of many datagrams have the same time: the same text is not put together again.
  let wholeSecond = Number.NaN;
  let wholeText: string | undefined;
  let millisecond = Number.NaN;
  let millisecondText: string | undefined;
  const join = (head: string | undefined, tail: string | undefined): string | undefined =>
    head === undefined || tail === undefined ? undefined : head + tail;

  return {
    seconds(seconds) {
      if (seconds !== wholeSecond) {
        wholeText = join(prefix(seconds), "Z");
        wholeSecond = seconds;
      }
      return wholeText;
    },
    milliseconds(milliseconds) {
      if (milliseconds !== millisecond) {
        const seconds = Math.floor(milliseconds / 1000);
        millisecondText = join(prefix(seconds), milliTails[milliseconds - seconds * 1000]);
        millisecond = milliseconds;
      }
      return millisecondText;
    },
    fraction: (seconds, fraction, digits) => join(prefix(seconds), `.${String(fraction).padStart(digits, "0")}Z`),
  };
}

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

/** Readers of the values of each abstract data type (RFC 7011 section 6.1). Lists stay bytes. */
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
