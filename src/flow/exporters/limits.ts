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

/**
 * What things that exporters make the collector remember take in the heap, in bytes: measured with Node 20 and rounded up. The
 * bytes of texts and of what came from the wire are added.
 */
export const memoryCosts = {
  exporter: 6000,
  domain: 3000,
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

/** What one exporter holds of the memory of all. */
export interface MemoryShare {
  /** With what it shares with others. */
  readonly bytes: number;
  /** Counts bytes that the exporter alone holds; negative ones are given back. */
  add(bytes: number): void;
  /** Counts bytes that are accounted for elsewhere, once for all that share them. */
  addShared(bytes: number): void;
}

/** @param all of all exporters together. One datagram may exceed it: room is made before the next. */
export function createMemoryShare(all: Budget): MemoryShare {
  let own = 0;
  return {
    get bytes() {
      return own;
    },
    add(bytes) {
      own += bytes;
      all.used += bytes;
    },
    addShared: (bytes) => void (own += bytes),
  };
}

/** How much of something is in use, and how much may be. */
export interface Budget {
  used: number;
  readonly max: number;
}

/** What an exporter's options may fill: entries of all tables of all its domains. */
export interface OptionsShare {
  /** Takes room for one entry. Returns whether there was any. */
  take(): boolean;
  give(entries: number): void;
  /** Counts what entries take, in bytes; negative is given back. */
  addBytes(bytes: number): void;
  /** Counts an entry that gave way, or found no room. */
  evicted(): void;
}

/** @param budgets all that an entry must fit into: the exporter's and that of all exporters together. */
export function createOptionsShare(
  budgets: readonly Budget[],
  addBytes: (bytes: number) => void,
  evicted: () => void,
): OptionsShare {
  return {
    addBytes,
    take() {
      if (budgets.some(({ used, max }) => used >= max)) return false;
      for (const budget of budgets) budget.used++;
      return true;
    },
    give(entries) {
      for (const budget of budgets) budget.used -= entries;
    },
    evicted,
  };
}

/** What strangers can make the collector remember. Beyond it the oldest gives way and is counted. */
export interface Limits {
  readonly exporters: number;
  /** An exporter that was silent for this time is forgotten. */
  readonly silentMs: number;
  /** Per exporter: observation domains, by source port too where a protocol has them so. */
  readonly domains: number;
  /** Per exporter. */
  readonly templates: number;
  /** Per exporter, in all its templates together. */
  readonly fields: number;
  /** Of all exporters together. */
  readonly fieldsInAll: number;
  readonly fieldsPerTemplate: number;
  /** Per exporter: what its options say of samplers, interfaces, applications, VRFs, in all its domains. */
  readonly options: number;
  /** Of all exporters together. */
  readonly optionsInAll: number;
  /** Per exporter: data sources of sFlow agents, in all its domains. */
  readonly sources: number;
  /** Of all exporters together. */
  readonly sourcesInAll: number;
  /** Per exporter: bytes and number of sets that wait for their template. */
  readonly waitingBytes: number;
  readonly waitingSets: number;
  /** Of all exporters together. */
  readonly waitingBytesInAll: number;
  readonly waitingSetsInAll: number;
  /** Of all exporters together: bytes of everything that is kept of what they said, about. */
  readonly memoryInAll: number;
}

export const defaultLimits: Limits = {
  exporters: 10_000,
  silentMs: 30 * 86_400_000,
  domains: 256,
  templates: 2048,
  fields: 32_768,
  fieldsInAll: 1_048_576,
  fieldsPerTemplate: 1024,
  options: 16_384,
  optionsInAll: 1_048_576,
  sources: 16_384,
  sourcesInAll: 1_048_576,
  waitingBytes: 256 * 1024,
  waitingSets: 256,
  waitingBytesInAll: 32 * 1024 * 1024,
  waitingSetsInAll: 65_536,
  memoryInAll: 256 * 1024 * 1024,
};

/** What was forgotten so far: by the limits, or by age. */
export interface Evictions {
  exporters: number;
  silentExporters: number;
  domains: number;
  templates: number;
  expiredTemplates: number;
  /** Entries of what options say. */
  options: number;
  /** Data sources of sFlow agents. */
  sources: number;
  /** Data sets that waited for their template in vain. */
  waitingSets: number;
  /** Flows that firewalls have reported and that had not ended. */
  firewallFlows: number;
}

export function createEvictions(): Evictions {
  return {
    exporters: 0,
    silentExporters: 0,
    domains: 0,
    templates: 0,
    expiredTemplates: 0,
    options: 0,
    sources: 0,
    waitingSets: 0,
    firewallFlows: 0,
  };
}
