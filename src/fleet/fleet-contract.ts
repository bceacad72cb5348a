/** A collector of a fleet that lives. */
export interface FleetMember {
  readonly name: string;
  /** Another one after each time that it has joined: a UUID. */
  readonly session: string;
  /** A digest of the devices that it could poll; undefined: it polls none of those that are shared. */
  readonly devices?: string | undefined;
}

/** What the database says of a session. */
export type Standing =
  | { readonly state: "held"; readonly members: readonly FleetMember[] }
  /** Its lease was over, or was given up. */
  | { readonly state: "expired" }
  /** Another session has the name. */
  | { readonly state: "replaced" };

/** What membership asks of a database. Times are those of the database. All may fail with an Error while it is away. */
export interface MembershipTables {
  /**
   * Takes the name for a session.
   *
   * @param replaces whether an earlier session of that name is over then: else it stays, and the answer is `replaced`.
   */
  join(member: FleetMember, leaseMs: number, replaces: boolean): Promise<Standing>;
  /** Sets the end of the lease, counted from now, unless it has ended. */
  renew(member: FleetMember, leaseMs: number): Promise<Standing>;
  /** Gives the lease up: from then on the session is over. */
  leave(member: FleetMember): Promise<void>;
  /** Calls the listener when who lives may have changed. @returns what ends that. */
  watch(listener: () => void): () => void;
}
