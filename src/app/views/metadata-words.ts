import { setImmediate as turn } from "node:timers/promises";
import { within, type Clock, type Log } from "../../base/report/index.ts";
import type { UdmIndex } from "../../metadata/index.ts";

/** Bytes of entries that are read before other work has its turn. */
const portionBytes = 65_536;
const turnMs = 5;
/** The longest word to choose from, UTF-16 units. */
const longestWord = 256;
/** The most kinds of words: the keys of metadata, and three more. */
const mostKinds = 1000;
/** The most memory of the words, bytes: that of two million names of hosts. */
const mostBytes = 128 * 1024 * 1024;
/** The memory of a word in addition to its characters: the head of the text, and the place in a list. */
const bytesOfWord = 40;
/** The least time before the state of the metadata is read again, milliseconds, and as a multiple of the time that reading took. */
const restMs = 10_000;
const restTimes = 10;
/** The time without a request after which the words are dropped, milliseconds. */
const idleMs = 600_000;
const mostFound = 200;

interface JsonEntry {
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * The words of entries. A request starts to read all entries, a portion at a time, and again when they have changed. Without requests
 * nothing is read or kept.
 */
export class MetadataWords {
  readonly #states: () => readonly UdmIndex[];
  readonly #clock: Clock;
  readonly #log: Log;
  #words = new WordTable();
  #readOf = "";
  #readAt = -Infinity;
  #restMs = restMs;
  #reading: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(states: () => readonly UdmIndex[], { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#states = states;
    this.#clock = clock;
    this.#log = log;
  }

  /** The words that are kept, and those left out because they are too long or too many; the memory of those kept, bytes. */
  get counts(): { readonly kept: number; readonly leftOut: number; readonly bytes: number } {
    const { size, leftOut, bytes } = this.#words;
    return { kept: size, leftOut, bytes };
  }

  /**
   * Finds words of a kind that start with a text, ignoring case, in alphabetical order. `complete` is false where there may be more.
   *
   * @param kind `names`, `tags`, `keys` of metadata, or the values of a key, as in `key site.name`.
   * @param patienceMs to wait for the first reading; after that, the words read so far are searched.
   */
  async of(
    kind: string,
    patienceMs: number,
    beginning = "",
  ): Promise<{ readonly words: readonly string[]; readonly complete: boolean }> {
    this.#readIfChanged();
    if (this.#reading !== undefined && this.#readOf === "") await within(this.#reading, patienceMs, undefined);
    const words = this.#words.of(kind)?.beginningWith(beginning.toLowerCase()) ?? [];
    const isAll = this.#reading === undefined && this.#words.leftOut === 0;
    return { words, complete: isAll && words.length < mostFound };
  }

  #readIfChanged(): void {
    this.#idle ??= setTimeout(() => this.#forget(), idleMs).unref();
    this.#idle.refresh();
    if (this.#reading !== undefined || this.#clock.monotonic() - this.#readAt < this.#restMs) return;
    const states = this.#states();
    const version = states.map((state) => `${state.version} ${state.size}`).join();
    if (version === this.#readOf) return;
    this.#reading = this.#read(states, version);
  }

  #forget(): void {
    if (this.#reading !== undefined) return;
    this.#words = new WordTable();
    this.#readOf = "";
    this.#readAt = -Infinity;
  }

  /** Reads the words. A failure leaves the known words in use; a later request reads again. */
  async #read(states: readonly UdmIndex[], version: string): Promise<void> {
    const begun = this.#clock.monotonic();
    try {
      await this.#readAll(states);
      this.#readOf = version;
    } catch (error) {
      this.#log.warn(
        { error },
        "the words of the metadata could not be read: filters are completed with those of before",
      );
    }
    this.#readAt = this.#clock.monotonic();
    this.#restMs = Math.max(restMs, restTimes * (this.#readAt - begun));
    this.#reading = undefined;
  }

  async #readAll(states: readonly UdmIndex[]): Promise<void> {
    const words = new WordTable();
    // Known words stay in use until all is read, except the first time.
    if (this.#words.size === 0) this.#words = words;
    let since = this.#clock.monotonic();
    const breathe = async (): Promise<void> => {
      if (this.#clock.monotonic() - since < turnMs) return;
      await turn();
      since = this.#clock.monotonic();
    };
    for (const state of states) {
      for (const { bytes, starts, ends, count } of state.jsonTexts("all", portionBytes)) {
        const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
        for (let i = 0; i < count; i++) {
          addEntry(JSON.parse(buffer.toString("utf8", starts[i], ends[i])) as JsonEntry, words);
        }
        await breathe();
      }
    }
    for (const list of words.lists()) {
      for (const _ of list.sort()) await breathe();
    }
    this.#words = words;
  }
}

function addEntry({ name, tags, metadata }: JsonEntry, words: WordTable): void {
  if (name !== undefined && name !== "") words.add("names", name);
  for (const tag of tags ?? []) words.add("tags", tag);
  for (const [key, value] of Object.entries(metadata ?? {})) {
    words.add("keys", key);
    if (typeof value === "string") words.add(`key ${key.replace(/^\./, "")}`, value);
  }
}

/** Words by their kind, within a memory limit. */
class WordTable {
  readonly #lists = new Map<string, WordList>();
  size = 0;
  bytes = 0;
  /** The number of words that were not kept, counting repetitions. */
  leftOut = 0;

