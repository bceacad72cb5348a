import type { FieldValues, Scalar, Value } from "../../record/index.ts";
import type { CompareTerm, Filter, FilterTerm, QuantitiesTerm, Quantity } from "../filter.ts";
import { readInstant } from "../check/read-quantity.ts";
import { createAddressSet } from "./address-set.ts";
import { compilePattern } from "./match-pattern.ts";

/** Whether something with fields matches a filter. Never throws. */
export type Matches = (of: FieldValues) => boolean;

/** Compiles a filter, once for all that it is asked of. */
export function compileFilter(filter: Filter): Matches {
  if ("fields" in filter) return anyField(filter.fields, compileTerm(filter));
  if (filter.kind === "not") {
    const inner = compileFilter(filter.filter);
    return (of) => !inner(of);
  }
  const filters = filter.filters.map(compileFilter);
  if (filter.kind === "and") {
    return (of) => {
      for (let i = 0; i < filters.length; i++) if (!(filters[i] as Matches)(of)) return false;
      return true;
    };
  }
  return (of) => {
    for (let i = 0; i < filters.length; i++) if ((filters[i] as Matches)(of)) return true;
    return false;
  };
}

type Judge = (value: Scalar) => boolean;

function anyField(fields: readonly string[], judge: Judge): Matches {
  const [first = "", ...others] = fields;
  const isTrueOf = (value: Value | undefined): boolean => {
    if (value === undefined) return false;
    return typeof value === "object" ? value.some(judge) : judge(value);
  };
  if (others.length === 0) return (of) => isTrueOf(of.get(first));
  return (of) => fields.some((field) => isTrueOf(of.get(field)));
}

function compileTerm(term: FilterTerm): Judge {
  switch (term.kind) {
    case "exists":
      return () => true;
    case "compare":
      return compareJudge(term);
    case "quantities":
      return rangesJudge(term);
    case "addresses": {
      const set = createAddressSet(term.keys);
      return (value) => typeof value === "string" && set.hasText(value);
    }
    case "texts": {
      const values = new Set(term.values);
      return (value) => values.has(typeof value === "string" ? value : String(value));
    }
    case "pattern": {
      const hasPattern = compilePattern(term.pattern);
      return (value) => hasPattern(String(value));
    }
    case "flag":
      break;
  }
  return (value) => value === term.value;
}

/** The quantity that a value is; undefined when it is none. */
function quantityOf(of: "number" | "time", value: Scalar): Quantity | undefined {
  if (of === "time") return typeof value === "string" ? readInstant(value) : undefined;
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

function compareJudge({ of, operator, value: limit }: CompareTerm): Judge {
  const compare: Readonly<Record<CompareTerm["operator"], (value: Quantity) => boolean>> = {
    "<": (value) => value < limit,
    "<=": (value) => value <= limit,
    ">": (value) => value > limit,
    ">=": (value) => value >= limit,
  };
  const isTrue = compare[operator];
  return (value) => {
    const quantity = quantityOf(of, value);
    return quantity !== undefined && isTrue(quantity);
  };
}

/** Numbers with a fraction may lie between whole ones, so ranges are looked through and not merged. */
function rangesJudge({ of, ranges }: QuantitiesTerm): Judge {
  const single = new Set(ranges.filter(({ first, last }) => first === last).map(({ first }) => first));
  const wide = ranges.filter(({ first, last }) => first !== last);
  return (value) => {
    const quantity = quantityOf(of, value);
    if (quantity === undefined) return false;
    return single.has(quantity) || wide.some(({ first, last }) => first <= quantity && quantity <= last);
  };
}
