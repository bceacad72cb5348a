import { FilterError } from "../filter.ts";
import { readTokens, type Token } from "./read-tokens.ts";

export const operatorNames = ["=", "!=", "<", "<=", ">", ">=", "~", "!~", "in", "exists"] as const;
export type Operator = (typeof operatorNames)[number];

/** A filter as it is written: names and values are words and texts with their places. */
export type Expression =
  | { readonly kind: "and" | "or"; readonly terms: readonly Expression[] }
  | { readonly kind: "not"; readonly term: Expression }
  | TermExpression;

export interface TermExpression {
  readonly kind: "term";
  readonly name: Token;
  readonly operator: Operator;
  readonly operatorToken: Token;
  /** None for `exists`, one or more for `in`, else one. */
  readonly values: readonly Token[];
}

/** Longer filters are refused, and deeper ones: they come over the network, too. */
const maxLength = 65_536;
const maxDepth = 100;

/**
 * Reads a filter: terms, `and` before `or`, `not`, parentheses.
 *
 * @param source what the text is called in errors.
 * @throws FilterError when the text is not a filter.
 */
export function parseExpression(text: string, source: string): Expression {
  if (text.length > maxLength) {
    throw new FilterError(source, text, maxLength, 1, `the filter has more than ${maxLength} characters`);
  }
  const tokens = readTokens(text, source);
  let position = 0;
  let depth = 0;

  const peek = (): Token => tokens[position] as Token;
  const fail = (token: Token, fault: string): never => {
    throw new FilterError(source, text, token.at, token.length, fault);
  };
  const next = (): Token => tokens[position++] as Token;
  const isWord = (word: string): boolean => peek().kind === "word" && peek().text.toLowerCase() === word;
  const takeWord = (word: string): boolean => {
    const isThere = isWord(word);
    if (isThere) position++;
    return isThere;
  };

  const parseJoined = (kind: "and" | "or", parsePart: () => Expression): Expression => {
    const terms = [parsePart()];
    while (takeWord(kind)) terms.push(parsePart());
    return terms.length === 1 ? (terms[0] as Expression) : { kind, terms };
  };
  const parseOr = (): Expression => parseJoined("or", parseAnd);
  const parseAnd = (): Expression => parseJoined("and", parseUnary);

  const parseUnary = (): Expression => {
    if (++depth > maxDepth) fail(peek(), `the filter is nested more than ${maxDepth} levels deep`);
    const expression = parseUnaryInside();
    depth--;
    return expression;
  };
  const parseUnaryInside = (): Expression => {
    if (takeWord("not")) return { kind: "not", term: parseUnary() };
    if (peek().kind !== "open") return parseTerm();
    const open = next();
    const inside = parseOr();
    if (peek().kind !== "close") fail(peek(), `expected and, or, or the closing bracket of ${open.text}`);
    closeBracket(open);
    return inside;
  };

  const closeBracket = (open: Token): void => {
    const close = next();
    if (closing[open.text] !== close.text) fail(close, `expected ${closing[open.text]} to close ${open.text}`);
  };

  const parseTerm = (): Expression => {
    const name = next();
    if (name.kind === "end") return fail(name, tokens.length === 1 ? "the filter is empty" : "expected a field");
    if (name.kind !== "word" && name.kind !== "name") {
      return fail(name, `expected a field, such as src or flow.dst.ip.addr, not ${shown(name)}`);
    }
    if (keywords.has(name.text.toLowerCase()) && name.kind === "word") {
      return fail(name, `expected a field before ${name.text}`);
    }
    const isNot = takeWord("not");
    const operatorToken = next();
    const operator = operatorOf(operatorToken);
    if (operator === undefined || (isNot && operator !== "in" && operator !== "exists")) {
      return fail(operatorToken, isNot ? "expected in or exists behind not" : expectedOperator(name, operatorToken));
    }
    const values = operator === "exists" ? [] : operator === "in" ? parseSet() : [parseValue()];
    const term: Expression = { kind: "term", name, operator, operatorToken, values };
    return isNot ? { kind: "not", term } : term;
  };

  const parseValue = (): Token => {
    const value = next();
    if (value.kind === "text" || (value.kind === "word" && !keywords.has(value.text.toLowerCase()))) return value;
    if (value.kind === "word")
      return fail(value, `expected a value; put "${value.text}" in quotes if it is meant as text`);
    return fail(
      value,
      value.kind === "open" ? `expected a value; a list in brackets comes behind "in"` : "expected a value",
    );
  };

  const parseSet = (): readonly Token[] => {
    if (peek().kind !== "open") return [parseValue()];
    const open = next();
    const values = [parseValue()];
    while (peek().kind === "comma") {
      next();
      // A comma may stand behind the last value, too.
      if (peek().kind !== "close") values.push(parseValue());
    }
    if (peek().kind !== "close") fail(peek(), "expected a comma or the closing bracket of the list");
    closeBracket(open);
    return values;
  };

  const expression = parseOr();
  if (peek().kind !== "end") fail(peek(), `expected and, or, or the end of the filter, not ${shown(peek())}`);
  return expression;
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const keywords: ReadonlySet<string> = new Set(["and", "or", "not", "in", "exists"]);

function operatorOf(token: Token): Operator | undefined {
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
