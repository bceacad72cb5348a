import type { Filter } from "../../record/index.ts";
import { type Key, compareKeys, familyBits, formatAddress, parseKey, type Family } from "../../base/ip/index.ts";
import {
  parseUdmJson,
  type UdmEntry,
  type UdmIndex,
  type UdmChange,
  type UdmStoreWithHistory,
  parseStoredKey,
} from "../../metadata/index.ts";
import { turn } from "./tools-context.ts";

/** Finds the offset of a text within bytes, regardless of the case of ASCII letters; returns -1 where it is not there. */
export type FindBytes = (bytes: Uint8Array, start: number, end: number) => number;

/** Returns a search for a text. @param text at least one ASCII character. */
export function createFindBytes(text: string): FindBytes {
  const lower = Buffer.from(text.toLowerCase(), "latin1");
  const upper = Buffer.from(text.toUpperCase(), "latin1");
  const last = lower.length - 1;
  // The shift of the offset for each byte at its end (Horspool); 0 for the last byte of the text.
  const shifts = new Uint8Array(256).fill(Math.min(lower.length, 255));
  for (let i = Math.max(0, lower.length - 255); i < last; i++) {
    shifts[lower[i] as number] = last - i;
    shifts[upper[i] as number] = last - i;
  }
  const afterLast = Math.min(shifts[lower[last] as number] as number, shifts[upper[last] as number] as number);
  shifts[lower[last] as number] = 0;
  shifts[upper[last] as number] = 0;
  return (bytes, start, end) => {
    for (let at = start + last; at < end;) {
      const shift = shifts[bytes[at] as number] as number;
      if (shift > 0) {
        at += shift;
        continue;
      }
      let i = last - 1;
      for (let from = at - 1; i >= 0; i--, from--) {
        const byte = bytes[from];
        if (byte !== lower[i] && byte !== upper[i]) break;
      }
      if (i < 0) return at - last;
      at += afterLast;
    }
    return -1;
  };
}

/** Returns a search for the longest ASCII part of a text, in its JSON form; undefined where there is none. */
export function findInJson(text: string): FindBytes | undefined {
  const escaped = JSON.stringify(text).slice(1, -1);
  const parts = escaped.split(/[^\x20-\x7e]+/).toSorted((a, b) => b.length - a.length);
  const [longest = ""] = parts;
  return longest === "" ? undefined : createFindBytes(longest);
}

/** The conditions for matching entries that can be checked before the entries are read. */
export interface Narrowed {
  /** Groups of texts: the JSON of an entry has to contain one of each group. */
  readonly anyOf: readonly (readonly FindBytes[])[];
  /** The key within which all matching entries lie. */
  readonly within: Key | undefined;
  /** The layers that matching entries may be in. */
  readonly layers: readonly string[] | undefined;
  /** True where the filter uses the layer of an entry. */
  readonly asksForLayers: boolean;
  /** A tag that all matching entries have. */
  readonly tag: string | undefined;
  /** True where all matching entries have contexts. */
  readonly haveContexts: boolean;
  /** True where the filter uses fields that the JSON of entries does not have. */
  readonly asksForContexts: boolean;
}

/** The most alternatives. Searching for more would take longer than reading the entries. */
const mostAlternatives = 4;
const nothing: Narrowed = {
  anyOf: [],
  within: undefined,
  layers: undefined,
  asksForLayers: false,
  tag: undefined,
  haveContexts: false,
  asksForContexts: false,
};

