import { isUtf8 } from "node:buffer";
import { type Oid, type ValueType, isOid, formatOid } from "../session/ber.ts";
import { formatAddress, formatAddressBytes, parseAddress } from "../../base/ip/index.ts";
import type { Scalar } from "../../record/index.ts";
import type { Syntax, SyntaxKind } from "./syntaxes-and-units.ts";

/**
 * Returns the number in a value. It may have any numeric type, be an Opaque float or double (net-snmp: context tags 8 and 9 within a
 * tag of long form), or decimal text, which agents send if SNMP has no fitting type.
 *
 * @returns undefined if there is none; a bigint only if a double would round it.
 */
export function readNumber(value: SnmpValue): number | bigint | undefined {
  const raw = value.value;
  if (typeof raw === "number") return raw;
  if (typeof raw === "bigint") return shorten(raw);
  if (!(raw instanceof Uint8Array)) return undefined;
  if (value.type === "Opaque") return readOpaqueFloat(raw);
  return value.type === "OctetString" ? readDecimalText(raw) : undefined;
}

/** Returns a number if that is exact, otherwise the bigint. */
function shorten(value: bigint): number | bigint {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER ? Number(value) : value;
}

/** Scales a number. The result is exact for whole factors; a division of a value too large for a double is rounded. */
export function scaleNumber(value: number | bigint, multiply: number, divide: number): number | bigint {
  if (multiply === 1 && divide === 1) return value;
  if (typeof value === "number") {
    const scaled = (value * multiply) / divide;
    if (Number.isSafeInteger(scaled) || !Number.isInteger(scaled)) return scaled;
    return divide === 1 && Number.isInteger(value) ? BigInt(value) * BigInt(multiply) : scaled;
  }
  return divide === 1 ? shorten(value * BigInt(multiply)) : (Number(value) * multiply) / divide;
}

function readOpaqueFloat(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 3 || bytes[0] !== 0x9f || bytes.length !== 3 + (bytes[2] as number)) return undefined;
  let number: number | undefined;
  if (bytes[1] === 0x78 && bytes[2] === 4) number = Number(view.getFloat32(3).toPrecision(7));
  else if (bytes[1] === 0x79 && bytes[2] === 8) number = view.getFloat64(3);
  return number !== undefined && Number.isFinite(number) ? number : undefined;
}

/** The longest text of a number: 20 digits, a sign, a point and some blanks. */
const maxTextLength = 32;

function readDecimalText(bytes: Uint8Array): number | bigint | undefined {
  if (bytes.length > maxTextLength) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("latin1")
    .replace(/(?<!\0)\0+$/, "")
    .trim();
  if (/^[+-]?\d+$/.test(text)) return shorten(BigInt(text.startsWith("+") ? text.slice(1) : text));
  return /^[+-]?(?:\d+\.\d*|\.\d+)$/.test(text) ? Number(text) : undefined;
}

const printable = /^[^\p{Cc}\p{Cs}\p{Co}\p{Cn}]*$/u;

/**
 * Formats octets as text if they are text: UTF-8 without control characters other than line ends and tabs. Trailing zero octets, which
 * C programs leave, do not count. All other octets become lower-case hexadecimal digits, so that nothing is lost.
 */
function formatText(bytes: Uint8Array): string {
  return readText(withoutZeros(bytes)) ?? formatHex(bytes);
}

/**
 * Formats octets of a type for text, such as DisplayString. It does the same as {@link formatText}, but agents also send text in other
 * forms. UTF-8 that was cut within a character loses that character. Octets that are mostly ASCII, with the others printable in
 * Latin-1, are Latin-1. Zero octets alone are no text.
 */
export function formatDisplayString(bytes: Uint8Array): string {
  if (bytes.every((octet) => octet === 0)) return "";
  const octets = withoutZeros(bytes);
  return readText(octets) ?? readCutText(octets) ?? readLatin1(octets) ?? formatHex(bytes);
}

/** Returns a name, read like {@link formatDisplayString} and without blanks around it; undefined if nothing is left. */
export function readName(bytes: Uint8Array): string | undefined {
  const octets = withoutZeros(bytes);
  const text = readText(octets) ?? readCutText(octets) ?? octets.toString(isUtf8(octets) ? "utf8" : "latin1");
  const name = text.replace(/(?<!\0)\0+$/, "").trim();
  return name === "" ? undefined : name;
}

/** Returns the octets without trailing zeros. Zeros alone are no text, and stay. */
function withoutZeros(bytes: Uint8Array): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return Buffer.from(bytes.buffer, bytes.byteOffset, end === 0 ? bytes.length : end);
}

