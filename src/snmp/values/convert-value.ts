import { isUtf8 } from "node:buffer";
import { type Oid, type ValueType, isOid, formatOid } from "../session/ber.ts";
import { formatAddress, formatAddressBytes, parseAddress } from "../../base/ip/index.ts";
import type { Scalar } from "../../record/index.ts";
import type { Syntax, SyntaxKind } from "./syntaxes-and-units.ts";

/**
 * The number in a value: of any numeric type, in an Opaque float or double (net-snmp: context tags 8 and 9 within a
 * tag of long form), or as decimal text, which agents use for what SNMP has no type for.
 *
 * @returns undefined when there is none; a bigint only for what a double would round.
 */
export function readNumber(value: SnmpValue): number | bigint | undefined {
  const raw = value.value;
  if (typeof raw === "number") return raw;
  if (typeof raw === "bigint") return shorten(raw);
  if (!(raw instanceof Uint8Array)) return undefined;
  if (value.type === "Opaque") return readOpaqueFloat(raw);
  return value.type === "OctetString" ? readDecimalText(raw) : undefined;
}

/** A number where that is exact. */
function shorten(value: bigint): number | bigint {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER ? Number(value) : value;
}

/** Exact for whole factors; a division of what a double cannot hold rounds. */
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

/** The longest number that is text: 20 digits, a sign, a point and some blanks. */
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
 * Octets as text, when they are text: UTF-8 without control characters other than line ends and tabs. Trailing zero
 * octets, which C programs leave, do not count. Anything else as lower-case hexadecimal digits, so that nothing is lost.
 */
function formatText(bytes: Uint8Array): string {
  return readText(withoutZeros(bytes)) ?? formatHex(bytes);
}

/**
 * Octets of a type that holds text, such as DisplayString: like {@link formatText}, but agents put text of other forms
 * there, too. UTF-8 that the agent cut within a character is there without that character. Octets that are mostly
 * ASCII, the others being printable in Latin-1, are Latin-1. Nothing but zero octets is no text.
 */
export function formatDisplayString(bytes: Uint8Array): string {
  if (bytes.every((octet) => octet === 0)) return "";
  const octets = withoutZeros(bytes);
  return readText(octets) ?? readCutText(octets) ?? readLatin1(octets) ?? formatHex(bytes);
}

/** Returns a name, as {@link formatDisplayString} reads text, without blanks around it. Undefined where that is nothing. */
export function readName(bytes: Uint8Array): string | undefined {
  const octets = withoutZeros(bytes);
  const text = readText(octets) ?? readCutText(octets) ?? octets.toString(isUtf8(octets) ? "utf8" : "latin1");
  const name = text.replace(/(?<!\0)\0+$/, "").trim();
  return name === "" ? undefined : name;
}

/** Nothing but zeros is no text, and stays. */
function withoutZeros(bytes: Uint8Array): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return Buffer.from(bytes.buffer, bytes.byteOffset, end === 0 ? bytes.length : end);
}

/** @returns undefined for octets that are no text. */
function readText(octets: Buffer): string | undefined {
  // Nearly all text of devices is of this kind, and needs no look at Unicode's tables.
  if (octets.every(isPrintableAscii)) return octets.toString("latin1");
  if (!isUtf8(octets)) return undefined;
  const text = octets.toString("utf8");
  return printable.test(text.replace(/[\t\r\n]/g, "")) ? text : undefined;
}

/** Whole characters must show that it is UTF-8: an accent of Latin-1 at the end looks like a character cut off, too. */
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

/** An octet of a character of UTF-8 that is not its first. */
function isContinuation(octet: number): boolean {
  return octet >= 0x80 && octet < 0xc0;
}

function formatHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** `00:1b:21:…` for octets of any number; text that already is such an address is brought to that form. */
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

/** The value of a variable binding, or of one part of an instance's index. Counter64 is a bigint. */
export interface SnmpValue {
  readonly type: ValueType;
  readonly value: number | bigint | Uint8Array | Oid | null;
}

/**
 * A value that is kept for a while, as thousands of them are between reading and writing a table: octets as text with a
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

/** Arguments of one call; more would overflow the stack. */
const piece = 4096;

/** Not by a Buffer on the same memory: that would move the octets out of the heap, into an allocation of their own. */
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
/** `OctetString8`: this many octets in every row, and so without their number. */
type FixedIndexType = `OctetString${number}`;
export type IndexType = (typeof indexTypes)[number] | FixedIndexType;

/** `OctetString` with a number from 1 to 128, which is as long as an OID can be. */
export function isFixedIndexType(type: string): type is FixedIndexType {
  const length = /^OctetString([1-9]\d{0,2})$/.exec(type)?.[1];
  return length !== undefined && Number(length) <= 128;
}

