import { isUtf8 } from "node:buffer";

const printable = /^[^\p{Cc}\p{Cs}\p{Co}\p{Cn}]*$/u;

/**
 * Octets as text, when they are text: UTF-8 without control characters other than line ends and tabs. Trailing zero
 * octets, which C programs leave, do not count. Anything else as lower-case hexadecimal digits, so that nothing is lost.
 */
export function formatText(bytes: Uint8Array): string {
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

/** What a name says, as {@link formatDisplayString} reads text, without blanks around it. Undefined where that is nothing. */
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

export function formatHex(bytes: Uint8Array): string {
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
