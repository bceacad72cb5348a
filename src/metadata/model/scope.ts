/** The form of the name of a scope. */
export const scopeNameForm = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** A row of what puts ends of records into a scope: all that it names has to be true. */
export interface ScopeMatch {
  /** Ids, names or route distinguishers of the VRF, as texts. */
  readonly vrf?: readonly string[];
  /** Addresses, CIDRs or ranges of exporters, in canonical form. */
  readonly exporter?: readonly string[];
  /** Indexes of interfaces, or names, in which `*` stands for any characters and `?` for one. */
  readonly interface?: readonly string[];
  /** First and last. */
  readonly vlan?: readonly (readonly [first: number, last: number])[];
}

/** A row of {@link ScopeMatch} as texts. */
export type ScopeRow = { readonly [Key in keyof ScopeMatch]?: readonly string[] | undefined };

/** A scope as the file and the API have it. */
export interface ScopeText {
  readonly name: string;
  readonly match: readonly ScopeRow[];
  /** Whether global entries count behind its own. */
  readonly inherit: boolean;
  /** The path of the file of its entries; undefined when it has none. */
  readonly entries?: string | undefined;
}

/** What happened to a scope. */
export interface ScopeChange {
  readonly before?: ScopeText | undefined;
  readonly after?: ScopeText | undefined;
  /** The scope that was tried after the one before; undefined: it was the last. */
  readonly next?: string | undefined;
}

/** A scope as look-ups know it. */
export interface ScopeDefinition {
  readonly name: string;
  /** The number under which its entries are, from 1 on. */
  readonly number: number;
  /** An end is in the scope when any of them fits. */
  readonly match: readonly ScopeMatch[];
}
