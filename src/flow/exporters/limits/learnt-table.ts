import type { OptionsShare } from "./options-share.ts";

/** Entries that came from the network, each table and each exporter bounded: the one learned longest ago gives way. */
export interface LearntTable<Key, Entry> {
  get(key: Key): Entry | undefined;
  /** Takes an entry; one that is there already becomes young again. Returns whether the table is another than before. */
  set(key: Key, entry: Entry): boolean;
  /** The one learned longest ago first. */
  entries(): Iterable<readonly [Key, Entry]>;
  values(): Iterable<Entry>;
  readonly size: number;
  clear(): void;
}

/** Of one kind in one observation domain. */
const maxEntries = 4096;
/** What an entry takes in the heap, texts apart. */
const entryBytes = 150;

/** What texts of a key or an entry take: one or two bytes a character. */
const bytesPerCharacter = 2;

/** @param same whether two entries say the same. @param textOf how many characters an entry has. */
export function createLearntTable<Key extends number | string, Entry>(
  share: OptionsShare,
  same: (a: Entry, b: Entry) => boolean = Object.is,
  textOf: (entry: Entry) => number = () => 0,
): LearntTable<Key, Entry> {
  const table = new Map<Key, Entry>();

  const bytesOf = (key: Key, entry: Entry): number =>
    entryBytes + bytesPerCharacter * (textOf(entry) + (typeof key === "string" ? key.length : 0));

  const dropOldest = (): boolean => {
    for (const [key, entry] of table) {
      table.delete(key);
      share.give(1);
      share.addBytes(-bytesOf(key, entry));
      share.evicted();
      return true;
    }
    return false;
  };

  /** Takes room for one entry; false when there is none. */
  const makeRoom = (): boolean => {
    if (table.size >= maxEntries) dropOldest();
    if (share.take()) return true;
    if (dropOldest() && share.take()) return true;
    share.evicted();
    return false;
  };

  return {
    get: (key) => table.get(key),
    set(key, entry) {
      const known = table.get(key);
      if (known === undefined) {
        if (!makeRoom()) return false;
      } else {
        table.delete(key);
        share.addBytes(-bytesOf(key, known));
      }
      share.addBytes(bytesOf(key, entry));
      const isSame = known !== undefined && same(known, entry);
      table.set(key, isSame ? known : entry);
      return !isSame;
    },
    entries: () => table.entries(),
    values: () => table.values(),
    get size() {
      return table.size;
    },
    clear() {
      share.give(table.size);
      for (const [key, entry] of table) share.addBytes(-bytesOf(key, entry));
      table.clear();
    },
  };
}
