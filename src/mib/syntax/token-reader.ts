import { quote } from "../../text/index.ts";
import { MibFault, type MibSource } from "../mib-fault.ts";
import { isSign, readTokens, type Token } from "./tokens.ts";

/** Goes through the words of a text, one after the other. */
export class TokenReader {
  readonly source: MibSource;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: MibSource) {
    this.source = source;
    this.#tokens = readTokens(source);
  }

  /** How many words lie before the next one. */
  get position(): number {
    return this.#at;
  }

  set position(position: number) {
    this.#at = Math.min(position, this.#tokens.length - 1);
  }

  get token(): Token {
    return this.peek(0);
  }

  peek(ahead: number): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token;
  }

  next(): Token {
    const token = this.token;
    if (this.#at < this.#tokens.length - 1) this.#at++;
    return token;
  }

  is(text: string): boolean {
    const { token } = this;
    return token.text === text && token.kind !== "string" && token.kind !== "end";
  }

  /** Takes the words if they follow. */
  take(...texts: readonly string[]): boolean {
    if (!texts.every((text, i) => this.peek(i).text === text && this.peek(i).kind !== "string")) return false;
    this.#at += texts.length;
    return true;
  }

  expect(text: string): Token {
    if (!this.is(text)) throw this.unexpected(quote(text));
    return this.next();
  }

  name(what: string): Token {
    if (this.token.kind !== "name") throw this.unexpected(what);
    return this.next();
  }

  string(what: string): string {
    if (this.token.kind !== "string") throw this.unexpected(what);
    return this.next().text;
  }

  /** A number in any spelling; `MIN` and `MAX` are infinite. */
  number(what: string): number {
    const { kind, text } = this.next();
    if (kind === "number") return Number(text);
    if (kind === "bits") {
      const digits = text.slice(1, -2).replace(/\s/g, "");
      return digits === "" ? 0 : Number.parseInt(digits, /[Hh]$/.test(text) ? 16 : 2);
    }
    if (text === "MIN") return -Infinity;
    if (text === "MAX") return Infinity;
    this.#at--;
    throw this.unexpected(what);
  }

  /** Goes on behind the bracket that closes the one that is next. */
  skipBrackets(open: string, close: string): void {
    const start = this.expect(open);
    for (let depth = 1; depth > 0; this.next()) {
      if (this.token.kind === "end") throw this.fault(`${quote(open)} is not closed`, start.at);
      if (this.is(open)) depth++;
      else if (this.is(close)) depth--;
    }
  }

  unexpected(wanted: string): MibFault {
    const { token } = this;
    if (token.text === '"') return this.fault("a text that begins here has no end", token.at);
    if (token.kind === "sign" && !isSign(token.text)) {
      return this.fault(`unexpected character ${JSON.stringify(token.text)}`, token.at);
    }
    const found = token.kind === "end" ? token.text : token.kind === "string" ? "a text" : quote(token.text);
    return this.fault(`expected ${wanted}, found ${found}`, token.at);
  }

  fault(message: string, at: number): MibFault {
    return new MibFault(message, this.source, at);
  }
}