/** @returns undefined for octets that are no text. */
function readText(octets: Buffer): string | undefined {
  // Nearly all text of devices is printable ASCII, which does not need Unicode's tables.
  if (octets.every(isPrintableAscii)) return octets.toString("latin1");
  if (!isUtf8(octets)) return undefined;
  const text = octets.toString("utf8");
  return printable.test(text.replace(/[\t\r\n]/g, "")) ? text : undefined;
}

/**
 * Returns text that was cut within a character. Some whole characters must show that it is UTF-8, because a Latin-1 accent at the end
 * looks like a cut character, too.
 */
function readCutText(octets: Buffer): string | undefined {
  let end = octets.length - 1;
  while (end > 0 && octets.length - end < 4 && isContinuation(octets[end] as number)) end--;
  const whole = octets.subarray(0, end);
  return (octets[end] as number) >= 0xc0 && whole.some((octet) => octet >= 0x80) ? readText(whole) : undefined;
}

function readLatin1(octets: Buffer): string | undefined {
  const ascii = octets.filter(isPrintableAscii).length;
  const isLatin1 = octets.every((octet) => isPrintableAscii(octet) || octet >= 0xa0 || lineEnds.has(octet));
  return isLatin1 && 2 * ascii >= octets.length ? octets.toString("latin1") : undefined;
}

/** Tab, line feed, carriage return. */
const lineEnds = new Set([0x09, 0x0a, 0x0d]);

function isPrintableAscii(octet: number): boolean {
  return octet >= 0x20 && octet < 0x7f;
}

/** Reports whether an octet is a UTF-8 octet other than the first of a character. */
function isContinuation(octet: number): boolean {
  return octet >= 0x80 && octet < 0xc0;
}

function formatHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** Formats any number of octets as `00:1b:21:…`. Text that is already such an address is brought to that form. */
export function formatMac(bytes: Uint8Array): string {
  if (bytes.length >= 11 && bytes.length <= 17) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    if (/^[\da-f]{1,2}(?:[:-][\da-f]{1,2}){5}$/i.test(text)) {
      return text
        .toLowerCase()
        .split(/[:-]/)
        .map((octet) => octet.padStart(2, "0"))
        .join(":");
    }
  }
  return Array.from(bytes, (octet) => octet.toString(16).padStart(2, "0")).join(":");
}

/** The value of a variable binding, or of one part of an instance's index. A Counter64 is a bigint. */
export interface SnmpValue {
  readonly type: ValueType;
  readonly value: number | bigint | Uint8Array | Oid | null;
}

/**
 * A value that is kept for a while, as thousands of them are between reading and writing a table. Octets are kept as text with one
 * character for each, which takes a fifth of the memory of a Uint8Array.
 */
export interface HeldValue {
  readonly type: ValueType;
  readonly value: number | bigint | string | Oid | null;
}

export function holdValue({ type, value }: SnmpValue): HeldValue {
  return { type, value: value instanceof Uint8Array ? textOf(value) : value };
}

export function heldValue(held: HeldValue): SnmpValue {
  const { type, value } = held;
  return typeof value === "string" ? { type, value: Buffer.from(value, "latin1") } : (held as SnmpValue);
}

/** The most arguments of one call; more would overflow the stack. */
const piece = 4096;

/**
 * Returns octets as text. It uses no Buffer on the same memory, because that would move the octets out of the heap, into an allocation
 * of their own.
 */
function textOf(octets: Uint8Array): string {
  let text = "";
  for (let at = 0; at < octets.length; at += piece) {
    text += String.fromCharCode.apply(null, octets.subarray(at, at + piece) as unknown as number[]);
  }
  return text;
}

/** The encodings of a part of an index in an instance's identifier (RFC 2578 section 7.7). */
export const indexTypes = [
  "Integer",
  "Integer32",
  "Unsigned32",
  "IpAddress",
  "MacAddress",
  "OctetString",
  "Opaque",
  "ObjectIdentifier",
  "ImplicitOctetString",
  "ImplicitObjectIdentifier",
] as const;
/** `OctetString8` and so on: this many octets in every row, without a length before them. */
type FixedIndexType = `OctetString${number}`;
export type IndexType = (typeof indexTypes)[number] | FixedIndexType;

/** Reports whether a type is `OctetString` with a number from 1 to 128, which is the greatest length of an OID. */
export function isFixedIndexType(type: string): type is FixedIndexType {
  const length = /^OctetString([1-9]\d{0,2})$/.exec(type)?.[1];
  return length !== undefined && Number(length) <= 128;
}

export function isIndexType(type: string): type is IndexType {
  return (indexTypes as readonly string[]).includes(type) || isFixedIndexType(type);
}

/** Reports whether a part takes the whole rest of the suffix, so that it must be the last. */
export function isImplicit(type: IndexType): boolean {
  return type === "ImplicitOctetString" || type === "ImplicitObjectIdentifier";
}

