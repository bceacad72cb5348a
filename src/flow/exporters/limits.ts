import { exporterClockCost } from "./exporter-clock.ts";

/** The limit of entries of one kind in one observation domain. */
const maxEntries = 4096;
/** The memory that an entry takes in the heap, texts apart. */
const entryBytes = 150;

/** The memory that texts of a key or an entry take: one or two bytes a character. */
const bytesPerCharacter = 2;

/** Entries that came from the network, each table and each exporter bounded: the one learned longest ago gives way. */
export class LearntTable<Key extends number | string, Entry> {
  /** The number of entries; no accessor, because each record reads it. */
  size = 0;
  readonly #table = new Map<Key, Entry>();
  readonly #share: EntryShare;
  readonly #isSame: (a: Entry, b: Entry) => boolean;
  readonly #textOf: (entry: Entry) => number;

  /** @param isSame whether two entries say the same. @param textOf how many characters an entry has. */
  constructor(
    share: EntryShare,
    isSame: (a: Entry, b: Entry) => boolean = Object.is,
    textOf: (entry: Entry) => number = () => 0,
  ) {
    this.#share = share;
    this.#isSame = isSame;
    this.#textOf = textOf;
  }

  get(key: Key): Entry | undefined {
    return this.#table.get(key);
  }

  /** Takes an entry; one that is there already becomes young again. Returns whether the table is another than before. */
  set(key: Key, entry: Entry): boolean {
    const known = this.#table.get(key);
    if (known === undefined) {
      if (!this.#makeRoom()) return false;
    } else {
      this.#table.delete(key);
      this.#share.memory.add(-this.#bytesOf(key, known));
    }
    this.#share.memory.add(this.#bytesOf(key, entry));
    const isSame = known !== undefined && this.#isSame(known, entry);
    this.#table.set(key, isSame ? known : entry);
    this.size = this.#table.size;
    return !isSame;
  }

  /** The one learned longest ago first. */
  entries(): Iterable<readonly [Key, Entry]> {
    return this.#table.entries();
  }

  values(): Iterable<Entry> {
    return this.#table.values();
  }

  /**
   * Takes entries that were kept, where none is known of a key.
   *
   * @param isNewer they count before what is known.
   * @param check returns what is taken of one; undefined: nothing.
   */
  restore(
    rows: readonly (readonly [Key, Entry])[],
    isNewer: boolean,
    check: (entry: Entry) => Entry | undefined,
  ): void {
    for (const [key, kept] of rows) {
      const entry = check(kept);
      if (entry !== undefined && (isNewer || this.get(key) === undefined)) this.set(key, entry);
    }
  }

  clear(): void {
    this.#share.give(this.size);
    for (const [key, entry] of this.#table) this.#share.memory.add(-this.#bytesOf(key, entry));
    this.#table.clear();
    this.size = 0;
  }

  #bytesOf(key: Key, entry: Entry): number {
    return entryBytes + bytesPerCharacter * (this.#textOf(entry) + (typeof key === "string" ? key.length : 0));
  }

  #dropOldest(): boolean {
    for (const [key, entry] of this.#table) {
      this.#table.delete(key);
      this.size--;
      this.#share.give(1);
      this.#share.memory.add(-this.#bytesOf(key, entry));
      this.#share.onEvict();
      return true;
    }
    return false;
  }

  /** Takes room for one entry; false when there is none. */
  #makeRoom(): boolean {
    if (this.#table.size >= maxEntries) this.#dropOldest();
    if (this.#share.take()) return true;
    if (this.#dropOldest() && this.#share.take()) return true;
    this.#share.onEvict();
    return false;
  }
}

/**
 * The memory in the heap that exporters make the collector use, for each kind of thing, in bytes: measured with Node 20 and rounded up. The
 * bytes of texts and of what came from the wire are added.
 */
export const memoryCosts = {
  exporter: 6000,
  domain: 3000 + exporterClockCost,
  /** A further port of a domain. */
  alias: 150,
  /** A template of a domain, without its plan. */
  template: 250,
  /** A plan, and each field of it. */
  plan: 1500,
  planField: 350,
  /** A data set that waits, with what it keeps of its datagram. */
  waitingSet: 1400,
  /** A data source of an sFlow agent. */
  source: 150,
  /** A flow that a firewall has reported and that has not ended. */
  firewallFlow: 250,
} as const;

/** The amount of something that is in use, and the amount that may be. */
export interface Budget {
  used: number;
  readonly max: number;
}

/** The share that one exporter holds of the memory of all. */
export class MemoryShare {
  readonly #all: Budget;
  /** With what it shares with others. */
  bytes = 0;

  /** @param all of all exporters together. One datagram may exceed it: room is made before the next. */
  constructor(all: Budget) {
    this.#all = all;
  }

  /** Counts bytes that the exporter alone holds; negative ones are given back. */
  add(bytes: number): void {
    this.bytes += bytes;
    this.#all.used += bytes;
  }

  /** Counts bytes that are accounted for elsewhere, once for all that share them. */
  addShared(bytes: number): void {
    this.bytes += bytes;
  }
}

/** The share of entries of a kind that an exporter may have in all its domains. */
export class EntryShare {
  readonly #budgets: readonly Budget[];
  readonly memory: MemoryShare;
  /** Counts an entry that gave way, or found no room. */
  readonly onEvict: () => void;

  /** @param budgets all that an entry must fit into: the exporter's and that of all exporters together. */
  constructor(budgets: readonly Budget[], memory: MemoryShare, onEvict: () => void) {
    this.#budgets = budgets;
    this.memory = memory;
    this.onEvict = onEvict;
  }

  /** Takes room for one entry. Returns whether there was any. */
  take(): boolean {
    if (this.#budgets.some(({ used, max }) => used >= max)) return false;
    for (const budget of this.#budgets) budget.used++;
    return true;
  }

  give(entries: number): void {
    for (const budget of this.#budgets) budget.used -= entries;
  }
}

/** The share of what never has entries. */
export const noShare = new EntryShare([{ used: 0, max: 0 }], new MemoryShare({ used: 0, max: 0 }), () => {});

/** Limits of what strangers can make the collector remember. Beyond them the oldest gives way and is counted. */
export const defaultLimits = {
  exporters: 10_000,
  /** An exporter that was silent for this time is forgotten. */
  silentMs: 30 * 86_400_000,
  /** Per exporter: observation domains, by source port too where a protocol has them so. */
  domains: 256,
  /** Per exporter. */
  templates: 2048,
  /** Per exporter, in all its templates together. */
  fields: 32_768,
  /** For all exporters together. */
  fieldsInAll: 1_048_576,
  fieldsPerTemplate: 1024,
  /** Per exporter: what its options say of samplers, interfaces, applications, VRFs, in all its domains. */
  options: 16_384,
  /** For all exporters together. */
  optionsInAll: 1_048_576,
  /** Per exporter: data sources of sFlow agents, in all its domains. */
  sources: 16_384,
  /** For all exporters together. */
  sourcesInAll: 1_048_576,
  /** Per exporter: bytes and number of sets that wait for their template. */
  waitingBytes: 256 * 1024,
  waitingSets: 256,
  /** For all exporters together. */
  waitingBytesInAll: 32 * 1024 * 1024,
  waitingSetsInAll: 65_536,
  /** For all exporters together: bytes of everything that is kept of what they said, about. */
  memoryInAll: 256 * 1024 * 1024,
};
export type Limits = Readonly<typeof defaultLimits>;

/** Counts what was forgotten so far: by the limits, or by age. */
export class Evictions {
  exporters = 0;
  silentExporters = 0;
  domains = 0;
  templates = 0;
  expiredTemplates = 0;
  /** Entries of what options say. */
  options = 0;
  /** Data sources of sFlow agents. */
  sources = 0;
  /** Data sets that waited for their template in vain. */
  waitingSets = 0;
  /** Flows that firewalls have reported and that had not ended. */
  firewallFlows = 0;
}
