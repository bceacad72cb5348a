import {
  ExchangeError,
  type FaultList,
  charactersOfABlock,
  longestRow,
  rowsOfABlock,
  type Row,
  type RowBlocks,
  rowIsTooLong,
} from "../import-rows.ts";
import { quote } from "../../../base/text/index.ts";

/** The deepest nesting, more than any row needs. It keeps recursion over values from overflowing on a megabyte of brackets. */
const maxDepth = 100;

/** The position of a value in a JSON text, and a name that one of its objects has twice. */
interface JsonExtent {
  readonly start: number;
  readonly end: number;
  readonly twice: string | undefined;
}

/** The error for invalid JSON. The walker does not find every fault; the parser of the values finds the others. */
class JsonWalkError extends Error {}

/** The error for a value that is too long. */
class JsonTooLong extends Error {
  constructor(text: string, start: number, most: number) {
    const line = text.slice(0, start).split("\n").length;
    super(`a row or value at line ${line} takes more than ${most} characters: "${text.slice(start, start + 40)}…"`);
  }
}

/** Walks over a JSON text without creating values, so that a long text can be read one value at a time. */
class JsonWalker {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the first character of the next value, or the character in its place; "" at the end. */
  peek(): string {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
    return this.#text[this.#at] ?? "";
  }

