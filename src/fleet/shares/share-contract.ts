import type { FleetMember } from "../fleet-contract.ts";

/** A key that this collector has from now on. */
export interface Share {
  readonly key: string;
  /** What an earlier holder has kept for the next one. */
  readonly kept: string | undefined;
  /** How it came to be free: nobody had it, its holder gave it up, or its holder lives no more. */
  readonly from: "nobody" | "released" | "dead";
  /** How long ago it was given up or taken last, in milliseconds. */
  readonly ageMs: number;
}

/** What the division of keys asks of a database. All may fail with an Error while it is away. */
export interface ShareTables {
  /** Says which keys a member could take, by a digest of the list. */
  offer(member: FleetMember, digest: string, keys: readonly string[]): Promise<void>;
  /** Takes the offer back: others share the keys without this member. */
  withdraw(member: FleetMember): Promise<void>;
  /** @returns the keys of a list; undefined when there is no such list. */
  list(digest: string): Promise<readonly string[] | undefined>;
  /** Takes those of the keys that no living member has, and those that this session has already. */
  take(member: FleetMember, keys: readonly string[]): Promise<readonly Share[]>;
  /** Gives keys up, with what the next holder is to know; without a text what was kept before stays. */
  release(member: FleetMember, kept: ReadonlyMap<string, string | undefined>): Promise<void>;
  /** Keeps a text for the next holder. Does nothing when the session does not hold the key. */
  keep(member: FleetMember, key: string, text: string): Promise<void>;
}
