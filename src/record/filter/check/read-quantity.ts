import type { Quantity } from "../filter.ts";

/** Units that a value may have, with the factor to the unit of its field as a fraction. */
type UnitTable = Readonly<Record<string, readonly [times: number, by: number]>>;

const prefixes = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 } as const;
const binaryPrefixes = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 } as const;

/** Returns the table of all prefixes before the given units; `by` of these units make one of the field's. */
function prefixed(units: readonly string[], by = 1): UnitTable {
  const all = Object.entries({ ...prefixes, ...binaryPrefixes });
  return Object.fromEntries(units.flatMap((unit) => all.map(([prefix, times]) => [`${prefix}${unit}`, [times, by]])));
}

const counts: UnitTable = Object.fromEntries(Object.entries(prefixes).map(([prefix, times]) => [prefix, [times, 1]]));
const nanoseconds: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 60e9,
  m: 60e9,
  h: 3600e9,
  d: 86_400e9,
};

const durations = (unit: number): UnitTable =>
  Object.fromEntries(Object.entries(nanoseconds).map(([name, length]) => [name, [length, unit]]));

const units: Readonly<Record<string, UnitTable>> = {
  bytes: { ...counts, ...prefixed(["B"]), ...prefixed(["bit"], 8) },
  bits: { ...counts, ...prefixed(["bit"]) },
  "bits/s": { ...counts, ...prefixed(["bit/s", "bps"]) },
  percent: { "": [1, 1], "%": [1, 1] },
  nanoseconds: { "": [1, 1], ...durations(1) },
  microseconds: { "": [1, 1], ...durations(1e3) },
  milliseconds: { "": [1, 1], ...durations(1e6) },
  seconds: { "": [1, 1], ...durations(1e9) },
};

/** Returns the spellings of the units that a field's value may have, for messages. */
export function unitNames(unit: string): readonly string[] {
  return Object.keys(units[unit] ?? counts).filter((name) => name !== "");
}

/**
 * Reads a number with or without a unit: `1500`, `1_500`, `1.5MB`, `-3`. Whole numbers beyond 2^53 are bigints.
 *
 * @param unit the unit of the field and of the result.
 * @returns undefined if the text is no such number.
 */
export function readQuantity(text: string, unit: string): Quantity | undefined {
  const match = /^(-?)([0-9][0-9_]*)(?:\.([0-9]+))?([A-Za-zµ/%]*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", name = ""] = match;
  const table = units[unit] ?? counts;
  const factor = Object.hasOwn(table, name) ? table[name] : undefined;
  if (factor === undefined) return undefined;
  const [times, by] = factor;
  // Whole numbers keep the result exact for every unit.
  const scaled = BigInt(whole.replaceAll("_", "") + fraction) * BigInt(times) * (sign === "" ? 1n : -1n);
  const divisor = 10n ** BigInt(fraction.length) * BigInt(by);
  if (scaled % divisor !== 0n) return Number(scaled) / Number(divisor);
  const value = scaled / divisor;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/**
 * Reads an instant: RFC 3339 with up to nine decimals, or a day, which means its first instant in UTC.
 *
 * @returns nanoseconds since the epoch; undefined if the text is no instant.
 */
export function readInstant(text: string): bigint | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d))?$/.exec(text);
  if (match === null) return undefined;
  const [, day = "", time = "00:00:00", fraction = "", zone = "Z"] = match;
  const milliseconds = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(milliseconds)) return undefined;
  // JavaScript turns a day that its month lacks into one of the next month.
  const isReal = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return isReal ? BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0")) : undefined;
}