  /** Walks over the next value. @throws JsonWalkError, and {@link JsonTooLong} for a collection of more characters than `most`. */
  value(most = Infinity): JsonExtent {
    const first = this.peek();
    const start = this.#at;
    let twice: string | undefined;
    if (first === "{" || first === "[") twice = this.#collection(most);
    else if (first === '"') this.#string();
    else {
      while (!/[\s,\]}]|^$/.test(this.#text[this.#at] ?? "")) this.#at++;
      if (this.#at === start) this.#fail("a value is missing");
    }
    return { start, end: this.#at, twice };
  }

  /** Walks over the items of the next value, which is an array. @throws as {@link value} does. */
  *items(most: number): Generator<JsonExtent, void> {
    this.#skip("[");
    if (this.peek() === "]") return this.#skip("]");
    for (;;) {
      yield this.value(most);
      if (this.peek() === "]") return this.#skip("]");
      this.#skip(",");
    }
  }

  /**
   * Walks over the names of the next value, which is an object. After each one its value must be walked over.
   *
   * @throws JsonWalkError
   */
  *members(): Generator<string, void> {
    this.#skip("{");
    if (this.peek() === "}") return this.#skip("}");
    for (;;) {
      if (this.peek() !== '"') this.#fail("a name is missing");
      const start = this.#at;
      this.#string();
      const name = this.#nameOf(start);
      this.#skip(":");
      yield name;
      if (this.peek() === "}") return this.#skip("}");
      this.#skip(",");
    }
  }

  /** Checks that the text ends here. @throws JsonWalkError when it goes on. */
  end(): void {
    if (this.peek() !== "") this.#fail("there is something behind the value");
  }

  #skip(sign: string): void {
    if (this.peek() !== sign) this.#fail(`${sign} is missing`);
    this.#at++;
  }

  /** Walks over an array or object. @returns a name that an object has twice. */
  #collection(most: number): string | undefined {
    const text = this.#text;
    const first = this.#at;
    /** The names of each object that is open; undefined for an array. */
    const open: (Set<string> | undefined)[] = [];
    let isName = false;
    let twice: string | undefined;
    do {
      if (this.#at - first > most) throw new JsonTooLong(text, first, most);
      switch (text.charCodeAt(this.#at)) {
        case quoteByte: {
          const start = this.#at;
          this.#string();
          if (!isName) break;
          const name = this.#nameOf(start);
          const names = open.at(-1);
          if (names?.has(name) === true) twice ??= name;
          names?.add(name);
          isName = false;
          break;
        }
        case openingBrace:
        case openingBracket:
          isName = text.charCodeAt(this.#at++) === openingBrace;
          if (open.push(isName ? new Set() : undefined) > maxDepth) this.#fail(`nested deeper than ${maxDepth} levels`);
          break;
        case closingBrace:
        case closingBracket:
          open.pop();
          isName = false;
          this.#at++;
          break;
        case comma:
          isName = open.at(-1) !== undefined;
          this.#at++;
          break;
        default:
          if (++this.#at > text.length) this.#fail("it ends too early");
      }
    } while (open.length > 0);
    return twice;
  }

  #string(): void {
    const text = this.#text;
    for (let end = text.indexOf('"', this.#at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
      let before = end - 1;
      while (text.charCodeAt(before) === backslash) before--;
      if ((end - before) % 2 === 0) continue;
      this.#at = end + 1;
      return;
    }
    this.#fail("it ends too early");
  }

  /** Returns the name in quotes from `start` to the walker's position. */
  #nameOf(start: number): string {
    const text = this.#text.slice(start, this.#at);
    if (!text.includes("\\")) return text.slice(1, -1);
    try {
      return JSON.parse(text) as string;
    } catch {
      return text;
    }
  }

  #fail(what: string): never {
    throw new JsonWalkError(what);
  }
}

const quoteByte = 0x22;
const comma = 0x2c;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** Returns a message where an object of a JSON text, or of lines of JSON, has a name twice; undefined otherwise. */
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

/** Checks that no object has a name twice, because one of the two values would be lost. @throws ExchangeError */
export function requireDifferentNames(text: string): void {
  try {
    const { twice } = new JsonWalker(text).value();
    if (twice !== undefined) throw new ExchangeError("", `the text is not JSON that can be read: ${nameTwice(twice)}`);
  } catch (error) {
    throw isWalkError(error) ? notJson(text, error) : error;
  }
}

function nameTwice(name: string): string {
  return `the name ${quote(name)} is given twice in one object`;
}

const isWalkError = (error: unknown): error is JsonWalkError => error instanceof JsonWalkError;

/** Throws the engine's error for invalid JSON. If the engine accepts the text, returns the walker's error. */
function notJson(text: string, { message }: JsonWalkError): Error {
  parseJson(text);
  return new ExchangeError("", `the text is not JSON that can be read: ${message}`);
}

/**
 * Yields the rows of a JSON text: a list of objects, or an object with a list as `udms`, `results`, `result` or `data`, as answers
 * of APIs have. It reads them one by one, so that other work can run in between.
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

/** Finds the list of rows in steps of some hundred items. @throws JsonWalkError, ExchangeError */
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

/** Parses a text. @throws ExchangeError with the position of the fault. */
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

/** Returns the engine's message, with line and column if it has the position. It does not for every fault. */
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

/**
 * Yields the objects of a text with one on each line. Each line that cannot be read is a fault; empty lines are skipped.
 *
 * @param unit the word for a line in messages. They have the number of a line only if it is the user's own.
 */
export async function* ndjsonRows(
  text: AsyncIterable<string>,
  faults: FaultList,
  unit: "line" | "row" = "line",
): RowBlocks {
  let number = 0;
  let block: Row[] = [];
  let length = 0;
  for await (const line of linesOf(text)) {
    number++;
    if (line.trim() === "") continue;
    const values = readLine(line, number, faults, unit);
    if (values !== undefined) block.push({ number, line: unit === "line" ? number : 0, header: undefined, values });
    length += line.length;
    if (block.length < rowsOfABlock && length < charactersOfABlock) continue;
    yield block;
    block = [];
    length = 0;
  }
  yield block;
}

function readLine(line: string, number: number, faults: FaultList, unit: "line" | "row"): unknown {
  const fault = (reason: string): undefined => {
    faults.add({ row: number, line: unit === "line" ? number : 0, column: "", field: "", reason });
    return undefined;
  };
  if (line.length > longestRow) return fault(rowIsTooLong);
  try {
    const values = parseJson(line);
    const { twice } = new JsonWalker(line).value();
    if (twice !== undefined) return fault(nameTwice(twice));
    return isObject(values) ? values : fault(`the ${unit} is not an object`);
  } catch (error) {
    if (error instanceof JsonWalkError) return fault(`the line cannot be read: ${error.message}`);
    if (!(error instanceof ExchangeError)) throw error;
    return fault(error.message.replace("the text is not JSON: ", "the line is not JSON: ").replace("line 1, ", ""));
  }
}

async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const chunk of text) {
    const parts = chunk.split("\n");
    for (const [i, part] of parts.entries()) {
      // A line that is already too long needs no more text.
      if (rest.length <= longestRow) rest += part;
      if (i === parts.length - 1) break;
      yield rest;
      rest = "";
    }
  }
  if (rest !== "") yield rest;
}
