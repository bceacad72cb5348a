import { hash } from "node:crypto";
import { formatAddress, KeyError, parseAddress, parseKey, unmapAddress, type Key } from "../../base/ip/index.ts";

/** The form of the keys of a store: addresses, or other things that have names. */
export type KeyForm = "addresses" | "names";

/** Reads a key as a person writes it. @throws KeyError that quotes the text and says what is expected. */
export type ReadKey = (text: string) => Key;

/** Transport protocols whose ports have names, by their numbers. */
export const portProtocols = { tcp: 6, udp: 17, dccp: 33, sctp: 132 } as const;

const forms = {
  interface: "interface:<exporter>/<index or name>",
  as: "as:<number>",
  vlan: "vlan:<exporter or *>/<id>",
  port: "port:<tcp, udp, sctp or dccp>/<number>",
  mac: "mac:<address, or its first bytes>",
} as const;
const kinds = Object.keys(forms) as (keyof typeof forms)[];
const namePattern = /^(interface|as|vlan|port|mac):/;

/** The most characters of a key, whose length is stored in one byte. */
const longest = 255;

// Keys of names use values outside the addresses in use, so that one index can sort them. From the highest bit down they have the kind (8 bits),
// the exporter (32), the type of its part (8) and the part (80). A value that does not fit is replaced by its digest.
const partBits = 80n;
const restBits = 120n;
const wholePart = 0n;
const digestPart = 1n;
const wholeExporter = 0n;
const digestExporter = 2n;
const anyExporter = 4n;

/**
 * Reads the key of a name ({@link forms}). A key writes some characters of interface names as `%` and two hexadecimal digits for each byte of UTF-8:
 * quotes, backslashes, `%`, blanks at the ends, and all characters that are not ASCII.
 *
 * @throws KeyError
 */
export const parseNameKey: ReadKey = (text) => {
  const kind = namePattern.exec(text)?.[1] as keyof typeof forms | undefined;
  if (kind === undefined) {
    throw new KeyError(text, `is no key of a name: expected ${kinds.map((each) => forms[each]).join(", ")}`);
  }
  if (text.length > longest) throw badKey(text, `has ${text.length} characters, more than ${longest}`);
  return readers[kind](text, text.slice(kind.length + 1));
};

export const keyReaders: Readonly<Record<KeyForm, ReadKey>> = { addresses: parseKey, names: parseNameKey };

/** Reads a key of either form, as the index and the collector's own files have it. No text is valid in both forms. */
export function parseStoredKey(text: string): Key {
  return namePattern.test(text) ? parseNameKey(text) : parseKey(text);
}

const readers: Readonly<Record<keyof typeof forms, (text: string, rest: string) => Key>> = {
  interface(text, rest) {
    const [exporter, given] = splitExporter(text, rest, "interface");
    // Digits may also be written as `%31`.
    const name = canonicalName(text, given);
    const index = numberOf(name, 0xffff_ffff);
    if (index === undefined && /^\d+$/.test(name)) {
      throw badKey(text, "has an ifIndex that is none: expected 0 to 4294967295, without leading zeros");
    }
    return exporterKey("interface", exporter, name, index);
  },
  as(text, rest) {
    const number = numberOf(rest, 0xffff_ffff);
    if (number === undefined) throw badKey(text, `is no AS number: expected ${forms.as}, from 0 to 4294967295`);
    return pointKey("as", `as:${number}`, BigInt(number));
  },
  vlan(text, rest) {
    const [exporter, name] = splitExporter(text, rest, "vlan");
    const id = numberOf(name, 4094);
    if (id === undefined || id === 0) throw badKey(text, `has no VLAN: expected ${forms.vlan}, the id from 1 to 4094`);
    return exporterKey("vlan", exporter, String(id), id);
  },
  port(text, rest) {
    const [, protocol = "", port = ""] = /^([a-z]*)\/(.*)$/s.exec(rest) ?? [];
    const id = (portProtocols as Readonly<Record<string, number>>)[protocol];
    const number = numberOf(port, 65_535);
    if (id === undefined || number === undefined) {
      throw badKey(text, `is no port: expected ${forms.port}, the number from 0 to 65535`);
    }
    return pointKey("port", `port:${protocol}/${number}`, (BigInt(id) << 16n) | BigInt(number));
  },
  mac(text, rest) {
    const [, bytes = "", separator, length] =
      /^([\da-f]{2}(?:([:-])[\da-f]{2}(?:\2[\da-f]{2})*)?)(?:\/(\d{1,2}))?$/i.exec(rest) ?? [];
    const hex = separator === undefined ? bytes : bytes.replaceAll(separator, "");
    const bits = length === undefined ? 4 * hex.length : Number(length);
    if (hex === "" || hex.length > 12 || bits === 0 || bits > 4 * hex.length) {
      throw badKey(text, `is no MAC address: expected ${forms.mac}, as 00:00:5e:00:53:01, 00:00:5e or 00:55:da:10/28`);
    }
    return macKey(text, BigInt(`0x${hex.padEnd(12, "0")}`), bits);
  },
};

