/** What is to be said of a name of ElastiFlow NetObserv. A name that is a setting here under the same suffix needs no words. */
export interface NameNotes {
  /** The setting that it means under another name, and values that are called otherwise. */
  readonly as?: { readonly setting: string; readonly values?: Readonly<Record<string, string>> };
  /** Why it has no meaning here. */
  readonly accepted?: string;
  /** Why it has no effect here, and what to do instead. */
  readonly missing?: string;
  /** The name that turns on what this one belongs to. */
  readonly needs?: string;
  /** How its meaning or its effect differs. */
  readonly differs?: string;
}

/** A public name of a setting of ElastiFlow NetObserv, without its prefix. */
export interface KnownName extends NameNotes {
  /** The value in public examples, often the default; empty where none was seen. */
  readonly example: string;
}

export function known(example: string, notes: NameNotes = {}): KnownName {
  return { example, ...notes };
}
