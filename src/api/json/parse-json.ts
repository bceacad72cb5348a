import { type JsonNode, JsonNumber } from "./json-node.ts";
import { JsonSyntaxError } from "./json-syntax-error.ts";
import { quote } from "../../text/index.ts";

/** Deeper nesting than any message has; a parser without a bound dies of a megabyte of brackets. */
const maxDepth = 64;

/**
 * Names of an object, and items of an array that is not right below the top: more than any message may have. Who sends a million must not keep
 * others waiting until all are read.
 */
export const maxNames = 2000;

const blanks = /[ \t\n\r]*/y;

/** All but quote, backslash and the control characters below the blank. */
const plainCharacters = /[ !#-[\]-\uffff]*/y;

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

const hexDigits = /[0-9a-fA-F]{4}/y;

const loneSurrogate = /\p{Surrogate}/u;

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * Reads one JSON value and nothing after it. Strict: a name given twice in one object, nesting beyond 64 levels and a
 * string that is not well-formed Unicode (a lone surrogate) are refused, because each would lose or change something.
 *
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): JsonNode {
  return new Parser(text).whole();
}

/**
 * The same for a long text: a value in an array right below the top at a time, with `turn` awaited after each batch of values, for other
 * things to happen in.
 *
 * @param takerOf may take the values of the array of a name one by one, which is empty in what is returned then.
 * @throws JsonSyntaxError
 */
export function parseJsonInTurns(
  text: string,
  turn: () => Promise<void>,
  takerOf: (name: string) => TakeItem | undefined = () => undefined,
): Promise<JsonNode> {
  return new Parser(text).inTurns(turn, takerOf);
}

/** Takes a value of an array. */
export type TakeItem = (item: JsonNode, index: number) => void;

/** How many items of an array are read in a turn, and about how many characters. */
const itemsPerTurn = 100;
const charactersPerTurn = 65_536;

/** Reads a text from its start. A class, because closures of their own cost more than reading a short text. */
class Parser {
  readonly #text: string;
  #at = 0;
  /** The name that was read last. */
  #name = "";

  constructor(text: string) {
    this.#text = text;
  }

  whole(): JsonNode {
    return this.#end(this.#readValue(0));
  }

