/**
 * What a list of RFC 6313 says of its elements (IANA, "IPFIX Structured Data Types Semantics"), as a segment of a name.
 * What is not assigned counts as undefined.
 */
export type ListSemantic = "none_of" | "exactly_one_of" | "one_or_more_of" | "all_of" | "ordered" | "undefined";

const semantics: readonly ListSemantic[] = ["none_of", "exactly_one_of", "one_or_more_of", "all_of", "ordered"];

export function listSemantic(code: number): ListSemantic {
  return semantics[code] ?? "undefined";
}

/** Whether all elements are properties of the record that has the list; of the others this is not known, or not so. */
export function holdsForRecord(semantic: ListSemantic): boolean {
  return semantic === "all_of" || semantic === "ordered" || semantic === "undefined";
}
