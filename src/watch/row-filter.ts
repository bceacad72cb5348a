import { compileFilter, type Filter, type Matches } from "../record/index.ts";
import type { Rows } from "./batch-rows.ts";
import type { ValueCodes } from "./value-codes.ts";
import { longer } from "./windows.ts";

/** A filter over the rows in use. */
export interface RowFilter {
  passes(row: number): boolean;
  /** Writes those of the first `count` rows that pass to a list, which may be the same one. @returns their number. */
  keep(from: Uint32Array, count: number, to: Uint32Array): number;
}

const [isUnknown, isRefused, isPassed] = [0, 1, 2];

/** A condition on one field. It is decided once for each value, as long as values have codes. */
class FieldPart implements RowFilter {
  readonly #rows: Rows;
  readonly #field: string;
  readonly #matches: Matches;
  #batch = -1;
  #codes: ValueCodes | undefined;
  #epoch = -1;
  /** Decisions by code. */
  #decided = new Uint8Array(0);

  constructor(rows: Rows, field: string, filter: Filter) {
    this.#rows = rows;
    this.#field = field;
    this.#matches = compileFilter(filter);
  }

  passes(row: number): boolean {
    if (this.#batch !== this.#rows.batch) this.#use();
    const code = this.#codes?.rows[row];
    const decided = code === undefined ? isUnknown : (this.#decided[code] ?? isUnknown);
    return decided === isUnknown ? this.#decide(row, code) : decided === isPassed;
  }

  keep(from: Uint32Array, count: number, to: Uint32Array): number {
    this.#use();
    const codes = this.#codes?.rows;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const row = from[i] as number;
      const decided = codes === undefined ? isUnknown : this.#decided[codes[row] as number];
      if (decided === isPassed || (decided !== isRefused && this.#decide(row, codes?.[row]))) to[kept++] = row;
    }
    return kept;
  }

  #use(): void {
    this.#batch = this.#rows.batch;
    this.#codes = this.#rows.codes(this.#field);
    if (this.#codes === undefined || this.#codes.epoch === this.#epoch) return;
    this.#epoch = this.#codes.epoch;
    this.#decided.fill(isUnknown);
  }

  #decide(row: number, code: number | undefined): boolean {
    this.#rows.row = row;
    const passes = this.#matches(this.#rows);
    if (code === undefined) return passes;
    if (code >= this.#decided.length) this.#decided = longer(this.#decided, Math.max(64, 2 * code));
    this.#decided[code] = passes ? isPassed : isRefused;
    return passes;
  }
}

/** Parts of which all or one must pass, or a part that must not pass. */
class JoinedPart implements RowFilter {
  readonly #kind: "and" | "or" | "not";
  readonly #parts: readonly RowFilter[];

  constructor(kind: "and" | "or" | "not", parts: readonly RowFilter[]) {
    this.#kind = kind;
    this.#parts = parts;
  }

  passes(row: number): boolean {
    const isAnd = this.#kind === "and";
    for (let i = 0; i < this.#parts.length; i++)
      if ((this.#parts[i] as RowFilter).passes(row) !== isAnd) return this.#kind === "or";
    return this.#kind !== "or";
  }

  keep(from: Uint32Array, count: number, to: Uint32Array): number {
    if (this.#kind === "and") {
      let [rows, kept] = [from, count];
      for (const part of this.#parts) {
        kept = part.keep(rows, kept, to);
        rows = to;
      }
      return kept;
    }
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const row = from[i] as number;
      if (this.passes(row)) to[kept++] = row;
    }
    return kept;
  }
}

/** Compiles a filter for rows. */
export function compileRowFilter(filter: Filter, rows: Rows): RowFilter {
  const [field = "", ...others] = new Set(filterFields(filter));
  if (others.length === 0) return new FieldPart(rows, field, filter);
  if ("fields" in filter) {
    const parts = filter.fields.map((each) => new FieldPart(rows, each, { ...filter, fields: [each] }));
    return new JoinedPart("or", parts);
  }
  const filters = filter.kind === "not" ? [filter.filter] : filter.filters;
  return new JoinedPart(
    filter.kind,
    filters.map((each) => compileRowFilter(each, rows)),
  );
}

/** Returns the fields that a filter reads. */
export function filterFields(filter: Filter): readonly string[] {
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? filterFields(filter.filter) : filter.filters.flatMap(filterFields);
}
