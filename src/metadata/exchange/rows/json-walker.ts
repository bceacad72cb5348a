/** Deeper nesting than any row has: what goes through values by recursion must not die of a megabyte of brackets. */
const maxDepth = 100;

/** A value of a JSON text: where it is, and a name that one of its objects has twice. */
export interface JsonExtent {
  readonly start: number;
  readonly end: number;
  readonly twice: string | undefined;
}

/** Where a text is no JSON. Not every fault is found: that is left to who parses the values. */
export class JsonWalkError extends Error {}

/** A value is longer than it may be. */
export class JsonTooLong extends Error {
  constructor(text: string, start: number, most: number) {
    const line = text.slice(0, start).split("\n").length;
    super(`a row or value at line ${line} takes more than ${most} characters: "${text.slice(start, start + 40)}…"`);
  }
}

/** Walks over a JSON text without making values of it, so that a long one can be read a value at a time. */
export class JsonWalker {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The sign that begins the next value, or stands in its place; "" at the end. */
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

  /** @throws JsonWalkError when there is more. */
  end(): void {
    if (this.peek() !== "") this.#fail("there is something behind the value");
  }

  #skip(sign: string): void {
    if (this.peek() !== sign) this.#fail(`${sign} is missing`);
    this.#at++;
  }

  /** @returns a name that an object has twice. */
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
        case quote: {
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

  /** The name in quotes from here to where the walker is. */
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

const quote = 0x22;
const comma = 0x2c;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
