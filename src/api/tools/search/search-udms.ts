import { create } from "@bufbuild/protobuf";
import { compileFilter, FilterError, parseFilter, udmVocabulary, type Filter } from "../../../filter/index.ts";
import { compareKeys, parseKey, type Key } from "../../../ip/index.ts";
import type { UdmEntry, UdmIndex } from "../../../udm/index.ts";
import { FullUdmSchema, SearchUdmsResponseSchema, type SearchUdmsRequest } from "../../gen/udm/v1/tools_pb.ts";
import type { Encodable } from "../../rpc/encoded.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { fullUdm } from "../common/full-udm.ts";
import { listedAnswer } from "../common/listed-answer.ts";
import { pageSize, readPageToken, writePageToken } from "../common/page-token.ts";
import { elementsPerTurn, turn, type ToolsCaller, type ToolsContext } from "../common/tools-context.ts";
import { contextKeys } from "./context-keys.ts";
import { entryValues } from "./entry-values.ts";
import { findInJson } from "./find-bytes.ts";
import { narrowFilter } from "./narrow-filter.ts";
import { readOrder, type Order, type Position } from "./order.ts";
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
  const index = context.current();
  const { filter: expression, text, order: orderText } = request;
  const question = ["SearchUdms", expression, text, orderText];
  const order = readOrder(orderText);
  const after = readPosition(readPageToken(request.pageToken, question));
  const limit = pageSize(request.pageSize, mostEntries, entriesByDefault);
  const search: Search = { index, filter: readFilter(expression), text, order, after, limit: limit + 1 };
  const found = await findEntries(search, tagKeys, () => caller.throwIfAborted());
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const nextPageToken =
    found.length > limit && last !== undefined ? writePageToken(question, [order.valueOf(last), last.key.text]) : "";
  return listedAnswer({
    desc: SearchUdmsResponseSchema,
    rest: create(SearchUdmsResponseSchema, { nextPageToken }),
    field: "udms",
    element: FullUdmSchema,
    count: page.length,
    at: (i) => fullUdm(page[i] as UdmEntry),
  });
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
export function matcherOf(filter: Filter | undefined, text: string): (entry: UdmEntry) => boolean {
  const matches = filter && compileFilter(filter);
  const wanted = text.toLowerCase();
  const has = (value: string): boolean => value.toLowerCase().includes(wanted);
  return (entry) => {
    if (wanted !== "" && !textsOf(entry).some(has)) return false;
    return matches === undefined || matches(entryValues(entry));
  };
}

function textsOf({ key, name, tags, metadata }: UdmEntry): readonly string[] {
  return [key.text, name, ...tags, ...metadata.values()];
}

interface Search {
  readonly index: UdmIndex;
  readonly filter: Filter | undefined;
  readonly text: string;
  readonly order: Order;
  readonly after: Position | undefined;
  /** Most entries to find. */
  readonly limit: number;
}

async function findEntries(search: Search, tagKeys: TagKeys, check: () => void): Promise<readonly UdmEntry[]> {
  const { index, filter, text, order, after, limit } = search;
  const { anyOf, within, tag, haveContexts, asksForContexts } = narrowFilter(filter);
  const isMatch = matcherOf(filter, text);
  const page = order.page(limit, after);
  const take = (entry: UdmEntry): boolean => {
    const whole = asksForContexts ? (index.get(entry.key) as UdmEntry) : entry;
    return isMatch(whole) ? page.add(whole) : true;
  };
  // In any other order the page itself leaves out what is before the position.
  const afterKey = order.isOfKeys && !order.isReversed ? after?.key : undefined;
  const keys =
    tag !== undefined
      ? await tagKeys.of(tag, index, check)
      : haveContexts
        ? await contextKeys(index, check)
        : undefined;
  if (keys !== undefined) await takeKeys(index, keys, afterKey, check, take);
  else await scanEntries(index, { within, after: afterKey, anyOf: needles(anyOf, text), check }, take);
  return page.entries().map((entry) => index.get(entry.key) as UdmEntry);
}

function needles(anyOf: ReturnType<typeof narrowFilter>["anyOf"], text: string): typeof anyOf {
  const find = text === "" ? undefined : findInJson(text);
  return find === undefined ? anyOf : [[find], ...anyOf];
}

async function takeKeys(
  index: UdmIndex,
  keys: readonly Key[],
  after: Key | undefined,
  check: () => void,
  take: (entry: UdmEntry) => boolean,
): Promise<void> {
  // The list may change between turns.
  const rest = keys.slice(after === undefined ? 0 : placeOfKey(keys, after));
  for (const [i, key] of rest.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) {
      await turn();
      check();
    }
    if (after !== undefined && compareKeys(key, after) <= 0) continue;
    const entry = index.get(key);
    if (entry !== undefined && !take(entry)) return;
  }
}

function readPosition(parts: readonly string[] | undefined): Position | undefined {
  return parts === undefined ? undefined : { value: parts[0] ?? "", key: parseKey(parts[1] ?? "") };
}
