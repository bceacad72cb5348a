import { quote } from "../../base/text/index.ts";

/**
 * A number in its original spelling. JSON numbers have any precision, and a 64-bit value must not pass through a double.
 */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON value without loss: numbers keep their spelling, and a Map has the names, including `__proto__`. */
export type JsonNode = null | boolean | string | JsonNumber | readonly JsonNode[] | ReadonlyMap<string, JsonNode>;

/** The error for invalid or unacceptable JSON (RFC 8259). The message has the position. */
export class JsonSyntaxError extends Error {
  /**
   * @param linesBefore line ends before the text.
   * @param columnsBefore characters between the last of them and the text.
   */
  constructor(text: string, offset: number, what: string, linesBefore = 0, columnsBefore = 0) {
    let line = linesBefore + 1;
    let lineStart = -columnsBefore;
    for (let end = text.indexOf("\n"); end >= 0 && end < offset; end = text.indexOf("\n", end + 1)) {
      line++;
      lineStart = end + 1;
    }
    super(`malformed JSON at line ${line}, column ${offset - lineStart + 1}: ${what}`);
    this.name = "JsonSyntaxError";
  }
}

/** The deepest nesting, more than any message needs. Without a bound, a megabyte of brackets would overflow the stack. */
const maxDepth = 64;

/**
 * The most names of an object, and the most items of an array that is not a member of the top-level object. It is more than any message may have, and
 * keeps a client that sends a million from blocking others.
 */
export const maxNames = 2000;

/** Matches the blanks that are skipped in one step. */
const blanks = /[ \t\n\r]{0,1048576}/y;

/** Matches all characters except quote, backslash and control characters. */
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
 * Reads one JSON value and nothing after it. It refuses a duplicate name in an object, nesting beyond 64 levels and a
 * string that is not well-formed Unicode (a lone surrogate), because each would lose or change something.
 *
 * @throws JsonSyntaxError
 */
export function parseJson(text: string): JsonNode {
  return new Parser(text).whole();
}

/**
 * Lets other work run while a long request is read.
 *
 * @param made the approximate bytes of memory for the part that was read. An error ends the reading.
 */
export type ReadingTurn = (made: number) => Promise<void>;

/**
 * Reads a long text as {@link parseJson} does, one value of a top-level array member at a time. It awaits `turn` after each batch of values, so that
 * other work can run. It keeps only the text of the present step.
 *
 * @param chunks the text. No chunk ends within a pair of surrogates.
 * @param takerOf may return a function that takes the values of the named array one by one. The array is then empty in the result.
 * @throws JsonSyntaxError
 */
export function parseJsonInTurns(
  chunks: Iterator<string>,
  turn: ReadingTurn,
  takerOf: (name: string) => TakeItem | undefined = () => undefined,
): Promise<JsonNode> {
  return new Parser("", chunks).inTurns(turn, takerOf);
}

/** Takes a value of an array. */
export type TakeItem = (item: JsonNode, index: number) => void;

/** The most items of an array, and the most characters, that are read before the parser yields. */
const itemsPerTurn = 100;
const charactersPerTurn = 65_536;
/** The most characters of a value that is read in one step, and of blanks in a row. Only a string of the top-level object may be longer. */
const longestValue = 1_048_576;
const tooLong = `a value is longer than ${longestValue} characters`;
/** The most characters of a value, the blanks around it and a name. */
const enough = 4 * longestValue;
/** The characters of the longest lookahead, and of an escaped pair of surrogates. */
const longestToken = 12;
/** The approximate bytes of memory for a value of a top-level array member, a member, and an item of any other array. */
const madeOfValue = 240;
const madeOfMember = 40;
const madeOfItem = 16;

