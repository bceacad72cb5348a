import { quote } from "../../text/index.ts";
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
  constructor(text: string, offset: number, what: string) {
    const before = text.slice(0, offset);
    const line = before.split("\n").length;
    const column = offset - before.lastIndexOf("\n");
    super(`malformed JSON at line ${line}, column ${column}: ${what}`);
    this.name = "JsonSyntaxError";
  }
}

/** Deeper nesting than any message has; a parser without a bound dies of a megabyte of brackets. */
const maxDepth = 64;

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
  return createParser(text).whole();
}

/**
 * The same for a long text: a value in an array right below the top at a time, with `turn` awaited after every so many of them, for other
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
  return createParser(text).inTurns(turn, takerOf);
}

/** Takes a value of an array. */
export type TakeItem = (item: JsonNode, index: number) => void;

/** How many items of an array are read in a turn. */
const itemsPerTurn = 100;

interface Parser {
  whole(): JsonNode;
  inTurns(turn: () => Promise<void>, takerOf: (name: string) => TakeItem | undefined): Promise<JsonNode>;
}

function createParser(text: string): Parser {
  let at = 0;

  const fail = (what: string, offset = at): never => {
    throw new JsonSyntaxError(text, offset, what);
  };
  const skipBlanks = (): void => {
    const code = text.charCodeAt(at);
    if (code > 0x20) return;
    blanks.lastIndex = at;
    blanks.test(text);
    at = blanks.lastIndex;
  };
  const found = (): string =>
    at >= text.length ? "the end" : JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0));

  const readString = (): string => {
    const start = at;
    at++;
    let value = "";
    let hasEscape = false;
    for (;;) {
      plainCharacters.lastIndex = at;
      plainCharacters.test(text);
      const end = plainCharacters.lastIndex;
      value += text.slice(at, end);
      at = end;
      const character = text[at];
      if (character === '"') break;
      if (character === undefined) fail("the string does not end", start);
      if (character !== "\\") fail("a control character must be escaped");
      value += readEscape();
      hasEscape = true;
    }
    at++;
    // Only an escape can bring one in: decoded UTF-8 holds none.
    if (hasEscape && loneSurrogate.test(value)) fail("the string is not well-formed Unicode (a lone surrogate)", start);
    return value;
  };

  const readEscape = (): string => {
    const letter = text[at + 1] ?? "";
    if (letter === "u") {
      hexDigits.lastIndex = at + 2;
      if (!hexDigits.test(text)) fail("expected four hexadecimal digits after \\u");
      at += 6;
      return String.fromCharCode(Number.parseInt(text.slice(at - 4, at), 16));
    }
    const value = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
    if (value === undefined) return fail("unknown escape");
    at += 2;
    return value;
  };

  const readLiteral = <T extends JsonNode>(word: string, value: T): T => {
    if (!text.startsWith(word, at)) fail(`unexpected ${found()}`);
    at += word.length;
    return value;
  };

  const readNumber = (): JsonNumber => {
    number.lastIndex = at;
    if (!number.test(text)) fail(`unexpected ${found()}`);
    const literal = text.slice(at, number.lastIndex);
    at = number.lastIndex;
    return new JsonNumber(literal);
  };

  /** Whether an array or object ends here, before its first item; the opening bracket is skipped. */
  const isEmpty = (close: string): boolean => {
    at++;
    skipBlanks();
    if (text[at] !== close) return false;
    at++;
    return true;
  };

  /** Whether there is a further item; what stands behind one is skipped. */
  const hasNext = (close: string): boolean => {
    skipBlanks();
    const next = text[at];
    if (next !== close && next !== ",") fail(`expected "," or "${close}", found ${found()}`);
    at++;
    return next === ",";
  };

  /** The name of a member and the colon. */
  const readName = (members: ReadonlyMap<string, JsonNode>): string => {
    skipBlanks();
    if (text[at] !== '"') fail(`expected a name in quotes, found ${found()}`);
    const nameAt = at;
    const name = readString();
    if (members.has(name)) fail(`the name ${quote(name)} is given twice`, nameAt);
    skipBlanks();
    if (text[at] !== ":") fail(`expected ":", found ${found()}`);
    at++;
    return name;
  };

  const readArray = (depth: number): JsonNode[] => {
    const items: JsonNode[] = [];
    if (isEmpty("]")) return items;
    do items.push(readValue(depth));
    while (hasNext("]"));
    return items;
  };

  const readObject = (depth: number): Map<string, JsonNode> => {
    const members = new Map<string, JsonNode>();
    if (isEmpty("}")) return members;
    do {
      const name = readName(members);
      members.set(name, readValue(depth));
    } while (hasNext("}"));
    return members;
  };

  const readArrayInTurns = async (
    depth: number,
    turn: () => Promise<void>,
    taker: TakeItem | undefined,
  ): Promise<JsonNode[]> => {
    const items: JsonNode[] = [];
    const take: TakeItem = taker ?? ((item) => void items.push(item));
    if (isEmpty("]")) return items;
    let count = 0;
    do {
      if (count % itemsPerTurn === itemsPerTurn - 1) await turn();
      take(readValue(depth), count++);
    } while (hasNext("]"));
    return items;
  };

  const readValue = (depth: number): JsonNode => {
    skipBlanks();
    switch (text[at] ?? "") {
      case "{":
        if (depth === maxDepth) fail(`nested deeper than ${maxDepth} levels`);
        return readObject(depth + 1);
      case "[":
        if (depth === maxDepth) fail(`nested deeper than ${maxDepth} levels`);
        return readArray(depth + 1);
      case '"':
        return readString();
      case "t":
        return readLiteral("true", true);
      case "f":
        return readLiteral("false", false);
      case "n":
        return readLiteral("null", null);
      default:
        return readNumber();
    }
  };

  const end = (value: JsonNode): JsonNode => {
    skipBlanks();
    if (at < text.length) fail(`unexpected ${found()} after the value`);
    return value;
  };

  return {
    whole: () => end(readValue(0)),
    async inTurns(turn, takerOf) {
      skipBlanks();
      if (text[at] !== "{") return end(readValue(0));
      const members = new Map<string, JsonNode>();
      if (isEmpty("}")) return end(members);
      do {
        const name = readName(members);
        skipBlanks();
        members.set(name, text[at] === "[" ? await readArrayInTurns(2, turn, takerOf(name)) : readValue(1));
      } while (hasNext("}"));
      return end(members);
    },
  };
}
