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

/** Finds the offset at which a text begins within some bytes, the case of ASCII letters not counting; -1 when it is not there. */
export type FindBytes = (bytes: Uint8Array, start: number, end: number) => number;

/** @param text of ASCII characters, at least one. */
export function createFindBytes(text: string): FindBytes {
  const lower = Buffer.from(text.toLowerCase(), "latin1");
  const upper = Buffer.from(text.toUpperCase(), "latin1");
  const last = lower.length - 1;
  // The bytes that the offset can move on by the byte at its end (Horspool); 0 where it is the last one of the text.
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

/** A search for the longest part of a text that has ASCII characters only, as JSON has it; undefined when there is none. */
export function findInJson(text: string): FindBytes | undefined {
  const escaped = JSON.stringify(text).slice(1, -1);
  const parts = escaped.split(/[^\x20-\x7e]+/).toSorted((a, b) => b.length - a.length);
  const [longest = ""] = parts;
  return longest === "" ? undefined : createFindBytes(longest);
}

/** The facts about the entries that match a filter that are known before they are looked into. */
export interface Narrowed {
  /** Groups of texts: the JSON of an entry has to contain one of each group. */
  readonly anyOf: readonly (readonly FindBytes[])[];
  /** They lie within this key. */
  readonly within: Key | undefined;
  /** They are in one of these layers. */
  readonly layers: readonly string[] | undefined;
  /** True if the filter asks which layer an entry is in. */
  readonly asksForLayers: boolean;
  /** They have this tag. */
  readonly tag: string | undefined;
  /** True if they all have contexts in which they apply. */
  readonly haveContexts: boolean;
  /** True if the filter asks for fields that the JSON of entries does not have. */
  readonly asksForContexts: boolean;
}

/** More alternatives take longer to be looked for than entries to be looked into. */
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

/** An entry that matches the filter has one of these; undefined: nobody knows. */
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
  // The JSON does not have the values of contexts and layers, and numbers may be written in other ways.
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
  /** Only entries that lie within this key. */
  readonly within?: Key | undefined;
  /** Only the entry with this key and those behind it in the order of lists. */
  readonly from?: Key | undefined;
  /** Groups of texts: the JSON of an entry has to contain one of each group. */
  readonly anyOf?: readonly (readonly FindBytes[])[];
  /** Called between cycles of the event loop. @throws to end the scan. */
  readonly check?: () => void;
}

/** JSON taken at a time, in bytes. */
const portionBytes = 262_144;
/** Milliseconds after which the scan yields to other requests. */
const turnMs = 5;
/** After how many entries that were taken the clock is looked at. */
const entriesByClock = 64;

/**
 * Entries in the order of lists, without what the file alone knows of them. Takes many cycles of the event loop; the state stays
 * the same meanwhile.
 *
 * @param take @returns whether to go on.
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

/** Plain loops: this is asked of each entry. */
function hasAll(anyOf: readonly (readonly FindBytes[])[], bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = 0; i < anyOf.length; i++) {
    const finds = anyOf[i] as readonly FindBytes[];
    let at = -1;
    for (let n = 0; n < finds.length && at < 0; n++) at = (finds[n] as FindBytes)(bytes, start, end);
    if (at < 0) return false;
  }
  return true;
}

/** Keys that hold all that is asked for, in order. */
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
/** Pages of a tag that more entries have fill up soon without its keys. */
const mostKeys = 50_000;

interface Keys {
  readonly keys: Key[];
  /** The version of the state that they are of. */
  version: number;
}

/** The keys of entries by tag, for tags that were asked for: found once, then kept up to date by the changes. */
export class TagKeys {
  readonly #store: () => UdmStoreWithHistory;
  readonly #known = new Map<string, Keys>();
  #isWatching = false;

  constructor(store: () => UdmStoreWithHistory) {
    this.#store = store;
  }

  /** In the order of lists; undefined for a tag that very many entries have. */
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
      // Changes that came together are reported one by one, all after the last.
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

/** Returns the index of a key, or where it would be. */
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