/** A parser of a text. It is a class, because new closures would cost more than reading a short text. */
class Parser {
  /** The whole of a short text; for a long text, the part that is decoded but not yet read. */
  #text: string;
  #at = 0;
  /** The name that was read last. */
  #name = "";
  /** The chunks that follow; undefined where there are none. */
  #chunks: Iterator<string> | undefined;
  /** The number of line ends in the earlier text, and of characters after the last one. */
  #linesBefore = 0;
  #columnsBefore = 0;
  /** The same numbers for the text before a long string, while it is read. */
  #stringStart: readonly [number, number] | undefined;
  /** The offset before which the present value must end. */
  #valueEnd = Infinity;
  /** The approximate bytes that were allocated since the last yield. */
  #made = 0;

  constructor(text: string, chunks?: Iterator<string>) {
    this.#text = text;
    this.#chunks = chunks;
  }

  whole(): JsonNode {
    return this.#end(this.#readValue(0));
  }

  async inTurns(turn: ReadingTurn, takerOf: (name: string) => TakeItem | undefined): Promise<JsonNode> {
    await this.#fill(turn);
    this.#skipBlanks();
    this.#valueEnd = this.#at + longestValue;
    if (this.#text[this.#at] !== "{") return this.#end(this.#readValue(0));
    const members = new Map<string, JsonNode>();
    if (this.#isEmpty("}")) return this.#end(members);
    do {
      await this.#fill(turn);
      const name = this.#readName(members);
      this.#skipBlanks();
      this.#valueEnd = this.#at + longestValue;
      const first = this.#text[this.#at];
      let value: JsonNode;
      if (first === "[") value = await this.#readArrayInTurns(turn, takerOf(name));
      else if (first === '"') value = await this.#readLongString(turn);
      else value = this.#readValue(1);
      members.set(name, value);
    } while (this.#hasNext("}"));
    await this.#fill(turn);
    return this.#end(members);
  }

  /** Decodes enough of the text for the next step. */
  async #fill(turn: ReadingTurn): Promise<void> {
    while (this.#chunks !== undefined && this.#text.length - this.#at < enough) {
      await this.#takeTurn(turn);
      const { value, done } = this.#chunks.next();
      if (done === true) this.#chunks = undefined;
      else this.#replace(this.#at, this.#text.slice(this.#at) + value);
    }
  }

  /** Continues with another text, which begins at position `at` of this one. */
  #replace(at: number, text: string): void {
    for (let end = this.#text.indexOf("\n"); end >= 0 && end < at; end = this.#text.indexOf("\n", end + 1)) {
      this.#linesBefore++;
      this.#columnsBefore = -end - 1;
    }
    this.#columnsBefore += at;
    this.#text = text;
    this.#at = 0;
  }

  #takeTurn(turn: ReadingTurn): Promise<void> {
    const made = this.#made;
    this.#made = 0;
    return turn(made);
  }