export function isIndexType(type: string): type is IndexType {
  return (indexTypes as readonly string[]).includes(type) || isFixedIndexType(type);
}

/** Tells whether a part takes all that is left of the suffix, and so can only come last. */
export function isImplicit(type: IndexType): boolean {
  return type === "ImplicitOctetString" || type === "ImplicitObjectIdentifier";
}

/**
 * The parts of an index from what follows the attribute's OID in an instance: one sub-identifier for an integer, four
 * for an IpAddress, six for a MacAddress, a length and this many for octets and OIDs, as many octets as the name of their
 * type says, and all that is left for the Implicit types.
 *
 * @returns undefined when the suffix is no index of these types: too short, too long, or octets above 255.
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
    // An OID in an index may be shorter than one that could be sent.
    return part.length < 2 || isOid(part) ? { type: "ObjectIdentifier", value: part } : undefined;
  }
  if (part.some((octet) => octet > 255)) return undefined;
  const octets = Uint8Array.from(part);
  return { type: type === "IpAddress" || type === "Opaque" ? type : "OctetString", value: octets };
}

/** A clock that was never set says 0, 1900 or 1970; the first two are no times. */
const firstYear = 1901;

/**
 * DateAndTime (RFC 2579) as an RFC 3339 time in UTC with tenths of a second. Without the time zone octets the local
 * time of an unknown place is all there is; it is given as if it were UTC.
 *
 * @returns undefined for octets that are no time, such as the zeros of an agent that has none.
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
  // The shift to UTC can lead out of the years that RFC 3339 can write.
  return text.length === 24 ? `${text.slice(0, 21)}Z` : undefined;
}

type Octets = [number, number, number, number, number, number, number, number];

/** Minutes by which local clocks are ahead of UTC: "+" is east of it. */
function readOffset(bytes: Uint8Array): number | undefined {
  const [sign, hours, minutes] = bytes.subarray(8) as unknown as [number, number, number];
  if ((sign !== 0x2b && sign !== 0x2d) || hours > 14 || minutes > 59) return undefined;
  return (sign === 0x2b ? 1 : -1) * (hours * 60 + minutes);
}

function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * A value as its syntax reads it, in the base unit of its quantity: numbers exact, durations in milliseconds, times in
 * RFC 3339, addresses in canonical text. Enumerations give their number or OID; {@link putValue} adds the labels.
 *
 * @returns undefined when the value is not one of this syntax, or is an exception in place of a value.
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

/** Returns decibels over a milliwatt. No power is no reading: it is minus infinity. */
export function decibelOfMilliwatts(milliwatts: number): number | undefined {
  return milliwatts > 0 ? roundToMilli(10 * Math.log10(milliwatts)) : undefined;
}

function roundToMilli(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** RFC 2579: true(1), false(2). */
function truth(value: SnmpValue): boolean | undefined {
  const number = readNumber(value);
  return number === 1 ? true : number === 2 ? false : undefined;
}

/**
 * RFC 4001: 4 or 16 octets, with 4 more where a zone follows, which records leave out. Agents also put an address as
 * text; octets that happen to spell an address are only likely when there are 4 of them. Other text is no address.
 */
function formatIpAddress(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return formatAddressBytes(bytes, 0, 4);
  const parsed = parseAddress(withoutPadding(formatText(bytes).trim()));
  if (parsed !== undefined) return formatAddress(parsed);
  if (bytes.length === 8) return formatAddressBytes(bytes, 0, 4);
  return bytes.length === 16 || bytes.length === 20 ? formatAddressBytes(bytes, 0, 6) : undefined;
}

/** Agents that format an address by hand fill its octets up with zeros: 010.040.001.039. They are decimal. */
function withoutPadding(address: string): string {
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(address) ? address.replace(/\b0+(?=\d)/g, "") : address;
}

/** The first number of a text such as "41 C/106 F" or "-002.2373 dBm: Normal". */
function firstNumber({ value }: SnmpValue, { multiply, divide }: Syntax): number | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const match = /[+-]?\d+(?:\.\d+)?/.exec(formatText(value.subarray(0, 64)));
  return match === null ? undefined : (Number(match[0]) * multiply) / divide;
}

/** Reads the average of a minute in text such as "5 Secs ( 6.5%) 60 Secs ( 7.1%) 300 Secs ( 6.9%)", else the first one. */
function percentInText({ value }: SnmpValue): number | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const said = formatText(value.subarray(0, 128));
  const match = /\b60 ?sec\w* ?\( *([\d.]+) *%/i.exec(said) ?? /([\d.]+) *%/.exec(said) ?? /^ *([\d.]+) *$/.exec(said);
  const percent = match === null ? Number.NaN : Number(match[1]);
  return Number.isNaN(percent) ? undefined : percent;
}
