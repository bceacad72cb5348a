import { FilterError } from "../filter.ts";
import { readTokens, type Token } from "./read-tokens.ts";

export const operatorNames = ["=", "!=", "<", "<=", ">", ">=", "~", "!~", "=~", "in", "exists"] as const;
export type Operator = (typeof operatorNames)[number];

/** A parsed but unchecked filter: names and values are words and texts with their locations. */
export type Expression =
  | { readonly kind: "and" | "or"; readonly terms: readonly Expression[] }
  | { readonly kind: "not"; readonly term: Expression }
  | TermExpression;

export interface TermExpression {
  readonly kind: "term";
  readonly name: Token;
  readonly operator: Operator;
  readonly operatorToken: Token;
  /** The values: none for `exists`, one or more for `in`, else one. */
  readonly values: readonly Token[];
}

/** Longer filters are rejected, as are deeper ones, because filters also come over the network. */
const maxLength = 65_536;
const maxDepth = 100;

/**
 * Reads a filter: terms, `and` before `or`, `not`, parentheses.
 *
 * @param source the name of the text in errors.
 * @throws FilterError if the text is not a filter.
 */
export function parseExpression(text: string, source: string): Expression {
  if (text.length > maxLength) {
    throw new FilterError(source, text, maxLength, 1, `the filter has more than ${maxLength} characters`);
  }
  return new Parser(text, source).parse();
}

class Parser {
  readonly #text: string;
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;

  constructor(text: string, source: string) {
    this.#text = text;
    this.#source = source;
    this.#tokens = readTokens(text, source);
  }

  parse(): Expression {
    const expression = this.#parseOr();
    const rest = this.#peek();
    if (rest.kind !== "end") this.#fail(rest, `expected and, or, or the end of the filter, not ${shown(rest)}`);
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#position] as Token;
  }

  #next(): Token {
    return this.#tokens[this.#position++] as Token;
  }

  #fail(token: Token, fault: string): never {
    throw new FilterError(this.#source, this.#text, token.at, token.length, fault);
  }

  #takeWord(word: string): boolean {
    const { kind, text } = this.#peek();
    const isThere = kind === "word" && text.toLowerCase() === word;
    if (isThere) this.#position++;
    return isThere;
  }

  #parseJoined(kind: "and" | "or", parsePart: () => Expression): Expression {
    const terms = [parsePart()];
    while (this.#takeWord(kind)) terms.push(parsePart());
    return terms.length === 1 ? (terms[0] as Expression) : { kind, terms };
  }
  #parseOr(): Expression {
    return this.#parseJoined("or", () => this.#parseJoined("and", () => this.#parseUnary()));
  }

  #parseUnary(): Expression {
    if (++this.#depth > maxDepth) this.#fail(this.#peek(), `the filter is nested more than ${maxDepth} levels deep`);
    const expression = this.#parseUnaryInside();
    this.#depth--;
    return expression;
  }
  #parseUnaryInside(): Expression {
    if (this.#takeWord("not")) return { kind: "not", term: this.#parseUnary() };
    if (this.#peek().kind !== "open") return this.#parseTerm();
    const open = this.#next();
    const inside = this.#parseOr();
    if (this.#peek().kind !== "close")
      this.#fail(this.#peek(), `expected and, or, or the closing bracket of ${open.text}`);
    this.#closeBracket(open);
    return inside;
  }

  #closeBracket(open: Token): void {
    const close = this.#next();
    if (closing[open.text] !== close.text) this.#fail(close, `expected ${closing[open.text]} to close ${open.text}`);
  }

  #parseTerm(): Expression {
    const name = this.#next();
    if (name.kind === "end")
      return this.#fail(name, this.#tokens.length === 1 ? "the filter is empty" : "expected a field");
    if (name.kind !== "word" && name.kind !== "name") {
      return this.#fail(name, `expected a field, such as src or flow.dst.ip.addr, not ${shown(name)}`);
    }
    if (keywords.has(name.text.toLowerCase()) && name.kind === "word") {
      return this.#fail(name, `expected a field before ${name.text}`);
    }
    const isNot = this.#takeWord("not");
    const operatorToken = this.#next();
    const operator = operatorOf(operatorToken);
    if (operator === undefined || (isNot && operator !== "in" && operator !== "exists")) {
      return this.#fail(
        operatorToken,
        isNot ? "expected in or exists behind not" : expectedOperator(name, operatorToken),
      );
    }
    const values = operator === "exists" ? [] : operator === "in" ? this.#parseSet() : [this.#parseValue()];
    const term: Expression = { kind: "term", name, operator, operatorToken, values };
    return isNot ? { kind: "not", term } : term;
  }

  #parseValue(): Token {
    const value = this.#next();
    if (value.kind === "text" || (value.kind === "word" && !keywords.has(value.text.toLowerCase()))) return value;
    if (value.kind === "word")
      return this.#fail(value, `expected a value; put "${value.text}" in quotes if it is meant as text`);
    return this.#fail(
      value,
      value.kind === "open" ? `expected a value; a list in brackets comes behind "in"` : "expected a value",
    );
  }

  #parseSet(): readonly Token[] {
    if (this.#peek().kind !== "open") return [this.#parseValue()];
    const open = this.#next();
    const values = [this.#parseValue()];
    while (this.#peek().kind === "comma") {
      this.#next();
      // A comma may follow the last value, too.
      if (this.#peek().kind !== "close") values.push(this.#parseValue());
    }
    if (this.#peek().kind !== "close") this.#fail(this.#peek(), "expected a comma or the closing bracket of the list");
    this.#closeBracket(open);
    return values;
  }
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
/** Words that cannot be values. */
export const keywords: ReadonlySet<string> = new Set(["and", "or", "not", "in", "exists"]);

/** Returns a token's operator; undefined if it is not an operator. */
export function operatorOf(token: Token): Operator | undefined {
  const text = token.text.toLowerCase();
  if (token.kind !== "operator" && !(token.kind === "word" && (text === "in" || text === "exists"))) return undefined;
  return operatorNames.find((name) => name === text);
}

function expectedOperator(name: Token, token: Token): string {
  const found = token.kind === "end" ? "" : `, not ${shown(token)}`;
  return `expected one of ${operatorNames.join(" ")} behind ${name.text}${found}`;
}

function shown({ kind, text }: Token): string {
  return kind === "text" ? JSON.stringify(text) : text;
}
