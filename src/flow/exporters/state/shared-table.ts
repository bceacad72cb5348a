/** A row is of one exporter as one collector knows it, so that no two write the same. */
export interface StateRowKey {
  /** Whose datagrams said it, in canonical text. */
  readonly sender: string;
  /** About whom: the sender, or one that it names as a relay. */
  readonly exporter: string;
}

export interface StateRow extends StateRowKey {
  readonly text: string;
  /** How long ago the text was made. */
  readonly madeMsAgo: number;
  /** How long ago the exporter was heard. */
  readonly silentMs: number;
  /** The time when the text was made by the clock of who made it: its times are of that clock. Milliseconds since the epoch. */
  readonly clock: number;
}

/** What some collector wrote. */
export interface FoundState extends StateRowKey {
  readonly text: string;
  /** How long ago the text was made, by the clock of the table. */
  readonly ageMs: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** The table that collectors of a fleet share. Ages are by its own clock. All that answer later may fail with an Error. */
export interface SharedStateTable {
  /** Whether it can be asked now. */
  isThere(): boolean;
  /** Calls the listener when it can be asked again. @returns what ends that. */
  watch(listener: () => void): () => void;
  /** Writes rows of this collector, in place of its earlier ones. */
  write(rows: readonly StateRow[]): Promise<void>;
  /** Says how long exporters of this collector are silent. @returns those that have no row. */
  touch(rows: readonly (StateRowKey & { readonly silentMs: number })[]): Promise<readonly StateRowKey[]>;
  /** Removes rows of this collector. */
  remove(keys: readonly StateRowKey[]): Promise<void>;
  /**
   * The rows of all collectors for some senders whose exporters are silent for no longer than this: of each exporter the few of those that
   * heard it last.
   */
  find(senders: readonly string[], maxSilentMs: number): Promise<readonly FoundState[]>;
  /** Removes rows of all collectors whose exporters are silent for longer. @returns how many. */
  prune(silentMs: number): Promise<number>;
}