/**
 * Decodes the parts of an index from the suffix after the attribute's OID in an instance. An integer is one sub-identifier, an
 * IpAddress four, a MacAddress six. Octets and OIDs have a length before them, fixed octets have the number in the name of their type,
 * and the Implicit types take the rest.
 *
 * @returns undefined if the suffix is no index of these types: too short, too long, or with octets above 255.
 */
export function decodeIndex(types: readonly IndexType[], suffix: Oid): SnmpValue[] | undefined {
  const parts: SnmpValue[] = [];
  let at = 0;
  for (const type of types) {
    let length = fixedLength(type);
    if (length === undefined) {
      length = isImplicit(type) ? suffix.length - at : suffix[at++];
    }
    if (length === undefined || at + length > suffix.length) return undefined;
    const part = decodePart(type, suffix, at, length);
    if (part === undefined) return undefined;
    parts.push(part);
    at += length;
  }
  return at === suffix.length ? parts : undefined;
}

function fixedLength(type: IndexType): number | undefined {
  if (type in fixedLengths) return fixedLengths[type];
  return isFixedIndexType(type) ? Number(type.slice("OctetString".length)) : undefined;
}

const fixedLengths: Readonly<Record<string, number>> = {
  Integer: 1,
  Integer32: 1,
  Unsigned32: 1,
  IpAddress: 4,
  MacAddress: 6,
};

function decodePart(type: IndexType, suffix: Oid, start: number, length: number): SnmpValue | undefined {
  if (type === "Integer" || type === "Integer32") return { type: "Integer32", value: suffix[start] as number };
  if (type === "Unsigned32") return { type: "Gauge32", value: suffix[start] as number };
  const part = suffix.slice(start, start + length);
  if (type === "ObjectIdentifier" || type === "ImplicitObjectIdentifier") {
    // An OID in an index may be shorter than one in a message.
    return part.length < 2 || isOid(part) ? { type: "ObjectIdentifier", value: part } : undefined;
  }
  if (part.some((octet) => octet > 255)) return undefined;
  const octets = Uint8Array.from(part);
  return { type: type === "IpAddress" || type === "Opaque" ? type : "OctetString", value: octets };
}

/** The first valid year. Clocks that were never set report 0, 1900 or 1970, and the first two are no times. */
const firstYear = 1901;

/**
 * Formats DateAndTime (RFC 2579) as an RFC 3339 time in UTC with tenths of a second. Without time zone octets it is the local time of
 * an unknown place, and is formatted as if it were UTC.
 *
 * @returns undefined for octets that are no time, such as the zeros of an agent without a clock.
 */
function formatDateAndTime(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 8 && bytes.length !== 11) return undefined;
  const [high, low, month, day, hour, minute, second, tenths] = bytes as unknown as Octets;
  const year = high * 256 + low;
  if (year < firstYear || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month))
    return undefined;
  // A leap second has the number 60.
  if (hour > 23 || minute > 59 || second > 60 || tenths > 9) return undefined;
  const offset = bytes.length === 11 ? readOffset(bytes) : 0;
  if (offset === undefined) return undefined;
  const text = new Date(Date.UTC(year, month - 1, day, hour, minute - offset, second, tenths * 100)).toISOString();
  // The shift to UTC can leave the range of years of RFC 3339.
  return text.length === 24 ? `${text.slice(0, 21)}Z` : undefined;
}

type Octets = [number, number, number, number, number, number, number, number];

/** Returns the minutes by which local clocks are ahead of UTC: "+" is east of it. */
function readOffset(bytes: Uint8Array): number | undefined {
  const [sign, hours, minutes] = bytes.subarray(8) as unknown as [number, number, number];
  if ((sign !== 0x2b && sign !== 0x2d) || hours > 14 || minutes > 59) return undefined;
  return (sign === 0x2b ? 1 : -1) * (hours * 60 + minutes);
}

function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * Converts a value by its syntax to the base unit of its quantity: exact numbers, durations in milliseconds, times in RFC 3339,
 * addresses in canonical text. Enumerations give their number or OID; {@link putValue} adds the labels.
 *
 * @returns undefined if the value does not fit the syntax, or is an exception in place of a value.
 */
export function convertValue(syntax: Syntax, value: SnmpValue): Scalar | undefined {
  return converters[syntax.kind](value, syntax);
}

type Converter = (value: SnmpValue, syntax: Syntax) => Scalar | undefined;

const ofOctets =
  (convert: (octets: Uint8Array) => string | undefined): Converter =>
  ({ value }) =>
    value instanceof Uint8Array ? convert(value) : undefined;

