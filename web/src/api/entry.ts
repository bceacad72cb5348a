/** An entry of metadata, as the API has it: what is empty is left out. */
export interface Entry {
  readonly key: string;
  readonly name?: string;
  readonly tags?: readonly string[];
  /** A whole number of any size. */
  readonly vlan?: string;
  readonly internal?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Empty: everywhere. */
  readonly contexts?: readonly string[];
  readonly otherFields?: string;
  /** The source of metadata that it comes from; empty for the entries that people write. */
  readonly layer?: string;
}
