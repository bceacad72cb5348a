/** Counters that are added up. */
export const summedFields: readonly string[] = ["", "reverse."].flatMap((direction) =>
  ["", "raw.", "scaled."].flatMap((kind) => ["bytes", "packets"].map((unit) => `flow.${direction}${kind}${unit}`)),
);

/** Whole numbers that are added up: exact, whatever they grow to. */
export interface Sums {
  /** Adds the digits from one place up to another to a number. */
  add(index: number, from: Buffer, start: number, end: number): void;
  /** Undefined for a number that nothing was added to. */
  text(index: number): string | undefined;
}

/** Digits that are exact in a double. */
const exactDigits = 15;

/** Whether a value is a whole number without a sign. */
export function isWhole(from: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (((from[at] as number) ^ 0x30) > 9) return false;
  return end > start;
}

export function createSums(): Sums {
  /** What does not fit any longer goes from the doubles to the bigints. */
  const small: (number | undefined)[] = [];
  const large: bigint[] = [];
  return {
    add(index, from, start, end) {
      if (end - start > exactDigits) {
        large[index] = (large[index] ?? 0n) + BigInt(from.toString("latin1", start, end));
        small[index] ??= 0;
        return;
      }
      let value = 0;
      for (let at = start; at < end; at++) value = 10 * value + (from[at] as number) - 0x30;
      const sum = (small[index] ?? 0) + value;
      if (sum <= Number.MAX_SAFE_INTEGER) {
        small[index] = sum;
        return;
      }
      large[index] = (large[index] ?? 0n) + BigInt(small[index] ?? 0);
      small[index] = value;
    },
    text(index) {
      const rest = small[index];
      const whole = large[index];
      if (rest === undefined) return undefined;
      return whole === undefined ? String(rest) : String(whole + BigInt(rest));
    },
  };
}
