/** A comparison with a limit that holds for a time, records that stay away, or a key that was never seen. */
export type Condition =
  | Comparison
  | { readonly kind: "silent"; readonly forMs: number }
  /** Not seen for a month. Before `afterMs` of looking nothing is new. */
  | { readonly kind: "new"; readonly afterMs: number };

/** A comparison; what its limit is a number of. */
export interface Comparison {
  readonly kind: "compare";
  readonly operator: Operator;
  readonly limit: number;
  /** `plain`: as the measure; `percent`: of a whole; `speed`: percent of the interface's; `usual`: times what is usual. */
  readonly unit: "plain" | "percent" | "speed" | "usual";
  readonly forMs: number;
}

const operators = [">=", "<=", ">", "<"] as const;
type Operator = (typeof operators)[number];

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const factors: Readonly<Record<string, number>> = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const dayMs = 86_400_000;
/** What happens once a week is to be known before anything is called new. */
const usualAfterMs = 7 * dayMs;

/** Reads a time such as `20s` or `5m`, up to 30 days or a given time. @returns milliseconds; undefined for another text. */
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

/** Reads what `when` says. @returns undefined for a text that says nothing. */
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

/** Reads a comparison such as `> 500M for 20s`. @returns undefined for another text. */
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

/** Tells whether a value is as a comparison says of a limit; never of one that is no number. */
export function holds(operator: Operator, value: number, limit: number): boolean {
  return comparisons[operator](value, limit);
}

/** Alerts end where a value stays this part below, or above, the limit. */
const hysteresis = 0.2;
const usualClearMs = 60_000;

/** The condition that ends an alert where the rule names none; undefined: the first record does, or the time. */
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
