import { createLineValues } from "../../record/index.ts";
import type { Filter } from "../filter.ts";
import { compileFilter } from "./compile-filter.ts";

/** Whether the line of a record matches a filter, from its brace at `start` up to `end`. */
export type MatchesLine = (bytes: Buffer, start: number, end: number) => boolean;

/** Compiles a filter for lines as the collector writes them. */
export function compileLineFilter(filter: Filter): MatchesLine {
  const matches = compileFilter(filter);
  const values = createLineValues();
  return (bytes, start, end) => {
    values.use(bytes, start, end);
    return matches(values);
  };
}
