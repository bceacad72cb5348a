/** The pattern of a scope's name. */
export const scopeNameForm = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One row of conditions that put an end of a record into a scope. Every condition of the row must hold. */
export interface ScopeMatch {
  /** Ids, names or route distinguishers of the VRF, as texts. */
  readonly vrf?: readonly string[];
  /** Addresses, CIDRs or ranges of exporters, in canonical form. */
  readonly exporter?: readonly string[];
  /** Indexes of interfaces, or names, in which `*` stands for any characters and `?` for one. */
  readonly interface?: readonly string[];
  /** Ranges of VLANs, both ends included. */
  readonly vlan?: readonly (readonly [first: number, last: number])[];
}

/** A row of {@link ScopeMatch} as texts. */
export type ScopeRow = { readonly [Key in keyof ScopeMatch]?: readonly string[] | undefined };

/** A scope as the file and the API represent it. */
export interface ScopeText {
  readonly name: string;
  readonly match: readonly ScopeRow[];
  /** True where global entries apply after the scope's own entries. */
  readonly inherit: boolean;
  /** The path of the file of its entries; undefined when it has none. */
  readonly entries?: string | undefined;
}

/** A change of a scope. */
export interface ScopeChange {
  readonly before?: ScopeText | undefined;
  readonly after?: ScopeText | undefined;
  /** The scope that was tried after this one before the change; undefined where this one was the last. */
  readonly next?: string | undefined;
}

/** A scope as look-ups use it. */
export interface ScopeDefinition {
  readonly name: string;
  /** The number of the scope in the index, 1 or higher. */
  readonly number: number;
  /** The rows of conditions. An end of a record is in the scope when at least one row matches. */
  readonly match: readonly ScopeMatch[];
}
