import { create } from "@bufbuild/protobuf";
import { compareKeys, type Key } from "../../base/ip/index.ts";
import { keyReaders, parseStoredKey, type ReadKey, type UdmEntry, type UdmIndex } from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import { badRequest } from "../udm/udm-service.ts";
import {
  turn,
  elementsPerTurn,
  type ToolsCaller,
  type ToolsContext,
  pageSize,
  readPageToken,
  writePageToken,
} from "./tools-context.ts";
import {
  type FieldValues,
  type Value,
  compileFilter,
  FilterError,
  parseFilter,
  udmVocabulary,
  type Filter,
} from "../../record/index.ts";
import { FullUdmSchema, SearchUdmsResponseSchema, type SearchUdmsRequest } from "../gen/udm/v1/tools_pb.ts";
import type { Encodable } from "../rpc/protocol.ts";
import { fullUdm, fullUdmJson, listedAnswer } from "./full-udm.ts";
import { findInJson, narrowFilter, type Narrowed, scanEntries, indexOfKey, type TagKeys } from "./scan-entries.ts";

/** A position in an order: after the entry with this value and key, which need not exist any more. */
interface Position {
  readonly value: string;
  readonly key: Key;
  /** The layer; "" for entries that people write. */
  readonly layer: string;
}

/** An entry that was found. */
interface FoundEntry {
  readonly entry: UdmEntry;
  readonly layer: string;
}

const values: Readonly<Record<string, (entry: UdmEntry) => string>> = {
  key: () => "",
  name: ({ name }) => name,
  // All texts have the same length, so that their order is that of the numbers.
  vlan: ({ vlan }) => vlan.toString().padStart(20, "0"),
};

/** An order of entries. Equal values are in list order, equal keys in the order of their layers. */
class Order {
  readonly isOfKeys: boolean;
  readonly isReversed: boolean;
  /** Returns the value of an entry for {@link Position}. */
  readonly valueOf: (entry: UdmEntry) => string;

  /** @throws ConnectError `invalid_argument` */
  constructor(text: string) {
    this.isReversed = text.startsWith("-");
    const name = (this.isReversed ? text.slice(1) : text) || "key";
    const valueOf = Object.hasOwn(values, name) ? values[name] : undefined;
    if (valueOf === undefined) {
      const description = `order ${quote(text)} is not known: expected ${Object.keys(values).join(", ")}, or one of them behind a "-"`;
      throw badRequest([{ field: "order", description }]);
    }
    this.isOfKeys = name === "key";
    this.valueOf = valueOf;
  }

  compare(a: Position, b: Position): number {
    const sign = this.isReversed ? -1 : 1;
    if (a.value !== b.value) return a.value < b.value ? -sign : sign;
    const byKeys = compareKeys(a.key, b.key) * (this.isOfKeys ? sign : 1);
    if (byKeys !== 0 || a.layer === b.layer) return byKeys;
    return a.layer < b.layer ? -1 : 1;
  }
}

/** The first entries of an order after a position. */
class FoundPage {
  readonly entries: (Position & FoundEntry)[] = [];
  readonly #order: Order;
  readonly #limit: number;
  readonly #after: Position | undefined;
  /** The key before which no entry can be in the page. In other orders, the page itself leaves out entries before the position. */
  readonly from: Key | undefined;

  constructor(order: Order, limit: number, after: Position | undefined) {
    this.#order = order;
    this.#limit = limit;
    this.#after = after;
    this.from = order.isOfKeys && !order.isReversed ? after?.key : undefined;
  }