export function narrowFilter(filter: Filter | undefined): Narrowed {
  if (filter === undefined) return nothing;
  const terms = filter.kind === "and" ? filter.filters : [filter];
  const textsFor = (field: string): readonly (readonly string[])[] =>
    terms.flatMap((term) => (term.kind === "texts" && term.fields[0] === field ? [term.values] : []));
  const keys = terms.flatMap((term) => (term.kind === "addresses" ? [term.keys] : []));
  return {
    anyOf: terms.flatMap((term) => {
      const found = alternatives(term);
      return found === undefined ? [] : [found];
    }),
    layers: textsFor("layer")[0],
    asksForLayers: hasField(filter, "layer"),
    tag: textsFor("tags").find(({ length }) => length === 1)?.[0],
    within: keys.find((each) => each.length === 1)?.[0],
    haveContexts: terms.some((term) => "fields" in term && term.fields.includes("contexts")),
    asksForContexts: hasField(filter, "contexts"),
  };
}

/** Returns texts of which every matching entry has at least one; undefined where they are unknown. */
function alternatives(filter: Filter): readonly FindBytes[] | undefined {
  if (filter.kind === "or") {
    const all = filter.filters.map(alternatives);
    const flat = all.flatMap((each) => each ?? []);
    return all.includes(undefined) || flat.length > mostAlternatives ? undefined : flat;
  }
  const texts = textsOf(filter);
  if (texts === undefined || texts.length > mostAlternatives) return undefined;
  const found = texts.map(findInJson);
  return found.includes(undefined) ? undefined : (found as FindBytes[]);
}

function textsOf(filter: Filter): readonly string[] | undefined {
  // The JSON does not have contexts and layers, and numbers may have several spellings.
  if (!("fields" in filter) || filter.fields.includes("contexts") || filter.fields.includes("layer")) return undefined;
  if (filter.kind === "texts") return filter.values;
  return filter.kind === "pattern" && !/[*?^$\\]/.test(filter.pattern) ? [filter.pattern] : undefined;
}

function hasField(filter: Filter, name: string): boolean {
  if ("filters" in filter) return filter.filters.some((each) => hasField(each, name));
  if (filter.kind === "not") return hasField(filter.filter, name);
  return "fields" in filter && filter.fields.includes(name);
}

interface ScanOptions {
  /** Limits the scan to entries within this key. */
  readonly within?: Key | undefined;
  /** Limits the scan to the entry with this key and those after it in list order. */
  readonly from?: Key | undefined;
  /** Groups of texts: the JSON of an entry has to contain one of each group. */
  readonly anyOf?: readonly (readonly FindBytes[])[];
  /** Is called between turns of the event loop. @throws to end the scan. */
  readonly check?: () => void;
}

/** The bytes of JSON that are read at a time. */
const portionBytes = 262_144;
/** Milliseconds after which the scan yields to other requests. */
const turnMs = 5;
/** The number of accepted entries between two checks of the clock. */
const entriesByClock = 64;

/**
 * Scans entries in list order, without their file-only fields. It takes many turns of the event loop; the state stays
 * the same meanwhile.
 *
 * @param take receives an entry. It returns true to go on.
 */
export async function scanEntries(
  index: UdmIndex,
  options: ScanOptions,
  take: (entry: UdmEntry) => boolean,
): Promise<void> {
  const { from, anyOf = [], check } = options;
  let taken = 0;
  let since = performance.now();
  const mayTurn = async (): Promise<void> => {
    if (performance.now() - since < turnMs) return;
    await turn();
    check?.();
    since = performance.now();
  };
  for (const bounds of boundsOf(options)) {
    const selection = bounds === "all" ? "all" : { within: bounds };
    for (const { bytes, starts, ends, count } of index.jsonTexts(selection, portionBytes)) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let i = 0; i < count; i++) {
        const start = starts[i] as number;
        const end = ends[i] as number;
        if (!hasAll(anyOf, bytes, start, end)) continue;
        const values = parseUdmJson(buffer.toString("utf8", start, end));
        const entry = { ...values, key: parseStoredKey(values.key) };
        if (from !== undefined && compareKeys(entry.key, from) < 0) continue;
        if (!take(entry)) return;
        if (++taken % entriesByClock === 0) await mayTurn();
      }
      await mayTurn();
    }
  }
}

