/** A condition: a comparison that holds for a time, missing records, or a key that was never seen. */
export type Condition =
  | Comparison
  | { readonly kind: "silent"; readonly forMs: number }
  /** Fires for a key not seen for a month. Nothing is new before the rule has run for `afterMs`. */
  | { readonly kind: "new"; readonly afterMs: number };

/** A comparison, with the unit of its limit. */
export interface Comparison {
  readonly kind: "compare";
  readonly operator: Operator;
  readonly limit: number;
  /** `plain`: the unit of the measure. `percent`: percent of a whole. `speed`: percent of the interface speed. `usual`: a multiple of the usual value. */
  readonly unit: "plain" | "percent" | "speed" | "usual";
  readonly forMs: number;
}

const operators = [">=", "<=", ">", "<"] as const;
type Operator = (typeof operators)[number];

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const factors: Readonly<Record<string, number>> = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const dayMs = 86_400_000;
/** Learning time before any key is new: weekly events must be known by then. */
const usualAfterMs = 7 * dayMs;

/** Reads a time such as `20s` or `5m`, up to 30 days or a given maximum. @returns milliseconds; undefined for any other text. */
export function readSpan(text: string, mostMs = 30 * dayMs): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,8})\s?([smhd])$/.exec(text) ?? [];
  const ms = 1000 * Number(digits) * (units[unit] ?? Number.NaN);
  return ms > 0 && ms <= mostMs ? ms : undefined;
}

/** Reads a number such as `10M`. */
export function readQuantity(text: string): number | undefined {
  const [, digits, factor = ""] = /^(\d{1,15}(?:\.\d{1,6})?) ?([kKMGT]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (factors[factor] ?? 1);
}

/** Reads the text of `when`. @returns undefined for an invalid text. */
export function readCondition(text: string): Condition | undefined {
  const silent = /^silent for (\S+)$/.exec(text);
  if (silent !== null) {
    const forMs = readSpan(silent[1] ?? "");
    return forMs === undefined || forMs > usualAfterMs ? undefined : { kind: "silent", forMs };
  }
  const seen = /^new(?: after (\S+))?$/.exec(text);
  if (seen !== null) {
    const afterMs = seen[1] === undefined ? usualAfterMs : readSpan(seen[1]);
    return afterMs === undefined ? undefined : { kind: "new", afterMs };
  }
  return readComparison(text);
}

/** Reads a comparison such as `> 500M for 20s`. @returns undefined for any other text. */
export function readComparison(text: string): Comparison | undefined {
  const found =
    /^([<>]=?) ?(-?\d{1,15}(?:\.\d{1,6})?) ?(?:([kKMGT]?)|(% of speed)|(%)|([x×] ?usual))(?: for (\S+))?$/.exec(text);
  if (found === null) return undefined;
  const [, operator, digits, factor = "", speed, percent, usual, span] = found;
  const forMs = span === undefined ? 0 : readSpan(span);
  if (forMs === undefined || forMs > 7 * dayMs) return undefined;
  const unit =
    speed !== undefined ? "speed" : percent !== undefined ? "percent" : usual !== undefined ? "usual" : "plain";
  return {
    kind: "compare",
    operator: operator as Operator,
    limit: Number(digits) * (factors[factor] ?? 1),
    unit,
    forMs,
  };
}

const comparisons: Readonly<Record<Operator, (value: number, limit: number) => boolean>> = {
  ">": (value, limit) => value > limit,
  ">=": (value, limit) => value >= limit,
  "<": (value, limit) => value < limit,
  "<=": (value, limit) => value <= limit,
};

/** Reports whether a comparison of a value with a limit holds. It never holds for NaN. */
export function holds(operator: Operator, value: number, limit: number): boolean {
  return comparisons[operator](value, limit);
}

/** The share by which a value must stay below, or above, the limit to end an alert by default. */
const hysteresis = 0.2;
const usualClearMs = 60_000;

/** Returns the condition that ends an alert of a rule without one. Undefined where the first record, or time, ends it. */
export function usualClear(when: Condition): Comparison | undefined {
  if (when.kind !== "compare") return undefined;
  const isAbove = when.operator.startsWith(">");
  const margin = hysteresis * Math.abs(when.limit);
  return {
    ...when,
    operator: isAbove ? "<" : ">",
    limit: isAbove ? when.limit - margin : when.limit + margin,
    forMs: Math.max(when.forMs, usualClearMs),
  };
}
