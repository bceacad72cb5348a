import { create } from "@bufbuild/protobuf";
import { compileFilter, FilterError, parseFilter, udmVocabulary, type Filter } from "../../../filter/index.ts";
import { compareKeys, parseKey, type Key } from "../../../ip/index.ts";
import type { UdmEntry, UdmIndex } from "../../../udm/index.ts";
import { FullUdmSchema, SearchUdmsResponseSchema, type SearchUdmsRequest } from "../../gen/udm/v1/tools_pb.ts";
import type { Encodable } from "../../rpc/encoded.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { fullUdm, fullUdmJson } from "../common/full-udm.ts";
import { listedAnswer } from "../common/listed-answer.ts";
import { pageSize, readPageToken, writePageToken } from "../common/page-token.ts";
import { elementsPerTurn, turn, type ToolsCaller, type ToolsContext } from "../common/tools-context.ts";
import { contextKeys } from "./context-keys.ts";
import { entryValues } from "./entry-values.ts";
import { findInJson } from "./find-bytes.ts";
import { narrowFilter, type Narrowed } from "./narrow-filter.ts";
import { readOrder, type FoundEntry, type Order, type Position } from "./order.ts";
import { scanEntries } from "./scan-entries.ts";
import { placeOfKey, type TagKeys } from "./tag-keys.ts";

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
  const order = readOrder(orderText);
  const after = readPosition(readPageToken(request.pageToken, question));
  const limit = pageSize(request.pageSize, mostEntries, entriesByDefault);
  const filter = readFilter(expression);
  const search: Search = {
    states: statesOf(context, narrowFilter(filter), layers),
    filter,
    text,
    order,
    after,
    limit: limit + 1,
  };
  const found = await findEntries(search, tagKeys, () => caller.throwIfAborted());
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

/** What is searched: what people write, and layers if they are asked for. */
function statesOf(context: ToolsContext, { asksForLayers, layers: wanted }: Narrowed, all: boolean): readonly State[] {
  const own = { layer: "", index: context.current() };
  if (!all && !asksForLayers) return [own];
  const others = context
    .store()
    .layers.list()
    .map(({ name, index }) => ({ layer: name, index }));
  return wanted === undefined ? [own, ...others] : others.filter(({ layer }) => wanted.includes(layer));
}

/** @param field what the text is called in errors. @throws ConnectError `invalid_argument`, which shows where it is wrong. */
export function readFilter(text: string, field = "filter"): Filter | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseFilter(text, field, udmVocabulary);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw badRequest([{ field, description: error.message }]);
  }
}

/** Whether an entry is one of those asked for. */
export function matcherOf(filter: Filter | undefined, text: string): (entry: UdmEntry, layer?: string) => boolean {
  const matches = filter && compileFilter(filter);
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

interface Search {
  readonly states: readonly State[];
  readonly filter: Filter | undefined;
  readonly text: string;
  readonly order: Order;
  readonly after: Position | undefined;
  /** Most entries to find. */
  readonly limit: number;
}

async function findEntries(search: Search, tagKeys: TagKeys, check: () => void): Promise<readonly FoundEntry[]> {
  const { states, filter, text, order, after, limit } = search;
  const narrowed = narrowFilter(filter);
  const { anyOf, within, asksForContexts } = narrowed;
  const isMatch = matcherOf(filter, text);
  const page = order.page(limit, after);
  // In any other order the page itself leaves out what is before the position.
  const from = order.isOfKeys && !order.isReversed ? after?.key : undefined;
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
  // With what the file alone knows of them.
  return page.entries().map(({ entry, layer }) => ({ layer, entry: indexOf.get(layer)?.get(entry.key) ?? entry }));
}

/** Keys of entries that include all that match a filter, where these are found without reading all entries. */
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
  // The list may change between turns.
  const rest = keys.slice(from === undefined ? 0 : placeOfKey(keys, from));
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
    : { value: parts[0] ?? "", key: parseKey(parts[1] ?? ""), layer: parts[2] ?? "" };
}