const oid: Converter = (value) =>
  value.type === "ObjectIdentifier" ? formatOid(value.value as readonly number[]) : undefined;

const ofText =
  (convert: (octets: Uint8Array) => string): Converter =>
  (value) => {
    if (value.value === null) return undefined;
    if (value.value instanceof Uint8Array) return convert(value.value);
    return value.type === "ObjectIdentifier" ? formatOid(value.value as readonly number[]) : String(value.value);
  };

const hex = ofText(formatHex);

const converters: { readonly [kind in SyntaxKind]: Converter } = {
  number: readNumber,
  interface: readNumber,
  entity: readNumber,
  "lldp-port": readNumber,
  "host-device": readNumber,
  "enum-integer": readNumber,
  blocks: readNumber,
  sensor: readNumber,
  factored: readNumber,
  "optical-power": scaledValue,
  health: readNumber,
  decibel,
  scaled: scaledValue,
  duration: scaledValue,
  temperature,
  truth,
  "text-number": firstNumber,
  "text-percent": percentInText,
  "text-decibel": (value, syntax) => decibelOfMilliwatts(firstNumber(value, syntax) ?? 0),
  text: ofText(formatDisplayString),
  octets: ofText(formatText),
  "lldp-chassis-id": ofText(formatText),
  "lldp-port-id": ofText(formatText),
  hex,
  "enum-bitmap": hex,
  mac: ofOctets(formatMac),
  address: ofOctets(formatIpAddress),
  oid,
  "enum-oid": oid,
  date: ofOctets(formatDateAndTime),
};

function scaledValue(value: SnmpValue, syntax: Syntax): number | bigint | undefined {
  const number = readNumber(value);
  return number === undefined ? undefined : scaleNumber(number, syntax.multiply, syntax.divide);
}

function temperature(value: SnmpValue, syntax: Syntax): number | undefined {
  const degrees = scaledValue(value, syntax);
  if (degrees === undefined) return undefined;
  let celsius = Number(degrees);
  if (syntax.scale === "fahrenheit") celsius = roundToMilli(((celsius - 32) * 5) / 9);
  if (syntax.scale === "kelvin") celsius = roundToMilli(celsius - 273.15);
  return celsius;
}

function decibel(value: SnmpValue, syntax: Syntax): number | undefined {
  return decibelOfMilliwatts(Number(scaledValue(value, syntax)));
}

/** Returns decibels relative to one milliwatt; undefined without power, which would be minus infinity. */
export function decibelOfMilliwatts(milliwatts: number): number | undefined {
  return milliwatts > 0 ? roundToMilli(10 * Math.log10(milliwatts)) : undefined;
}

function roundToMilli(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Reads a TruthValue of RFC 2579: true(1), false(2). */
function truth(value: SnmpValue): boolean | undefined {
  const number = readNumber(value);
  return number === 1 ? true : number === 2 ? false : undefined;
}

/**
 * Formats an address of RFC 4001: 4 or 16 octets, with 4 more for a zone, which records leave out. Agents also send an
 * address as text. Four octets are never read as text, because they may look like it by chance. Other text is no address.
 */
function formatIpAddress(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return formatAddressBytes(bytes, 0, 4);
  const parsed = parseAddress(withoutPadding(formatText(bytes).trim()));
  if (parsed !== undefined) return formatAddress(parsed);
  if (bytes.length === 8) return formatAddressBytes(bytes, 0, 4);
  return bytes.length === 16 || bytes.length === 20 ? formatAddressBytes(bytes, 0, 6) : undefined;
}

/** Removes the zeros with which some agents pad the octets of an address: 010.040.001.039. The octets are decimal. */
function withoutPadding(address: string): string {
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(address) ? address.replace(/\b0+(?=\d)/g, "") : address;
}

/** Returns the first number of a text such as "41 C/106 F" or "-002.2373 dBm: Normal". */
function firstNumber({ value }: SnmpValue, { multiply, divide }: Syntax): number | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const match = /[+-]?\d+(?:\.\d+)?/.exec(formatText(value.subarray(0, 64)));
  return match === null ? undefined : (Number(match[0]) * multiply) / divide;
}

/**
 * Returns the average of a minute from a text such as "5 Secs ( 6.5%) 60 Secs ( 7.1%) 300 Secs ( 6.9%)"; otherwise the first
 * percentage.
 */
function percentInText({ value }: SnmpValue): number | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const said = formatText(value.subarray(0, 128));
  const match = /\b60 ?sec\w* ?\( *([\d.]+) *%/i.exec(said) ?? /([\d.]+) *%/.exec(said) ?? /^ *([\d.]+) *$/.exec(said);
  const percent = match === null ? Number.NaN : Number(match[1]);
  return Number.isNaN(percent) ? undefined : percent;
}
