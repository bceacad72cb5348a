import type { RE2JS } from "re2js";
import type { Oid } from "../session/oid.ts";

/** What a device is: each is one field of its record of SNMPv2-MIB::system. */
export const identityFacts = ["vendor", "model", "os.name", "os.version", "serial"] as const;
export type IdentityFact = (typeof identityFacts)[number];

/** What ENTITY-MIB says of the chassis (RFC 6933), or of the first entity where there is none. */
export const entityFacts = ["model", "serial", "software", "manufacturer", "descr"] as const;
export type EntityFact = (typeof entityFacts)[number];

/**
 * One place where a fact may be found. The text there counts when `match` finds something in it: the first group of it, or
 * `value` where that is given.
 */
export interface FactSource {
  readonly from: "value" | "descr" | "oid" | "entity";
  /** Of `oid`: a scalar, or a column, of which the first instance counts. */
  readonly oid?: Oid;
  readonly entity?: EntityFact;
  readonly match?: RE2JS;
  readonly value?: string;
}

/** What devices of a sysObjectID, or of the start of one, are. Sources are tried in order. */
export interface IdentityRule {
  readonly sources: ReadonlyMap<IdentityFact, readonly FactSource[]>;
  /** Models by what follows the rule's OID in the sysObjectID, as text without a leading dot. */
  readonly models: ReadonlyMap<string, string>;
}
