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

/** A scope as look-ups know it. */
export interface ScopeDefinition {
  readonly name: string;
  /** The number under which its entries are, from 1 on. */
  readonly number: number;
  /** An end is in the scope when any of them fits. */
  readonly match: readonly ScopeMatch[];
}