/** Reports whether a text has one of each group. It uses plain loops, because it runs for each entry. */
function hasAll(anyOf: readonly (readonly FindBytes[])[], bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = 0; i < anyOf.length; i++) {
    const finds = anyOf[i] as readonly FindBytes[];
    let at = -1;
    for (let n = 0; n < finds.length && at < 0; n++) at = (finds[n] as FindBytes)(bytes, start, end);
    if (at < 0) return false;
  }
  return true;
}

/** Returns keys that together cover the requested entries, in order. */
function boundsOf({ within, from }: ScanOptions): readonly (Key | "all")[] {
  if (from === undefined) return [within ?? "all"];
  const { family, first } = from;
  const rest = rangeKey(family, first, (1n << BigInt(familyBits(family))) - 1n);
  const others = family === 4 ? [parseKey("::/0")] : [];
  if (within === undefined) return [rest, ...others];
  if (within.family !== family) return within.family > family ? [within] : [];
  if (within.last < first) return [];
  return [first > within.first ? rangeKey(family, first, within.last) : within];
}

function rangeKey(family: Family, first: bigint, last: bigint): Key {
  return parseKey(`${formatAddress({ family, value: first })}-${formatAddress({ family, value: last })}`);
}

const mostTags = 64;
/** The most keys of a tag. For a more frequent tag, pages fill up quickly without them. */
const mostKeys = 50_000;

interface Keys {
  readonly keys: Key[];
  /** The version of the state of the keys. */
  version: number;
}

/** The keys of entries by tag, for tags of earlier searches. They are found once and then updated by changes. */
export class TagKeys {
  readonly #store: () => UdmStoreWithHistory;
  readonly #known = new Map<string, Keys>();
  #isWatching = false;

  constructor(store: () => UdmStoreWithHistory) {
    this.#store = store;
  }

  /** Returns the keys in list order; undefined for a tag of too many entries. */
  async of(tag: string, index: UdmIndex, check: () => void): Promise<readonly Key[] | undefined> {
    const found = this.#known.get(tag);
    if (found?.version === index.version) return found.keys;
    if (!this.#isWatching) {
      this.#isWatching = true;
      this.#store().history.watch((a) => this.#follow(a));
    }
    const keys = await this.#scan(tag, index, check);
    if (keys === undefined) return undefined;
    this.#known.delete(tag);
    const [oldest] = this.#known.size >= mostTags ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(tag, { keys, version: index.version });
    return keys;
  }

  #follow({ changes, layer }: UdmChange): void {
    if (layer !== undefined) return;
    const { version } = this.#store().current();
    for (const [tag, list] of this.#known) {
      // Changes of one commit group are reported one by one, after the last of them.
      if (list.version < version - 1) {
        this.#known.delete(tag);
        continue;
      }
      for (const { before, after } of changes) {
        const had = before?.tags.includes(tag) === true;
        const has = after?.tags.includes(tag) === true;
        if (has && !had) insert(list.keys, after.key);
        else if (had && !has) remove(list.keys, before.key);
      }
      list.version = version;
    }
  }

  async #scan(tag: string, index: UdmIndex, check: () => void): Promise<Key[] | undefined> {
    const keys: Key[] = [];
    const find = findInJson(tag);
    await scanEntries(index, { anyOf: find === undefined ? [] : [[find]], check }, (entry) => {
      if (entry.tags.includes(tag)) keys.push(entry.key);
      return keys.length <= mostKeys;
    });
    return keys.length <= mostKeys ? keys : undefined;
  }
}

/** Returns the index of a key, or its place if it is not there. */
export function indexOfKey(keys: readonly Key[], key: Key): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] as Key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert(keys: Key[], key: Key): void {
  const at = indexOfKey(keys, key);
  if (keys[at]?.text !== key.text) keys.splice(at, 0, key);
}

function remove(keys: Key[], key: Key): void {
  const at = indexOfKey(keys, key);
  if (keys[at]?.text === key.text) keys.splice(at, 1);
}
