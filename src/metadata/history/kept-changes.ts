import type { Metrics } from "../../base/report/index.ts";
import { keyPattern, readChange, type LineHead, type HistoryQuery, type UdmChange } from "./change.ts";
import type { HistoryFiles, Segment } from "./history-files.ts";

const firstSlots = 1024;
const slotWords = 3;

/**
 * Numbers by text, in 12 bytes for each: of the text 64 bits are kept, so that one in some billions of tables has two texts that it takes for
 * one.
 */
interface KeyTable {
  set(text: string, number: number): void;
  /** 0 when there is none. */
  get(text: string): number;
  /** Forgets texts with lower numbers, whenever there is cause to. */
  forgetBelow(number: number): void;
}

/** Numbers are from 1 to 2^32 - 1. */
export function createKeyTable(): KeyTable {
  let slots = new Uint32Array(firstSlots * slotWords);
  let used = 0;
  let least = 1;
  let low = 0;
  let high = 0;

  /** Two hashes (FNV-1a, with two primes) of a text. */
  const hash = (text: string): void => {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b);
      b = (b << 13) | (b >>> 19);
    }
    low = (a ^ (b >>> 7)) >>> 0;
    high = b >>> 0;
  };

  /** Where the text of the hashes is, or would be. */
  const find = (table: Uint32Array): number => {
    const mask = table.length / slotWords - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (table[at + 2] === 0 || (table[at] === low && table[at + 1] === high)) return at;
    }
  };

  const put = (table: Uint32Array, number: number): boolean => {
    const at = find(table);
    const isNew = table[at + 2] === 0;
    table[at] = low;
    table[at + 1] = high;
    table[at + 2] = number;
    return isNew;
  };

  /** Makes room, without what is forgotten. */
  const rebuild = (): void => {
    let kept = 0;
    for (let at = 2; at < slots.length; at += slotWords) if ((slots[at] as number) >= least) kept++;
    let count = firstSlots;
    while (count < 4 * kept) count *= 2;
    const next = new Uint32Array(count * slotWords);
    for (let at = 0; at < slots.length; at += slotWords) {
      const number = slots[at + 2] as number;
      if (number < least) continue;
      low = slots[at] as number;
      high = slots[at + 1] as number;
      put(next, number);
    }
    slots = next;
    used = kept;
  };

  return {
    set(text, number) {
      if (2 * (used + 1) * slotWords > slots.length) rebuild();
      hash(text);
      if (put(slots, number)) used++;
    },
    get(text) {
      hash(text);
      const number = slots[find(slots) + 2] as number;
      return number < least ? 0 : number;
    },
    forgetBelow: (number) => void (least = Math.max(1, number)),
  };
}

const failures = ["open", "append", "shrink", "torn", "base"] as const;
type HistoryFailure = (typeof failures)[number];

interface HistoryMetrics {
  kept(changes: number, bytes: number): void;
  failed(what: HistoryFailure): void;
  edited(): void;
}

/** @param read changes that are kept, and their bytes. */
export function createHistoryMetrics(
  metrics: Metrics,
  read: () => { readonly changes: number; readonly bytes: number },
): HistoryMetrics {
  metrics.gaugeFrom("netgloss_udm_history_changes", "Changes of the metadata that are kept.", [], () => read().changes);
  metrics.gaugeFrom(
    "netgloss_udm_history_bytes",
    "Bytes of the files of the history of the metadata.",
    [],
    () => read().bytes,
  );
  const changes = metrics.counter(
    "netgloss_udm_history_changes_total",
    "Changes written to the history of the metadata.",
  );
  const bytes = metrics.counter(
    "netgloss_udm_history_written_bytes_total",
    "Bytes written to the history of the metadata.",
  );
  const edits = metrics.counter(
    "netgloss_udm_history_edits_total",
    "Times the metadata file differed at the start from what the history says, because a person edited it.",
  );
  const faults = metrics.counter(
    "netgloss_udm_history_failures_total",
    "Faults of the history of the metadata: it could not be opened, written, shortened; lines were torn and left out; or the whole state could not be kept.",
    { step: failures },
  );
  return {
    kept(count, size) {
      changes.add(count);
      bytes.add(size);
    },
    failed: (step) => faults.add(1, { step }),
    edited: () => edits.add(),
  };
}

/** A change and where its line is. */
export interface KeptChange extends LineHead {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
}

/** What is known of the changes that the files have. */
interface KeptChanges {
  /** By ascending numbers, which may have gaps where lines were torn. */
  all(): readonly KeptChange[];
  add(changes: readonly KeptChange[]): void;
  find(number: number): KeptChange | undefined;
  cutFrom(place: number): void;
  forgetBelow(number: number): void;
  /** Those from a place on, with their entries. @throws the errors of the system */
  readFrom(place: number): Promise<readonly UdmChange[]>;
  /** {@link UdmHistory.list} */
  list(query: HistoryQuery & { readonly before: number }): Promise<readonly UdmChange[]>;
}

export function createKeptChanges(files: HistoryFiles): KeptChanges {
  let kept: KeptChange[] = [];

  /** The place of the first change with this number or a higher one. */
  const placeOf = (number: number): number => {
    let low = 0;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as KeptChange).number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    all: () => kept,
    add(changes) {
      for (const change of changes) kept.push(change);
    },
    find(number) {
      const found = kept[placeOf(number)];
      return found?.number === number ? found : undefined;
    },
    cutFrom: (place) => void (kept = kept.slice(0, place)),
    forgetBelow: (number) => void (kept = kept.slice(placeOf(number))),
    async readFrom(place) {
      const changes: UdmChange[] = [];
      let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
      for (const { segment, start, end } of kept.slice(place)) {
        if (read?.segment !== segment) read = { segment, bytes: await files.read(segment) };
        changes.push(await readChange(read.bytes.subarray(start, end - 1)));
      }
      return changes;
    },
    async list(query) {
      const { key, author, withoutLayers = false, after = 0, before, limit } = query;
      const found: UdmChange[] = [];
      const pattern = key && keyPattern(key.text);
      let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
      const all = kept;
      for (let place = placeOf(before) - 1; place >= 0 && found.length < limit; place--) {
        const change = all[place] as KeptChange;
        if (change.number <= after) break;
        if (author !== undefined && change.author !== author) continue;
        if (withoutLayers && change.layer !== undefined) continue;
        if (read?.segment !== change.segment) {
          const bytes = await files.read(change.segment).catch(() => undefined);
          // It was removed meanwhile, and so were all before it.
          if (bytes === undefined) break;
          read = { segment: change.segment, bytes };
        }
        const line = read.bytes.subarray(change.start, change.end - 1);
        if (pattern === undefined || line.includes(pattern)) found.push(await readChange(line));
      }
      return found;
    },
  };
}
