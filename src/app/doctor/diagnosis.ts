import type { diagnosisIds } from "../../server/index.ts";
import type { Facts } from "./facts.ts";

const units = [
  ["day", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** Returns a time span as text, in its two largest units: `3 h`, `1 day 4 h`, `12 s`. */
export function span(ms: number): string {
  let rest = Math.round(Math.abs(ms) / 1000) * 1000;
  const parts: string[] = [];
  for (const [unit, length] of units) {
    const whole = Math.floor(rest / length);
    if (whole > 0) parts.push(`${whole} ${unit === "day" && whole > 1 ? "days" : unit}`);
    else if (parts.length > 0) break;
    rest -= whole * length;
    if (parts.length === 2) break;
  }
  return parts.length > 0 ? parts.join(" ") : "0 s";
}

export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** Returns a count as text: `1 datagram`, `2 datagrams`. */
export function count(value: number, what: string): string {
  return `${number(value)} ${what}${value === 1 ? "" : "s"}`;
}

/** Returns a share in per cent, with two significant digits. */
export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

/** Returns a list as text: `2055, 4739 and 6343`; a long list is cut. */
export function list(items: readonly (string | number)[], most = 8): string {
  const shown = items.length > most ? [...items.slice(0, most), `${items.length - most} more`] : [...items];
  const last = shown.pop();
  if (last === undefined) return "none";
  return shown.length === 0 ? String(last) : `${shown.join(", ")} and ${last}`;
}

export function time(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns a time of day in UTC: `10:05`. */
export function clockTime(ms: number): string {
  return time(ms).slice(11, 16);
}

const byteUnits = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** Returns bytes with three significant digits, by thousands: `1.2 GB`. */
export function bytesText(value: number): string {
  const power = Math.min(byteUnits.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${Number((value / 1000 ** power).toPrecision(3))} ${byteUnits[power]}`;
}

/** Returns an exporter as text: `edge-2 (192.0.2.7)`, or only the address if metadata has no name for it. */
export function exporterText(address: string, { names }: Pick<Facts, "names">): string {
  const name = names.get(address);
  return name === undefined || name === address ? address : `${name} (${address})`;
}

/** Returns groups in the order of their first items. */
export function groupBy<T, K extends string>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * The severity of a finding.
 *
 * - `problem`: flows are missing altogether.
 * - `warning`: flows are incomplete or wrong.
 * - `note`: worth knowing; everything may be in order.
 */
export type Severity = "problem" | "warning" | "note";

/** Plain data. */
type Evidence = Readonly<Record<string, unknown>>;

/** A reason why flows are missing or wrong. */
export interface Diagnosis {
  /** The kind of finding; docs/doctor.md lists them all. */
  readonly id: DiagnosisId;
  readonly severity: Severity;
  /** The exporter concerned; absent: the collector. */
  readonly exporter?: string;
  readonly sentence: string;
  readonly evidence: Evidence;
  /** The recommended action. */
  readonly advice: string;
}

type DiagnosisId = (typeof diagnosisIds)[number];