/** Returns the error for a bad key. It does not mention blanks, which names of interfaces may have. */
function badKey(text: string, why: string): KeyError {
  return new KeyError(text, why, true);
}

/** Reads a decimal number without leading zeros. */
function numberOf(text: string, most: number): number | undefined {
  const number = /^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : Number.NaN;
  return number <= most ? number : undefined;
}

/** The exporter of a key: its text, its value, and a number for the form of that value. */
type Exporter = readonly [text: string, value: bigint, form: bigint];

function splitExporter(
  text: string,
  rest: string,
  kind: "interface" | "vlan",
): readonly [exporter: Exporter, name: string] {
  const slash = rest.indexOf("/");
  const given = slash < 0 ? rest : rest.slice(0, slash);
  const name = slash < 0 ? "" : rest.slice(slash + 1);
  if (name === "") throw badKey(text, `has nothing behind the exporter: expected ${forms[kind]}`);
  if (kind === "vlan" && given === "*") return [["*", 0n, anyExporter], name];
  const address = parseAddress(given);
  if (address === undefined) throw badKey(text, `names no exporter by its IP address: expected ${forms[kind]}`);
  const unmapped = unmapAddress(address);
  const canonical = formatAddress(unmapped);
  if (unmapped.family === 4) return [[canonical, unmapped.value, wholeExporter], name];
  return [[canonical, digest(canonical, 32n), digestExporter], name];
}

/** @param number the part as a number; undefined where it is not one. */
function exporterKey(kind: "interface" | "vlan", exporter: Exporter, name: string, number: number | undefined): Key {
  const [shown, value, as] = exporter;
  const text = `${kind}:${shown}/${name}`;
  if (text.length > longest) throw badKey(text, `has ${text.length} characters, more than ${longest}`);
  const isWhole = number !== undefined && as !== digestExporter;
  const form = as | (number === undefined ? digestPart : wholePart);
  const part = isWhole ? BigInt(number) : digest(text, partBits);
  return pointKey(kind, text, (value << 88n) | (form << partBits) | part);
}

/** Returns the name as a key writes it. */
function canonicalName(text: string, given: string): string {
  try {
    const name = decodeURIComponent(given);
    if (given.trim() !== given) throw badKey(text, "has a blank at an end of the name: write %20");
    return name.replaceAll(/^\s|\s$|[^ -~]+|["\\%]/gu, (signs) => encodeURIComponent(signs));
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw badKey(text, "has a % without two hexadecimal digits, or what is no text in UTF-8: write %25 for %");
  }
}

function digest(text: string, bits: bigint): bigint {
  return BigInt(`0x${hash("sha256", text)}`) >> (256n - bits);
}

function pointKey(kind: keyof typeof forms, text: string, rest: bigint): Key {
  const value = (BigInt(16 * (kinds.indexOf(kind) + 1)) << restBits) | rest;
  return { kind: "ip", family: 6, first: value, last: value, written: value, text };
}

function macKey(given: string, address: bigint, bits: number): Key {
  const host = (1n << BigInt(48 - bits)) - 1n;
  if ((address & host) !== 0n) throw badKey(given, `has bits behind the first ${bits}: they must be 0`);
  const shown = Math.ceil(bits / 8);
  const octets = Array.from({ length: shown }, (_, i) => Number((address >> BigInt(40 - 8 * i)) & 0xffn));
  const hex = octets.map((octet) => octet.toString(16).padStart(2, "0")).join(":");
  const key = pointKey("mac", `mac:${hex}${bits % 8 === 0 ? "" : `/${bits}`}`, address);
  return bits === 48 ? key : { ...key, kind: "range", last: key.first | host };
}
