import { scopedNumber, type LineEnricher } from "../../record/index.ts";
import type { ExporterAdditions } from "./exporter-additions.ts";
import { maxNumberAddition, writeNumberAddition } from "./number-addition.ts";

/** Writes what an enricher adds to numbers, for code that is not made for a template. */
export interface NumberWriter {
  /** By the position of the name in the list: the number that the record under way has, -1 for none. */
  readonly values: Float64Array;
  /** Returns where what is added ends, or -1 when the record must become fields. */
  write(out: DataView, at: number): number;
  /** Counts what the last call wrote. */
  commit(): void;
  readonly maxLength: number;
}

interface NumberPlace {
  readonly value: number;
  /** -1: there is none. */
  readonly scope: number;
  /** Of those before it, which add the same name: the first that has something counts. */
  readonly before: readonly number[];
}

/**
 * @param names of the decoded numbers that are known.
 * @param written every name that lines may have.
 * @returns undefined where the enricher asks for other numbers among these, or adds one of these names.
 */
export function createNumberWriter(
  { numbers }: LineEnricher,
  { numberTables, numbersAdded }: ExporterAdditions,
  names: readonly string[],
  written: ReadonlySet<string>,
): NumberWriter | undefined {
  const values = new Float64Array(names.length);
  const added = new Uint8Array(numbers.length);
  const places = numbers.map(({ field, scope, adds }, i): NumberPlace => ({
    value: names.indexOf(field),
    scope: scope === undefined ? -1 : names.indexOf(scope),
    before: numbers.flatMap((other, j) => (j < i && other.adds === adds ? [j] : [])),
  }));
  const isKnown = numbers.every(
    ({ field, scope, adds }) =>
      names.includes(field) && (scope === undefined || names.includes(scope)) && !written.has(adds),
  );
  if (!isKnown) return undefined;

  const isAddedBefore = (before: readonly number[]): boolean => {
    for (let i = 0; i < before.length; i++) if (added[before[i] as number] === 1) return true;
    return false;
  };

  return {
    values,
    maxLength: numbers.length * maxNumberAddition,
    write(out, at) {
      let p = at;
      for (let i = 0; i < places.length; i++) {
        added[i] = 0;
        const table = numberTables[i];
        if (table === undefined) continue;
        const { value, scope, before } = places[i] as NumberPlace;
        const number = values[value] as number;
        const scopeNumber = scope < 0 ? 0 : (values[scope] as number);
        if (number < 0 || scopeNumber < 0 || isAddedBefore(before)) continue;
        const end = writeNumberAddition(out, p, table, scope < 0 ? number : scopedNumber(scopeNumber, number));
        if (end < 0) return -1;
        if (end > p) added[i] = 1;
        p = end;
      }
      return p;
    },
    commit() {
      for (let i = 0; i < places.length; i++) {
        if (added[i] === 1) numbersAdded[i] = (numbersAdded[i] as number) + 1;
      }
    },
  };
}