  of(kind: string): WordList | undefined {
    return this.#lists.get(kind);
  }

  lists(): Iterable<WordList> {
    return this.#lists.values();
  }

  add(kind: string, word: string): void {
    let list = this.#lists.get(kind);
    if (list?.has(word) === true) return;
    // Characters beyond Latin-1 take two bytes each.
    const bytes = bytesOfWord + word.length * (/[^\0-\xFF]/.test(word) ? 2 : 1);
    const isTooMuch = this.bytes + bytes > mostBytes || (list === undefined && this.#lists.size === mostKinds);
    if (word.length > longestWord || isTooMuch) {
      this.leftOut++;
      return;
    }
    if (list === undefined) this.#lists.set(kind, (list = new WordList()));
    list.add(word);
    this.size++;
    this.bytes += bytes;
  }
}

/** The number of words at which a list is split into shards, and the number of its shards: no step of its work may be long. */
const shardWords = 8192;
const mostShards = 128;
/** The most words that are searched linearly while they are not sorted. */
const mostUnsorted = 20_000;

/** The words of a kind, each once. They are sorted when all are there. */
class WordList {
  #shards: Set<string>[] = [new Set()];
  #sorted: (readonly string[])[] | undefined;
  #size = 0;

  has(word: string): boolean {
    return this.#shardOf(word).has(word);
  }

  add(word: string): void {
    this.#shardOf(word).add(word);
    this.#size++;
    if (this.#size === shardWords) {
      const [all = new Set<string>()] = this.#shards;
      this.#shards = Array.from({ length: mostShards }, () => new Set<string>());
      for (const each of all) this.#shardOf(each).add(each);
    }
  }

  /** Sorts the words, one shard per step. No words may be added afterwards. */
  *sort(): Generator<void, void> {
    const sorted: (readonly string[])[] = [];
    for (const shard of this.#shards) {
      sorted.push(
        Array.from(shard, (word) => [word.toLowerCase(), word] as const)
          .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
          .map(([, word]) => word),
      );
      yield;
    }
    this.#sorted = sorted;
    this.#shards = [];
  }

  /** Returns the first words that start with a text in lower case; before they are sorted, some of them. */
  beginningWith(lower: string): readonly string[] {
    const found: string[] = [];
    if (this.#sorted === undefined) {
      let looked = 0;
      for (const shard of this.#shards) {
        for (const word of shard) {
          if (word.toLowerCase().startsWith(lower)) found.push(word);
          if (found.length === mostFound || ++looked === mostUnsorted) return found;
        }
      }
      return found;
    }
    const cursors = this.#sorted.map((words): Cursor => ({ words, at: firstFrom(words, lower) }));
    while (found.length < mostFound) {
      const next = leastOf(cursors, lower);
      if (next === undefined) break;
      found.push(next.words[next.at++] as string);
    }
    return found;
  }

  #shardOf(word: string): Set<string> {
    const { length } = this.#shards;
    if (length === 1) return this.#shards[0] as Set<string>;
    let hash = 0;
    for (let i = 0; i < word.length; i++) hash = (Math.imul(hash, 31) + word.charCodeAt(i)) | 0;
    return this.#shards[(hash ^ (hash >>> 15)) & (mostShards - 1)] as Set<string>;
  }
}

interface Cursor {
  readonly words: readonly string[];
  at: number;
}

/** Returns the cursor with the first word of those that start with a text. */
function leastOf(cursors: readonly Cursor[], lower: string): Cursor | undefined {
  let least: Cursor | undefined;
  let leastWord = "";
  for (const cursor of cursors) {
    const word = cursor.words[cursor.at]?.toLowerCase();
    if (word?.startsWith(lower) !== true || (least !== undefined && word >= leastWord)) continue;
    least = cursor;
    leastWord = word;
  }
  return least;
}

/** Returns the index of the first word that is not before a text in lower case. */
function firstFrom(words: readonly string[], lower: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((words[middle] as string).toLowerCase() < lower) low = middle + 1;
    else high = middle;
  }
  return low;
}
