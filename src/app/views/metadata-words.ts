import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../base/report/index.ts";
import type { UdmIndex } from "../../metadata/index.ts";

/** Words of entries by their kind: `names`, `tags`, `keys` of metadata, and the values of a key as `key site.name`. */
type Words = ReadonlyMap<string, ReadonlySet<string>>;

/** Bytes of entries that are read before other work has its turn. */
const portionBytes = 65_536;
const turnMs = 5;
/** Words of a kind that are kept. Further ones are not completed: the answer says that it is not complete. */
const mostWords = 1_000_000;
/** The state of the metadata is not read again sooner, milliseconds. */
const restMs = 10_000;
const mostFound = 200;

interface JsonEntry {
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * The words that entries have. All entries are read when somebody asks, a portion at a time, and again when they have changed; nothing is read
 * while nobody asks.
 */
export class MetadataWords {
  readonly #states: () => readonly UdmIndex[];
  readonly #clock: Clock;
  #words: Words = new Map();
  #isFull = false;
  #readOf = "";
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(states: () => readonly UdmIndex[], clock: Clock) {
    this.#states = states;
    this.#clock = clock;
  }

  /**
   * Finds words of a kind that begin with a text, the case not counting.
   *
   * @param patienceMs to wait for the first reading; what is known by then is found.
   */
  async of(
    kind: string,
    patienceMs: number,
    beginning = "",
  ): Promise<{ readonly words: readonly string[]; readonly complete: boolean }> {
    this.#readIfChanged();
    if (this.#reading !== undefined && this.#words.size === 0) {
      await Promise.race([this.#reading, new Promise((resolve) => void setTimeout(resolve, patienceMs).unref())]);
    }
    const lower = beginning.toLowerCase();
    const words: string[] = [];
    for (const word of this.#words.get(kind) ?? []) {
      if (word.length < lower.length || !word.slice(0, lower.length).toLowerCase().startsWith(lower)) continue;
      words.push(word);
      if (words.length === mostFound) break;
    }
    return { words, complete: this.#reading === undefined && !this.#isFull && words.length < mostFound };
  }

  #readIfChanged(): void {
    if (this.#reading !== undefined || this.#clock.monotonic() - this.#readAt < restMs) return;
    const states = this.#states();
    const version = states.map((state) => `${state.version} ${state.size}`).join();
    if (version === this.#readOf) return;
    this.#readAt = this.#clock.monotonic();
    this.#reading = this.#read(states, version);
  }

  /** A reading that fails leaves what was known; the next question reads again. */
  async #read(states: readonly UdmIndex[], version: string): Promise<void> {
    const isRead = await this.#readAll(states).then(
      () => true,
      () => false,
    );
    if (isRead) this.#readOf = version;
    this.#readAt = this.#clock.monotonic();
    this.#reading = undefined;
  }

  async #readAll(states: readonly UdmIndex[]): Promise<void> {
    const words = new Map<string, Set<string>>();
    let isFull = false;
    const add = (kind: string, word: string): void => {
      let set = words.get(kind);
      if (set === undefined) words.set(kind, (set = new Set()));
      if (set.size < mostWords) set.add(word);
      else isFull ||= !set.has(word);
    };
    // What is known already stays in use until all is read, but for the first time.
    if (this.#words.size === 0) this.#words = words;
    let since = this.#clock.monotonic();
    for (const state of states) {
      for (const { bytes, starts, ends, count } of state.jsonTexts("all", portionBytes)) {
        const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
        for (let i = 0; i < count; i++) {
          addEntry(JSON.parse(buffer.toString("utf8", starts[i], ends[i])) as JsonEntry, add);
        }
        if (this.#clock.monotonic() - since < turnMs) continue;
        await turn();
        since = this.#clock.monotonic();
      }
    }
    this.#words = words;
    this.#isFull = isFull;
  }
}

function addEntry({ name, tags, metadata }: JsonEntry, add: (kind: string, word: string) => void): void {
  if (name !== undefined && name !== "") add("names", name);
  for (const tag of tags ?? []) add("tags", tag);
  for (const [key, value] of Object.entries(metadata ?? {})) {
    add("keys", key);
    if (typeof value === "string") add(`key ${key.replace(/^\./, "")}`, value);
  }
}
