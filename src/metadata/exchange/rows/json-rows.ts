import { ExchangeError } from "../exchange-error.ts";
import { quote } from "../../../base/text/index.ts";
import type { FaultList } from "../fault-list.ts";
import { JsonTooLong, JsonWalker, JsonWalkError, type JsonExtent } from "./json-walker.ts";
import { charactersOfABlock, longestRow, rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

/** Says that an object of a JSON text, or of lines of JSON, has a name twice; undefined when none has. */
export function repeatedName(text: string): string | undefined {
  const walker = new JsonWalker(text);
  try {
    while (walker.peek() !== "") {
      const { twice } = walker.value();
      if (twice !== undefined) return nameTwice(twice);
    }
  } catch (error) {
    if (!isWalkError(error)) throw error;
  }
  return undefined;
}

/** @throws ExchangeError for a text one of whose objects has a name twice: one of both values would be lost. */
export function requireDifferentNames(text: string): void {
  try {
    const { twice } = new JsonWalker(text).value();
    if (twice !== undefined) throw new ExchangeError("", `the text is not JSON that can be read: ${nameTwice(twice)}`);
  } catch (error) {
    throw isWalkError(error) ? notJson(text, error) : error;
  }
}

export function nameTwice(name: string): string {
  return `the name ${quote(name)} is given twice in one object`;
}

const isWalkError = (error: unknown): error is JsonWalkError => error instanceof JsonWalkError;

/** What the engine says of a text that is no JSON. */
function notJson(text: string, { message }: JsonWalkError): Error {
  parseJson(text);
  return new ExchangeError("", `the text is not JSON that can be read: ${message}`);
}

/**
 * The rows of a JSON text: a list of objects, or an object that holds one as `udms`, `results`, `result` or `data`, as answers
 * of interfaces do. They are read one by one, so that other work can be done in between.
 */
export async function* jsonRows(text: string, faults: FaultList): RowBlocks {
  let rows: readonly JsonExtent[];
  try {
    const walk = findRows(text);
    let next = walk.next();
    for (; next.done !== true; next = walk.next()) yield [];
    rows = next.value;
  } catch (error) {
    if (error instanceof JsonTooLong) throw new ExchangeError("", error.message);
    throw isWalkError(error) ? notJson(text, error) : error;
  }
  let block: Row[] = [];
  let blockStart = 0;
  for (const [i, { start, end, twice }] of rows.entries()) {
    let values: unknown;
    try {
      values = JSON.parse(text.slice(start, end));
    } catch (error) {
      throw notJson(text, error as Error);
    }
    const number = i + 1;
    if (twice !== undefined) faults.add({ row: number, line: 0, column: twice, field: "", reason: nameTwice(twice) });
    else if (isObject(values)) block.push({ number, line: 0, header: undefined, values });
    else faults.add({ row: number, line: 0, column: "", field: "", reason: notAnObject });
    if (block.length < rowsOfABlock && end - blockStart < charactersOfABlock) continue;
    yield block;
    block = [];
    blockStart = end;
  }
  yield block;
}

const notAnObject = "the row is not an object";

/** Finds the list of rows in steps, some hundred items each. @throws JsonWalkError, ExchangeError */
function* findRows(text: string): Generator<void, readonly JsonExtent[]> {
  const walker = new JsonWalker(text);
  const lists = new Map<string, JsonExtent[]>();
  function* itemsOf(name: string): Generator<void> {
    const items: JsonExtent[] = [];
    lists.set(name, items);
    let yielded = 0;
    for (const item of walker.items(longestRow)) {
      if (items.push(item) % rowsOfABlock !== 0 && item.end - yielded < charactersOfABlock) continue;
      yield;
      yielded = item.end;
    }
  }
  if (walker.peek() === "[") yield* itemsOf("udms");
  else if (walker.peek() === "{") {
    const names = new Set<string>();
    for (const name of walker.members()) {
      if (names.has(name)) throw new ExchangeError("", `the text is not JSON that can be read: ${nameTwice(name)}`);
      names.add(name);
      if (listNames.includes(name) && walker.peek() === "[") yield* itemsOf(name);
      else {
        const { start, end, twice } = walker.value(longestRow);
        try {
          JSON.parse(text.slice(start, end));
        } catch (error) {
          throw new JsonWalkError((error as Error).message);
        }
        if (twice !== undefined)
          throw new ExchangeError("", `the text is not JSON that can be read: ${nameTwice(twice)}`);
      }
    }
  } else parseJson(text);
  walker.end();
  const found = listNames.find((name) => lists.has(name));
  if (found !== undefined) return lists.get(found) ?? [];
  throw new ExchangeError(
    "select",
    `the JSON text is no list, and has none as ${listNames.join(", ")}: name its rows by an expression`,
  );
}

/** A parsed text. @throws ExchangeError that says where it breaks. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ExchangeError(
      "",
      `the text is not JSON: ${jsonFault(text, error instanceof Error ? error.message : "")}`,
    );
  }
}

/** What the engine says, with line and column where it gives the position, which it does not for every fault. */
function jsonFault(text: string, message: string): string {
  if (message.includes("end of JSON input")) return "it ends too early";
  const what = message.replace(/ in JSON at position .*$/s, "").replace(/ is not valid JSON$/, "");
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return what;
  const before = text.slice(0, Number(position));
  return `line ${before.split("\n").length}, column ${before.length - before.lastIndexOf("\n")}: ${what}`;
}

const listNames: readonly string[] = ["udms", "results", "result", "data"];

export async function* blocksOf(rows: readonly unknown[], faults: FaultList): RowBlocks {
  for (let start = 0; start < rows.length; start += rowsOfABlock) {
    const block = [];
    for (let i = start; i < Math.min(rows.length, start + rowsOfABlock); i++) {
      const values = rows[i];
      const number = i + 1;
      if (isObject(values)) block.push({ number, line: 0, header: undefined, values });
      else faults.add({ row: number, line: 0, column: "", field: "", reason: notAnObject });
    }
    yield block;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
