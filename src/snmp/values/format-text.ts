import { isUtf8 } from "node:buffer";

const printable = /^[^\p{Cc}\p{Cs}\p{Co}\p{Cn}]*$/u;

/**
 * Octets as text, when they are text: UTF-8 without control characters other than line ends and tabs. Trailing zero
 * octets, which C programs leave, do not count. Anything else as lower-case hexadecimal digits, so that nothing is lost.
 */
export function formatText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = buffer.length;
  while (end > 0 && buffer[end - 1] === 0) end--;
  if (end === 0 && buffer.length > 0) return formatHex(bytes);
  const octets = buffer.subarray(0, end);
  // Nearly all text of devices is of this kind, and needs no look at Unicode's tables.
  if (octets.every((octet) => octet >= 0x20 && octet < 0x7f)) return octets.toString("latin1");
  if (isUtf8(octets)) {
    const text = octets.toString("utf8");
    if (printable.test(text.replace(/[\t\r\n]/g, ""))) return text;
  }
  return formatHex(bytes);
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
