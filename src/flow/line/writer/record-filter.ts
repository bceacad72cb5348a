import { compileLineFilter, type Filter, type MatchesLine } from "../../../record/index.ts";

/** Which records are wanted. */
export interface RecordFilter {
  readonly filter: Filter;
  /** The same filter for a line. */
  readonly matches: MatchesLine;
  /** How many records were dropped. */
  dropped: number;
}

export function createRecordFilter(filter: Filter): RecordFilter {
  return { filter, matches: compileLineFilter(filter), dropped: 0 };
}

/** Judges a line that the kernel did not write, and counts it when it is not wanted. */
export function acceptLine(filter: RecordFilter, bytes: Buffer, start: number, end: number): boolean {
  const isWanted = filter.matches(bytes, start, end);
  if (!isWanted) filter.dropped++;
  return isWanted;
}
