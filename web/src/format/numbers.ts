/** What a number counts. `seconds` are durations. */
export type Unit =
  | "bit/s"
  | "packets/s"
  | "records/s"
  | "flows/s"
  | "B"
  | "packets"
  | "flows"
  | "records"
  | "seconds"
  | "%"
  | "";

const prefixes = ["", "k", "M", "G", "T", "P", "E"] as const;

/**
 * A number as people read it: three digits that count, an SI prefix (steps of 1 000, for bytes too) and the unit. `1.23 Mbit/s`, `12.3 k records/s`.
 * What is not a number is shown as a dash.
 */
export function formatNumber(value: number | null | undefined, unit: Unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (unit === "seconds") return formatDuration(value);
  if (unit === "%") return `${digits(value)} %`;
  const { text, prefix } = scale(value);
  return [text, joinUnit(prefix, unit)].filter((part) => part !== "").join("\u00a0");
}

/** A share of one as per cent: `31 %`. */
export function formatShare(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<\u00a00.1\u00a0%";
  return `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(1)}\u00a0%`;
}

/** A change against a value before: `+12 %`, `×3.4`; a dash without one before. */
export function formatChange(value: number, previous: number | null | undefined): string {
  if (previous === null || previous === undefined) return "–";
  if (previous === 0) return value === 0 ? "±0\u00a0%" : "new";
  const ratio = value / previous;
  if (ratio >= 2.5) return `×${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio).toString()}`;
  const percent = Math.round((ratio - 1) * 100);
  return percent === 0 ? "±0\u00a0%" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)}\u00a0%`;
}

/** A whole number with all its digits, in groups: `1 234 567`. */
export function formatWhole(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [whole = "", rest] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

/** Seconds as a length of time, by its two largest units: `1 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds > 0 && seconds < 1) return `${digits(seconds * 1000)}\u00a0ms`;
  if (seconds < 10) return `${digits(seconds)}\u00a0s`;
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [size, name] of [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}\u00a0${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

function joinUnit(prefix: string, unit: Unit): string {
  // Short units take the prefix themselves, words stand after it.
  return unit === "B" || unit === "bit/s" ? prefix + unit : [prefix, unit].filter((part) => part !== "").join("\u00a0");
}

function scale(value: number): { readonly text: string; readonly prefix: string } {
  let step = 0;
  let size = Math.abs(value);
  // 999.6 would be shown as 1000.
  while (size >= 999.5 && step < prefixes.length - 1) {
    size /= 1000;
    step++;
  }
  const sign = value < 0 ? "−" : "";
  return { text: sign + digits(size), prefix: prefixes[step] ?? "" };
}

/** Three digits that count, without zeros at the end. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 ? 2 : 3;
  const text = value.toFixed(decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
