/**
 * What a field's values are, as far as a filter is concerned. `any`: nobody knows beforehand. `protocol` is a number that has names.
 */
export type ValueType = "address" | "number" | "time" | "text" | "boolean" | "protocol" | "any";

/** What a name in a filter stands for. */
export interface KnownField {
  /** Names as records have them; several when one of them is enough. */
  readonly fields: readonly string[];
  readonly type: ValueType;
  /** Such as `bytes`; empty where there is none. */
  readonly unit: string;
  /** All texts that it can have; absent: nobody knows them beforehand. */
  readonly words?: readonly string[];
}

/** The names that filters over one kind of thing may have. */
export interface Vocabulary {
  /** Undefined: there is no such name. */
  find(name: string): KnownField | undefined;
  /** A name that was found, but is so like another one that a slip is likelier; undefined: it is none. */
  slip(name: string): string | undefined;
  /** All names, for the nearest one of a name that is not found. */
  names(): Iterable<string>;
}
