import { quote } from "../../base/text/index.ts";

/**
 * A number as it is spelt: JSON numbers have any precision, and a 64-bit value must not pass through a double.
 */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON value with nothing lost: numbers as spelt, names (`__proto__` too) in a Map. */
export type JsonNode = null | boolean | string | JsonNumber | readonly JsonNode[] | ReadonlyMap<string, JsonNode>;

/** Thrown for a text that is not JSON (RFC 8259), or not acceptable JSON. The message says where. */
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

/** Deeper nesting than any message has; a parser without a bound dies of a megabyte of brackets. */
const maxDepth = 64;

/**
 * Names of an object, and items of an array that is not right below the top: more than any message may have. Who sends a million must not keep
 * others waiting until all are read.
 */
export const maxNames = 2000;

/** As many in a row as are skipped at once. */
const blanks = /[ \t\n\r]{0,1048576}/y;

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
 * Lets other things happen while a long request is read.
 *
 * @param made what the part that was read takes in memory, bytes, about. What is thrown ends the reading.
 */
export type ReadingTurn = (made: number) => Promise<void>;

/**
 * The same for a long text: a value in an array right below the top at a time, with `turn` awaited after each batch of values, for other
 * things to happen in. No more of the text is held than what is read at once.
 *
 * @param chunks the text; none ends within a pair of surrogates.
 * @param takerOf may take the values of the array of a name one by one, which is empty in what is returned then.
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

/** Items of an array that are read before the parser yields, and characters of them. */
const itemsPerTurn = 100;
const charactersPerTurn = 65_536;
/** The longest value that is read at once, and most blanks in a row, characters. Only a string right below the top may be longer. */
const longestValue = 1_048_576;
const tooLong = `a value is longer than ${longestValue} characters`;
/** A value, the blanks on both sides of it and a name fit in so many characters. */
const enough = 4 * longestValue;
/** As many characters as are looked at to see what comes next, and an escape of a pair of surrogates. */
const longestToken = 12;
/** Bytes of memory that a value of an array below the top, a member and an item of any other array take, about. */
const madeOfValue = 240;
const madeOfMember = 40;
const madeOfItem = 16;

/** Reads a text from its start. A class, because closures of their own cost more than reading a short text. */
class Parser {
  /** All of a short text; of a long one what has been decoded and not yet read. */
  #text: string;
  #at = 0;
  /** The name that was read last. */
  #name = "";
  /** The chunks that follow; undefined when none do. */
  #chunks: Iterator<string> | undefined;
  /** Line ends in what stood before, and characters behind the last of them. */
  #linesBefore = 0;
  #columnsBefore = 0;
  /** The same of what stands before a long string, while it is read. */
  #stringStart: readonly [number, number] | undefined;
  /** The offset by which the value that is read at once has to be over. */
  #valueEnd = Infinity;
  /** Bytes that have been made since the last yield. */
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

  /** Sees to it that there is enough of the text for what is read at once. */
  async #fill(turn: ReadingTurn): Promise<void> {
    while (this.#chunks !== undefined && this.#text.length - this.#at < enough) {
      await this.#takeTurn(turn);
      const { value, done } = this.#chunks.next();
      if (done === true) this.#chunks = undefined;
      else this.#replace(this.#at, this.#text.slice(this.#at) + value);
    }
  }

  /** Goes on with another text, which begins where `at` is in this one. */
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
    // If there is more of the text, the value that is read at once is longer than what may be read at once.
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

  /** An array right below the top. */
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

  /** A string right below the top, which may be as long as the text: that of an import is. */
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
        // Read as if it ended here, and began again.
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

  /** Tells whether an array or object ends here, before its first item; skips the opening bracket. */
  #isEmpty(close: string): boolean {
    this.#at++;
    this.#skipBlanks();
    if (this.#text[this.#at] !== close) return false;
    this.#at++;
    return true;
  }

  /** Tells whether there is a further item; skips what stands behind one. */
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

/** Returns the end of the string that begins at `start`; negative when it does not end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Returns the last offset behind `start` that is in no escape and in no pair of surrogates; `start` when there is none near the end. */
function whereToCut(text: string, start: number): number {
  const first = Math.max(start, text.length - charactersPerTurn);
  for (let cut = text.length; cut > first; cut--) {
    const escape = text.lastIndexOf("\\", cut - 1);
    if (escape < cut - longestToken && !/[\uD800-\uDFFF]/.test(text[cut - 1] ?? "")) return cut;
    if (escape >= cut - longestToken) cut = Math.min(cut, escape + 1);
  }
  return start;
}

/** Tells whether a backslash that counts stands before this offset. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
