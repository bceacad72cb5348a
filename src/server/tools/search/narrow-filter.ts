import type { Filter } from "../../../record/index.ts";
import type { Key } from "../../../base/ip/index.ts";
import { findInJson, type FindBytes } from "./find-bytes.ts";

/** What can be known of the entries that match a filter before they are looked into. */
export interface Narrowed {
  /** Of each, one has to be found in the JSON of an entry. */
  readonly anyOf: readonly (readonly FindBytes[])[];
  /** They lie within this key. */
  readonly within: Key | undefined;
  /** They are in one of these layers. */
  readonly layers: readonly string[] | undefined;
  /** Whether the filter asks which layer an entry is in. */
  readonly asksForLayers: boolean;
  /** They have this tag. */
  readonly tag: string | undefined;
  /** Whether they all say where they apply. */
  readonly haveContexts: boolean;
  /** Whether the filter asks for what the JSON of entries does not have. */
  readonly asksForContexts: boolean;
}

/** More alternatives take longer to be looked for than entries to be looked into. */
const mostAlternatives = 4;
const nothing: Narrowed = {
  anyOf: [],
  within: undefined,
  layers: undefined,
  asksForLayers: false,
  tag: undefined,
  haveContexts: false,
  asksForContexts: false,
};

export function narrowFilter(filter: Filter | undefined): Narrowed {
  if (filter === undefined) return nothing;
  const terms = filter.kind === "and" ? filter.filters : [filter];
  const textsFor = (field: string): readonly (readonly string[])[] =>
    terms.flatMap((term) => (term.kind === "texts" && term.fields[0] === field ? [term.values] : []));
  const keys = terms.flatMap((term) => (term.kind === "addresses" ? [term.keys] : []));
  return {
    anyOf: terms.flatMap((term) => {
      const found = alternatives(term);
      return found === undefined ? [] : [found];
    }),
    layers: textsFor("layer")[0],
    asksForLayers: hasField(filter, "layer"),
    tag: textsFor("tags").find(({ length }) => length === 1)?.[0],
    within: keys.find((each) => each.length === 1)?.[0],
    haveContexts: terms.some((term) => "fields" in term && term.fields.includes("contexts")),
    asksForContexts: hasField(filter, "contexts"),
  };
}

/** An entry that matches the filter has one of these; undefined: nobody knows. */
function alternatives(filter: Filter): readonly FindBytes[] | undefined {
  if (filter.kind === "or") {
    const all = filter.filters.map(alternatives);
    const flat = all.flatMap((each) => each ?? []);
    return all.includes(undefined) || flat.length > mostAlternatives ? undefined : flat;
  }
  const texts = textsOf(filter);
  if (texts === undefined || texts.length > mostAlternatives) return undefined;
  const found = texts.map(findInJson);
  return found.includes(undefined) ? undefined : (found as FindBytes[]);
}

function textsOf(filter: Filter): readonly string[] | undefined {
  // What contexts and layers say is not in the JSON, and numbers may be written in other ways.
  if (!("fields" in filter) || filter.fields.includes("contexts") || filter.fields.includes("layer")) return undefined;
  if (filter.kind === "texts") return filter.values;
  return filter.kind === "pattern" && !/[*?^$\\]/.test(filter.pattern) ? [filter.pattern] : undefined;
}

function hasField(filter: Filter, name: string): boolean {
  if ("filters" in filter) return filter.filters.some((each) => hasField(each, name));
  if (filter.kind === "not") return hasField(filter.filter, name);
  return "fields" in filter && filter.fields.includes(name);
}