  async inTurns(turn: () => Promise<void>, takerOf: (name: string) => TakeItem | undefined): Promise<JsonNode> {
    this.#skipBlanks();
    if (this.#text[this.#at] !== "{") return this.#end(this.#readValue(0));
    const members = new Map<string, JsonNode>();
    if (this.#isEmpty("}")) return this.#end(members);
    do {
      const name = this.#readName(members);
      this.#skipBlanks();
      const isArray = this.#text[this.#at] === "[";
      members.set(name, isArray ? await this.#readArrayInTurns(turn, takerOf(name)) : this.#readValue(1));
    } while (this.#hasNext("}"));
    return this.#end(members);
  }

  #end(value: JsonNode): JsonNode {
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#fail(`unexpected ${this.#found()} after the value`);
    return value;
  }

  #fail(what: string, offset = this.#at): never {
    throw new JsonSyntaxError(this.#text, offset, what);
  }

  #found(): string {
    const text = this.#text;
    if (this.#at >= text.length) return "the end";
    return JSON.stringify(String.fromCodePoint(text.codePointAt(this.#at) ?? 0));
  }

  #skipBlanks(): void {
    if (this.#text.charCodeAt(this.#at) > 0x20) return;
    blanks.lastIndex = this.#at;
    blanks.test(this.#text);
    this.#at = blanks.lastIndex;
  }

  #readValue(depth: number): JsonNode {
    this.#skipBlanks();
    switch (this.#text[this.#at] ?? "") {
      case "{":
        if (depth === maxDepth) this.#fail(`nested deeper than ${maxDepth} levels`);
        return this.#readObject(depth + 1);
      case "[":
        if (depth === maxDepth) this.#fail(`nested deeper than ${maxDepth} levels`);
        return this.#readArray(depth + 1);
      case '"':
        return this.#readString();
      case "t":
        return this.#readLiteral("true", true);
      case "f":
        return this.#readLiteral("false", false);
      case "n":
        return this.#readLiteral("null", null);
      default:
        return this.#readNumber();
    }
  }

  #readObject(depth: number): Map<string, JsonNode> {
    const members = new Map<string, JsonNode>();
    const owner = this.#name;
    if (this.#isEmpty("}")) return members;
    do {
      if (members.size === maxNames) this.#fail(`the object ${quote(owner)} has more than ${maxNames} names`);
      const name = this.#readName(members);
      members.set(name, this.#readValue(depth));
    } while (this.#hasNext("}"));
    return members;
  }

  #readArray(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    const owner = this.#name;
    if (this.#isEmpty("]")) return items;
    do {
      if (depth > 2 && items.length === maxNames) {
        this.#fail(`the array ${quote(owner)} has more than ${maxNames} items`);
      }
      items.push(this.#readValue(depth));
    } while (this.#hasNext("]"));
    return items;
  }

  /** An array right below the top. */
  async #readArrayInTurns(turn: () => Promise<void>, taker: TakeItem | undefined): Promise<JsonNode[]> {
    const items: JsonNode[] = [];
    const take: TakeItem = taker ?? ((item) => void items.push(item));
    if (this.#isEmpty("]")) return items;
    let count = 0;
    let turnAt = this.#at;
    do {
      if (count % itemsPerTurn === itemsPerTurn - 1 || this.#at > turnAt + charactersPerTurn) {
        await turn();
        turnAt = this.#at;
      }
      take(this.#readValue(2), count++);
    } while (this.#hasNext("]"));
    return items;
  }

  /** Whether an array or object ends here, before its first item; the opening bracket is skipped. */
  #isEmpty(close: string): boolean {
    this.#at++;
    this.#skipBlanks();
    if (this.#text[this.#at] !== close) return false;
    this.#at++;
    return true;
  }

  /** Whether there is a further item; what stands behind one is skipped. */
  #hasNext(close: string): boolean {
    this.#skipBlanks();
    const next = this.#text[this.#at];
    if (next !== close && next !== ",") this.#fail(`expected "," or "${close}", found ${this.#found()}`);
    this.#at++;
    return next === ",";
  }

  /** The name of a member and the colon. */
  #readName(members: ReadonlyMap<string, JsonNode>): string {
    this.#skipBlanks();
    if (this.#text[this.#at] !== '"') this.#fail(`expected a name in quotes, found ${this.#found()}`);
    const nameAt = this.#at;
    const name = this.#readString();
    if (members.has(name)) this.#fail(`the name ${quote(name)} is given twice`, nameAt);
    this.#skipBlanks();
    if (this.#text[this.#at] !== ":") this.#fail(`expected ":", found ${this.#found()}`);
    this.#at++;
    this.#name = name;
    return name;
  }

  #readString(): string {
    const start = this.#at++;
    const value = this.#readPlain();
    if (this.#text[this.#at] !== '"') return this.#readEscaped(value, start);
    this.#at++;
    return value;
  }

  /** The characters from here that stand for themselves. */
  #readPlain(): string {
    const start = this.#at;
    plainCharacters.lastIndex = start;
    plainCharacters.test(this.#text);
    this.#at = plainCharacters.lastIndex;
    return this.#text.slice(start, this.#at);
  }

  /** The rest of a string that begins at `start`, behind what has been read of it. */
  #readEscaped(read: string, start: number): string {
    const whole = this.#readWhole(start);
    if (whole !== undefined) return this.#wellFormed(whole, start);
    let value = read;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === '"') break;
      if (character === undefined) this.#fail("the string does not end", start);
      if (character !== "\\") this.#fail("a control character must be escaped");
      value += this.#readEscape();
      value += this.#readPlain();
    }
    this.#at++;
    return this.#wellFormed(value, start);
  }

  /** The string that begins at `start`, read by the engine; undefined when it has a fault, which this cannot name. */
  #readWhole(start: number): string | undefined {
    let end = this.#text.indexOf('"', start + 1);
    while (end >= 0 && isEscaped(this.#text, end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) return undefined;
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      return undefined;
    }
  }

  /** Only an escape can bring half of a surrogate pair in: decoded UTF-8 holds none. */
  #wellFormed(value: string, start: number): string {
    if (loneSurrogate.test(value)) this.#fail("the string is not well-formed Unicode (a lone surrogate)", start);
    return value;
  }

  #readEscape(): string {
    const text = this.#text;
    const letter = text[this.#at + 1] ?? "";
    if (letter === "u") {
      hexDigits.lastIndex = this.#at + 2;
      if (!hexDigits.test(text)) this.#fail("expected four hexadecimal digits after \\u");
      this.#at += 6;
      return String.fromCharCode(Number.parseInt(text.slice(this.#at - 4, this.#at), 16));
    }
    const value = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
    if (value === undefined) return this.#fail("unknown escape");
    this.#at += 2;
    return value;
  }

  #readLiteral<T extends JsonNode>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail(`expected a value, found ${this.#found()}`);
    this.#at += word.length;
    return value;
  }

  #readNumber(): JsonNumber {
    number.lastIndex = this.#at;
    if (!number.test(this.#text)) this.#fail(`expected a value, found ${this.#found()}`);
    const literal = this.#text.slice(this.#at, number.lastIndex);
    this.#at = number.lastIndex;
    return new JsonNumber(literal);
  }
}

/** Whether a backslash that counts stands before this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