  #end(value: JsonNode): JsonNode {
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#fail(`unexpected ${this.#found()} after the value`);
    return value;
  }

  #fail(what: string, offset = this.#at): never {
    // If more text follows, the value is longer than the limit of one step.
    const isCut =
      this.#chunks !== undefined && this.#stringStart === undefined && this.#text.length - this.#at < longestToken;
    const [lines, columns] = (offset === 0 && this.#stringStart) || [this.#linesBefore, this.#columnsBefore];
    throw new JsonSyntaxError(this.#text, offset, isCut ? tooLong : what, lines, columns);
  }

  #found(): string {
    const text = this.#text;
    if (this.#at >= text.length) return "the end";
    return JSON.stringify(String.fromCodePoint(text.codePointAt(this.#at) ?? 0));
  }

  #skipBlanks(): void {
    if (this.#text.charCodeAt(this.#at) > 0x20) return;
    const start = this.#at;
    blanks.lastIndex = start;
    blanks.test(this.#text);
    this.#at = blanks.lastIndex;
    if (this.#at - start === longestValue) this.#fail(`${longestValue} blanks in a row`);
  }

  #readValue(depth: number): JsonNode {
    this.#skipBlanks();
    if (this.#at > this.#valueEnd) this.#fail(tooLong);
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
    this.#made += madeOfMember * members.size;
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
    this.#made += madeOfItem * items.length;
    return items;
  }

  /** Reads an array that is a member of the top-level object. */
  async #readArrayInTurns(turn: ReadingTurn, taker: TakeItem | undefined): Promise<JsonNode[]> {
    const items: JsonNode[] = [];
    const take: TakeItem = taker ?? ((item) => void items.push(item));
    if (this.#isEmpty("]")) return items;
    let count = 0;
    let turnEnd = this.#at + charactersPerTurn;
    do {
      if (count % itemsPerTurn === itemsPerTurn - 1 || this.#at > turnEnd) {
        await this.#takeTurn(turn);
        if (this.#text.length - this.#at < enough) await this.#fill(turn);
        turnEnd = this.#at + charactersPerTurn;
      }
      this.#valueEnd = this.#at + longestValue;
      take(this.#readValue(2), count++);
      this.#made += madeOfValue;
    } while (this.#hasNext("]"));
    return items;
  }

  /** Reads a string of the top-level object, which may be as long as the text, as in an import. */
  async #readLongString(turn: ReadingTurn): Promise<string> {
    let value = "";
    this.#replace(this.#at, this.#text.slice(this.#at));
    this.#stringStart = [this.#linesBefore, this.#columnsBefore];
    for (;;) {
      const text = this.#text;
      if (this.#chunks === undefined || endOfString(text, this.#at) >= 0) {
        value += this.#readString();
        this.#stringStart = undefined;
        return value;
      }
      const cut = whereToCut(text, this.#at + 1);
      if (cut > this.#at + 1) {
        // Read the string as if it ended here and began again.
        this.#text = `${text.slice(0, cut)}"`;
        value += this.#readString();
        this.#made += cut;
        this.#replace(cut, `"${text.slice(cut)}`);
        this.#columnsBefore--;
      }
      await this.#takeTurn(turn);
      const next = this.#chunks.next();
      if (next.done === true) this.#chunks = undefined;
      else this.#text += next.value;
    }
  }

  /** Reports whether an array or object ends here, before its first item; skips the opening bracket. */
  #isEmpty(close: string): boolean {
    this.#at++;
    this.#skipBlanks();
    if (this.#text[this.#at] !== close) return false;
    this.#at++;
    return true;
  }

  /** Reports whether there is a further item, and skips the separator. */
  #hasNext(close: string): boolean {
    this.#skipBlanks();
    const next = this.#text[this.#at];
    if (next !== close && next !== ",") this.#fail(`expected "," or "${close}", found ${this.#found()}`);
    this.#at++;
    return next === ",";
  }

  /** Reads the name of a member and the colon. */
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

  /** Reads the unescaped characters from here. */
  #readPlain(): string {
    const start = this.#at;
    plainCharacters.lastIndex = start;
    plainCharacters.test(this.#text);
    this.#at = plainCharacters.lastIndex;
    return this.#text.slice(start, this.#at);
  }

  /** Reads the rest of a string that begins at `start`, after the part in `read`. */
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

  /** Reads the string that begins at `start` by the engine; returns undefined for a fault, which the engine does not describe. */
  #readWhole(start: number): string | undefined {
    const end = endOfString(this.#text, start);
    if (end < 0) return undefined;
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      return undefined;
    }
  }

  /** Checks that a string is well-formed. Only an escape can add half of a surrogate pair; decoded UTF-8 has none. */
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

/** Returns the end of the string that begins at `start`; a negative number where it does not end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Returns the last offset after `start` that is outside escapes and surrogate pairs; `start` where there is none near the end. */
function whereToCut(text: string, start: number): number {
  const first = Math.max(start, text.length - charactersPerTurn);
  for (let cut = text.length; cut > first; cut--) {
    const escape = text.lastIndexOf("\\", cut - 1);
    if (escape < cut - longestToken && !/[\uD800-\uDFFF]/.test(text[cut - 1] ?? "")) return cut;
    if (escape >= cut - longestToken) cut = Math.min(cut, escape + 1);
  }
  return start;
}

/** Reports whether an active backslash is before this offset. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
