import type { SnmpValue } from "./snmp-value.ts";

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
export function shorten(value: bigint): number | bigint {
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
