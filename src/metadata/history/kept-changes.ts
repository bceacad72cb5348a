import type { Counter, Metrics } from "../../base/report/index.ts";
import { keyPattern, readChange, type LineHead, type HistoryQuery, type UdmChange } from "./change.ts";
import type { HistoryFiles, Segment } from "./history-files.ts";

const firstSlots = 1024;
const slotWords = 3;

/**
 * A table from text to number in 12 bytes for each pair. It keeps a 64-bit hash instead of the text, so that about one in some billions of tables
 * confuses two texts.
 *
 * Numbers are from 1 to 2^32 - 1.
 */
export class KeyTable {
  #slots = new Uint32Array(firstSlots * slotWords);
  #used = 0;
  #least = 1;
  #low = 0;
  #high = 0;

  set(text: string, number: number): void {
    if (2 * (this.#used + 1) * slotWords > this.#slots.length) this.#rebuild();
    this.#hash(text);
    if (this.#put(this.#slots, number)) this.#used++;
  }

  /** Returns the number of a text; 0 where there is none. */
  get(text: string): number {
    this.#hash(text);
    const number = this.#slots[this.#find(this.#slots) + 2] as number;
    return number < this.#least ? 0 : number;
  }

  /** Allows the table to drop texts with lower numbers the next time that it needs room. */
  forgetBelow(number: number): void {
    this.#least = Math.max(1, number);
  }

  /** Computes two hashes (FNV-1a, with two primes) of a text. */
  #hash(text: string): void {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b);
      b = (b << 13) | (b >>> 19);
    }
    this.#low = (a ^ (b >>> 7)) >>> 0;
    this.#high = b >>> 0;
  }

  /** Returns the position of the text with the present hashes, or the free position for it. */
  #find(table: Uint32Array): number {
    const mask = table.length / slotWords - 1;
    for (let slot = this.#low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (table[at + 2] === 0 || (table[at] === this.#low && table[at + 1] === this.#high)) return at;
    }
  }

  #put(table: Uint32Array, number: number): boolean {
    const at = this.#find(table);
    const isNew = table[at + 2] === 0;
    table[at] = this.#low;
    table[at + 1] = this.#high;
    table[at + 2] = number;
    return isNew;
  }

  /** Makes room and drops the texts with lower numbers. */
  #rebuild(): void {
    let kept = 0;
    for (let at = 2; at < this.#slots.length; at += slotWords) if ((this.#slots[at] as number) >= this.#least) kept++;
    let count = firstSlots;
    while (count < 4 * kept) count *= 2;
    const next = new Uint32Array(count * slotWords);
    for (let at = 0; at < this.#slots.length; at += slotWords) {
      const number = this.#slots[at + 2] as number;
      if (number < this.#least) continue;
      this.#low = this.#slots[at] as number;
      this.#high = this.#slots[at + 1] as number;
      this.#put(next, number);
    }
    this.#slots = next;
    this.#used = kept;
  }
}

const failures = ["open", "append", "shrink", "torn", "base"] as const;
type HistoryFailure = (typeof failures)[number];

/** @param read returns the number of kept changes and their bytes. */
export class HistoryMetrics {
  readonly #changes: Counter;
  readonly #bytes: Counter;
  readonly #edits: Counter;
  readonly #faults: Counter;

  constructor(metrics: Metrics, read: () => { readonly changes: number; readonly bytes: number }) {
    metrics.gaugeFrom(
      "netgloss_udm_history_changes",
      "Changes of the metadata that are kept.",
      [],
      () => read().changes,
    );
    metrics.gaugeFrom(
      "netgloss_udm_history_bytes",
      "Bytes of the files of the history of the metadata.",
      [],
      () => read().bytes,
    );
    this.#changes = metrics.counter(
      "netgloss_udm_history_changes_total",
      "Changes written to the history of the metadata.",
    );
    this.#bytes = metrics.counter(
      "netgloss_udm_history_written_bytes_total",
      "Bytes written to the history of the metadata.",
    );
    this.#edits = metrics.counter(
      "netgloss_udm_history_edits_total",
      "Times the metadata file differed at the start from what the history says, because a person edited it.",
    );
    this.#faults = metrics.counter(
      "netgloss_udm_history_failures_total",
      "Faults of the history of the metadata: it could not be opened, written, shortened; lines were torn and left out; or the whole state could not be kept.",
      { step: failures },
    );
  }

  kept(count: number, size: number): void {
    this.#changes.add(count);
    this.#bytes.add(size);
  }

  failed(step: HistoryFailure): void {
    this.#faults.add(1, { step });
  }

  edited(): void {
    this.#edits.add();
  }
}

/** A change and the location of its line. */
export interface KeptChange extends LineHead {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
}

/** The index of the changes in the files. */
export class KeptChanges {
  readonly #files: HistoryFiles;
  #kept: KeptChange[] = [];

  constructor(files: HistoryFiles) {
    this.#files = files;
  }

  /** Returns the changes by ascending numbers. The numbers have gaps where lines were incomplete. */
  all(): readonly KeptChange[] {
    return this.#kept;
  }

  add(changes: readonly KeptChange[]): void {
    for (const change of changes) this.#kept.push(change);
  }

  find(number: number): KeptChange | undefined {
    const found = this.#kept[this.#positionOf(number)];
    return found?.number === number ? found : undefined;
  }

  cutFrom(position: number): void {
    this.#kept = this.#kept.slice(0, position);
  }

  forgetBelow(number: number): void {
    this.#kept = this.#kept.slice(this.#positionOf(number));
  }

  /** Reads the changes from a position to the end, with their entries. @throws the errors of the system */
  async readFrom(position: number): Promise<readonly UdmChange[]> {
    const changes: UdmChange[] = [];
    let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
    for (const { segment, start, end } of this.#kept.slice(position)) {
      if (read?.segment !== segment) read = { segment, bytes: await this.#files.read(segment) };
      changes.push(await readChange(read.bytes.subarray(start, end - 1)));
    }
    return changes;
  }

  /** Does the same as {@link UdmHistory.list}. */
  async list(query: HistoryQuery & { readonly before: number }): Promise<readonly UdmChange[]> {
    const { key, author, withoutLayers = false, after = 0, before, limit } = query;
    const found: UdmChange[] = [];
    const pattern = key && keyPattern(key.text);
    let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
    const all = this.#kept;
    for (let position = this.#positionOf(before) - 1; position >= 0 && found.length < limit; position--) {
      const change = all[position] as KeptChange;
      if (change.number <= after) break;
      if (author !== undefined && change.author !== author) continue;
      if (withoutLayers && change.layer !== undefined) continue;
      if (read?.segment !== change.segment) {
        const bytes = await this.#files.read(change.segment).catch(() => undefined);
        // The change was removed meanwhile, together with all earlier ones.
        if (bytes === undefined) break;
        read = { segment: change.segment, bytes };
      }
      const line = read.bytes.subarray(change.start, change.end - 1);
      if (pattern === undefined || line.includes(pattern)) found.push(await readChange(line));
    }
    return found;
  }

  /** Returns the changes of a period, the newest first. It checks all changes, because clocks may have been set. */
  between(from: number, to: number, limit: number): readonly KeptChange[] {
    const found: KeptChange[] = [];
    for (let position = this.#kept.length - 1; position >= 0 && found.length < limit; position--) {
      const change = this.#kept[position] as KeptChange;
      if (change.time >= from && change.time < to) found.push(change);
    }
    return found;
  }

  /** Returns the position of the first change with this number or a higher one. */
  #positionOf(number: number): number {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#kept[middle] as KeptChange).number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
