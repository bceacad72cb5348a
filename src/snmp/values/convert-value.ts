import { formatAddress, formatAddressBytes, parseAddress } from "../../base/ip/index.ts";
import type { Scalar } from "../../record/index.ts";
import { formatOid } from "../session/oid.ts";
import { formatDisplayString, formatHex, formatMac, formatText } from "./format-text.ts";
import { readNumber, scaleNumber } from "./read-number.ts";
import type { SnmpValue } from "./snmp-value.ts";
import type { Syntax, SyntaxKind } from "./syntax.ts";

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
  "optical-power": scaled,
  health: readNumber,
  decibel,
  scaled,
  duration: scaled,
  temperature,
  truth,
  "text-number": firstNumber,
  "text-percent": percentInText,
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

function scaled(value: SnmpValue, syntax: Syntax): number | bigint | undefined {
  const number = readNumber(value);
  return number === undefined ? undefined : scaleNumber(number, syntax.multiply, syntax.divide);
}

function temperature(value: SnmpValue, syntax: Syntax): number | undefined {
  const degrees = scaled(value, syntax);
  if (degrees === undefined) return undefined;
  let celsius = Number(degrees);
  if (syntax.scale === "fahrenheit") celsius = roundToMilli(((celsius - 32) * 5) / 9);
  if (syntax.scale === "kelvin") celsius = roundToMilli(celsius - 273.15);
  return celsius;
}

function decibel(value: SnmpValue, syntax: Syntax): number | undefined {
  return decibelOfMilliwatts(Number(scaled(value, syntax)));
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

/** Of averages such as "5 Secs ( 6.5%) 60 Secs ( 7.1%) 300 Secs ( 6.9%)" that of a minute, else the first one. */
function percentInText({ value }: SnmpValue): number | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const said = formatText(value.subarray(0, 128));
  const match = /\b60 ?sec\w* ?\( *([\d.]+) *%/i.exec(said) ?? /([\d.]+) *%/.exec(said) ?? /^ *([\d.]+) *$/.exec(said);
  const percent = match === null ? Number.NaN : Number(match[1]);
  return Number.isNaN(percent) ? undefined : percent;
}