  /** Adds an entry. @returns true where later entries of this layer, in list order, can change the page. */
  add({ entry, layer }: FoundEntry): boolean {
    const { entries } = this;
    const order = this.#order;
    const item = { value: order.valueOf(entry), key: entry.key, layer, entry };
    if (this.#after !== undefined && order.compare(item, this.#after) <= 0) return true;
    const isInOrder = order.isOfKeys && !order.isReversed;
    const last = entries.at(-1);
    const isBeforeLast = last !== undefined && order.compare(item, last) < 0;
    if (isBeforeLast) entries.splice(this.#indexOf(item), 0, item);
    else if (entries.length < this.#limit) entries.push(item);
    else return !isInOrder;
    if (entries.length > this.#limit) entries.pop();
    return !isInOrder || isBeforeLast || entries.length < this.#limit;
  }

  #indexOf(item: Position): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order.compare(this.entries[middle] as Position, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The bytes that the text of every entry with contexts contains, quoted or not. */
const contextsBytes = Buffer.from("contexts");
const lineFeed = 0x0a;
const blank = 0x20;
/** The bytes of text that are searched before the search yields to other requests. */
const portionBytes = 262_144;

/**
 * Returns the keys of all entries with contexts, and perhaps of others, in list order. It searches the text of the file,
 * because few entries have contexts and reading all would take long.
 */
async function contextKeys(index: UdmIndex, check: () => void): Promise<readonly Key[]> {
  const keys = new Map<string, Key>();
  for (const chunk of index.render("all", "yaml", "", portionBytes)) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let at = bytes.indexOf(contextsBytes); at >= 0; at = bytes.indexOf(contextsBytes, at + contextsBytes.length)) {
      const key = keyBefore(bytes, at);
      keys.set(key.text, key);
    }
    await turn();
    check();
  }
  return [...keys.values()];
}

/** Returns the key of the entry with this byte. The key is in the last line before it that is neither indented nor empty. */
function keyBefore(bytes: Buffer, at: number): Key {
  let end = at;
  let start = bytes.lastIndexOf(lineFeed, end - 1) + 1;
  while (bytes[start] === blank || bytes[start] === lineFeed) {
    end = start - 1;
    start = bytes.lastIndexOf(lineFeed, end - 1) + 1;
  }
  return parseStoredKey(bytes.toString("utf8", start, end).replace(/^"|"?:$/g, ""));
}

const metadataPrefix = "metadata.";

/** Returns the fields of an entry by their names in filters. Zero values are not set. @param layer "" for entries that people write. */
function entryValues(entry: UdmEntry, layer: string): FieldValues {
  return { get: (name) => (name === "layer" ? layer || undefined : entryValue(entry, name)) };
}

function entryValue(entry: UdmEntry, name: string): Value | undefined {
  switch (name) {
    case "key":
      return entry.key.text;
    case "name":
      return entry.name === "" ? undefined : entry.name;
    case "tags":
      return entry.tags.length === 0 ? undefined : [...entry.tags];
    case "vlan":
      return entry.vlan === 0n ? undefined : entry.vlan;
    case "internal":
      return entry.internal ? true : undefined;
    case "contexts": {
      const contexts = entry.fileOnly?.contexts;
      return contexts === undefined ? undefined : [...contexts];
    }
    default:
      return name.startsWith(metadataPrefix) ? entry.metadata.get(name.slice(metadataPrefix.length)) : undefined;
  }
}

const mostEntries = 1000;
const entriesByDefault = 100;

export async function searchUdms(
  context: ToolsContext,
  tagKeys: TagKeys,
  request: SearchUdmsRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  const { filter: expression, text, order: orderText, layers } = request;
  const question = ["SearchUdms", expression, text, orderText, ...(layers ? [layers] : [])];
  const order = new Order(orderText);
  const after = readPosition(readPageToken(request.pageToken, question));
  const limit = pageSize(request.pageSize, mostEntries, entriesByDefault);
  const filter = readFilter(expression, context.store().parseKey);
  const states = statesOf(context, narrowFilter(filter), layers);
  const first = new FoundPage(order, limit + 1, after);
  const found = await findEntries(states, filter, text, first, tagKeys, () => caller.throwIfAborted());
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const nextPageToken =
    found.length > limit && last !== undefined
      ? writePageToken(question, [order.valueOf(last.entry), last.entry.key.text, last.layer])
      : "";
  return listedAnswer({
    desc: SearchUdmsResponseSchema,
    rest: create(SearchUdmsResponseSchema, { nextPageToken }),
    field: "udms",
    element: FullUdmSchema,
    count: page.length,
    at(i) {
      const { entry, layer } = page[i] as FoundEntry;
      return fullUdm(entry, layer);
    },
    jsonAt(i) {
      const { entry, layer } = page[i] as FoundEntry;
      return fullUdmJson(entry, layer);
    },
  });
}

/** Returns the states to search: entries that people write, and the requested layers. */
function statesOf(context: ToolsContext, { asksForLayers, layers: wanted }: Narrowed, all: boolean): readonly State[] {
  const own = { layer: "", index: context.current() };
  if (!all && !asksForLayers) return [own];
  const others = context
    .store()
    .layers.list()
    .map(({ name, index }) => ({ layer: name, index }));
  return wanted === undefined ? [own, ...others] : others.filter(({ layer }) => wanted.includes(layer));
}

/** Reads a filter. @param readKey reads keys of the entries. @throws ConnectError `invalid_argument` with the position of the fault. */
export function readFilter(text: string, readKey: ReadKey = keyReaders.addresses): Filter | undefined {
  const field = "filter";
  if (text.trim() === "") return undefined;
  try {
    const isOfNames = readKey !== keyReaders.addresses;
    return parseFilter(text, field, isOfNames ? { ...udmVocabulary, readKey } : udmVocabulary);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw badRequest([{ field, description: error.message }]);
  }
}

/** Returns a function that reports whether an entry matches. */
export function matcherOf(filter: Filter | undefined, text: string): (entry: UdmEntry, layer?: string) => boolean {
  const matches = filter && compileFilter(filter, parseStoredKey);
  const wanted = text.toLowerCase();
  const has = (value: string): boolean => value.toLowerCase().includes(wanted);
  return (entry, layer = "") => {
    if (wanted !== "" && !textsOf(entry).some(has)) return false;
    return matches === undefined || matches(entryValues(entry, layer));
  };
}

function textsOf({ key, name, tags, metadata }: UdmEntry): readonly string[] {
  return [key.text, name, ...tags, ...metadata.values()];
}

/** The entries of a layer; "" for those that people write. */
interface State {
  readonly layer: string;
  readonly index: UdmIndex;
}

async function findEntries(
  states: readonly State[],
  filter: Filter | undefined,
  text: string,
  page: FoundPage,
  tagKeys: TagKeys,
  check: () => void,
): Promise<readonly FoundEntry[]> {
  const narrowed = narrowFilter(filter);
  const { anyOf, within, asksForContexts } = narrowed;
  const isMatch = matcherOf(filter, text);
  const { from } = page;
  for (const { layer, index } of states) {
    const take = (entry: UdmEntry): boolean => {
      const whole = asksForContexts ? (index.get(entry.key) as UdmEntry) : entry;
      return isMatch(whole, layer) ? page.add({ entry: whole, layer }) : true;
    };
    const keys = layer === "" ? await knownKeys(index, narrowed, tagKeys, check) : undefined;
    if (keys !== undefined) await takeKeys(index, keys, from, check, take);
    else await scanEntries(index, { within, from, anyOf: needles(anyOf, text), check }, take);
  }
  const indexOf = new Map(states.map(({ layer, index }) => [layer, index]));
  // Read the entries again, with their file-only fields.
  return page.entries.map(({ entry, layer }) => ({ layer, entry: indexOf.get(layer)?.get(entry.key) ?? entry }));
}

/** Returns keys that include those of all matching entries, if they can be found without reading all entries. */
async function knownKeys(
  index: UdmIndex,
  { tag, haveContexts }: Narrowed,
  tagKeys: TagKeys,
  check: () => void,
): Promise<readonly Key[] | undefined> {
  if (tag !== undefined) return tagKeys.of(tag, index, check);
  return haveContexts ? contextKeys(index, check) : undefined;
}

function needles(anyOf: ReturnType<typeof narrowFilter>["anyOf"], text: string): typeof anyOf {
  const find = text === "" ? undefined : findInJson(text);
  return find === undefined ? anyOf : [[find], ...anyOf];
}

async function takeKeys(
  index: UdmIndex,
  keys: readonly Key[],
  from: Key | undefined,
  check: () => void,
  take: (entry: UdmEntry) => boolean,
): Promise<void> {
  // The list may change between turns of the event loop.
  const rest = keys.slice(from === undefined ? 0 : indexOfKey(keys, from));
  for (const [i, key] of rest.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) {
      await turn();
      check();
    }
    if (from !== undefined && compareKeys(key, from) < 0) continue;
    const entry = index.get(key);
    if (entry !== undefined && !take(entry)) return;
  }
}

function readPosition(parts: readonly string[] | undefined): Position | undefined {
  return parts === undefined
    ? undefined
    : { value: parts[0] ?? "", key: parseStoredKey(parts[1] ?? ""), layer: parts[2] ?? "" };
}
