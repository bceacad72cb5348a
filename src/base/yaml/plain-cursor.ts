import { unsupported, type YamlScalar } from "./yaml-node.ts";
import { hasUnprintable } from "./yaml-writer.ts";

/** Reads the text between double quotes, with the common escapes. @throws UnsupportedYaml for others. */
function unescape(raw: string): string {
  return raw.replaceAll(
    /\\(?:(["\\nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})|[^])/g,
    (...found) => {
      const [, short, two, four, eight] = found as (string | undefined)[];
      if (short !== undefined) return shortEscapes[short] ?? short;
      const hex = two ?? four ?? eight;
      if (hex === undefined) return unsupported();
      const point = Number.parseInt(hex, 16);
      if (point >= 0xd800 && point <= 0xdfff) unsupported();
      return String.fromCodePoint(point);
    },
  );
}

const shortEscapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * Reads scalars from a text, line by line. It throws {@link UnsupportedYaml} for everything ambiguous: a value that continues on the next line, an
 * anchor, a tag, a tab.
 */
export interface PlainCursor {
  /** Begins at the start of a text. */
  begin(text: string): void;
  /** Reports whether a sign is here. */
  isAt(sign: number): boolean;
  /** Reports whether a dash here begins an item. */
  isItem(): boolean;
  /** Offset of the next character. */
  at: number;
  /** Number of blanks before the content of this line; -1 at the end of the text. */
  indent: number;
  /** Moves from the start of a line to the first character of the next line with content; sets `indent`. */
  nextLine(): void;
  /** Moves from the end of a value to the next line with content. Blanks and a comment may come before it. */
  endLine(): void;
  /** Moves from a colon or dash to the value. @returns true where the value is on this line. */
  toValue(): boolean;
  skipBlanks(): void;
  /** Reads the scalar here, up to its last character. */
  scalar(isInFlow: boolean): YamlScalar;
  /** Reads the key of a mapping here, including its colon. */
  key(isInFlow: boolean): YamlScalar;
  /** Reports whether a key begins here. */
  isKey(): boolean;
}

/** Returns a cursor to reuse for many texts: entries are short. */
export function createPlainCursor(): PlainCursor {
  let text = "";
  const code = (offset: number): number => text.charCodeAt(offset);
  /** Returns the length of the line break here; 0 for none. */
  const breakHere = (at: number): number => {
    const c = code(at);
    if (c === lineFeed) return 1;
    return c === carriageReturn && code(at + 1) === lineFeed ? 2 : 0;
  };
  /** Reports whether a line, or the text, ends here. */
  const isLineEnd = (at: number): boolean => at >= text.length || breakHere(at) > 0;
  const isBlankOrEnd = (at: number): boolean => code(at) === blank || isLineEnd(at);

  const printable = (from: number, to: number): string => {
    const found = text.slice(from, to);
    if (hasUnprintable(found)) unsupported();
    return found;
  };

  const made = (at: number, found: string, isPlain: boolean): YamlScalar => ({
    kind: "scalar",
    at,
    tag: undefined,
    text: found,
    isPlain,
    weight: 1 + found.length,
    depth: 1,
  });

  /** Returns the offset after a comment and its line. */
  const skipComment = (from: number): number => {
    let isAscii = true;
    let i = from;
    for (; !isLineEnd(i); i++) {
      const c = code(i);
      if (isControl(c)) unsupported();
      if (c >= beyondAscii) isAscii = false;
    }
    if (!isAscii) printable(from, i);
    return i + breakHere(i);
  };

  const quoted = (mark: number): YamlScalar => {
    const start = cursor.at;
    let isAscii = true;
    let hasEscape = false;
    let i = start + 1;
    for (; ; i++) {
      const c = code(i);
      if (c === mark) {
        if (mark === doubleQuote || code(i + 1) !== mark) break;
        hasEscape = true;
        i++;
      } else if (c === backslash && mark === doubleQuote) {
        hasEscape = true;
        i++;
        if (!(code(i) > blank)) unsupported();
      } else if (!(c >= blank) || c === del) unsupported();
      else if (c >= beyondAscii) isAscii = false;
    }
    cursor.at = i + 1;
    const raw = isAscii ? text.slice(start + 1, i) : printable(start + 1, i);
    if (!hasEscape) return made(start, raw, false);
    return made(start, mark === doubleQuote ? unescape(raw) : raw.replaceAll("''", "'"), false);
  };

  const plain = (isInFlow: boolean): YamlScalar => {
    const start = cursor.at;
    if (!isFirst(code(start), code(start + 1))) unsupported();
    let isAscii = true;
    let end = start;
    let i = start;
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c >= beyondAscii) isAscii = false;
      else {
        const kind = kinds[c] as number;
        if (kind !== harmless) {
          if (c === blank) continue;
          if (kind === control) {
            if (breakHere(i) === 0) unsupported();
            break;
          }
          if (c === hash) {
            if (text.charCodeAt(i - 1) === blank) break;
            if (isInFlow) unsupported();
          } else if (c === colon) {
            if (isInFlow || isBlankOrEnd(i + 1)) unsupported();
          } else if (isInFlow) break;
        }
      }
      end = i + 1;
    }
    cursor.at = end;
    const found = isAscii ? text.slice(start, end) : printable(start, end);
    // This may end a document.
    if (found.startsWith("...")) unsupported();
    return made(start, found, true);
  };

  /** True if the last key searched has only ASCII characters. */
  let isAsciiKey = true;

  /** Returns the offset of the colon after the plain key that starts here; -1 when this line has none. */
  const plainKeyEnd = (from: number, isInFlow: boolean): number => {
    if (!isFirst(code(from), code(from + 1))) return -1;
    isAsciiKey = true;
    const last = Math.min(text.length, from + longestKey);
    for (let i = from; i < last; i++) {
      const c = text.charCodeAt(i);
      if (c >= beyondAscii) {
        isAsciiKey = false;
        continue;
      }
      const kind = kinds[c] as number;
      if (kind === harmless || c === blank) continue;
      if (c === colon && isBlankOrEnd(i + 1)) return text.charCodeAt(i - 1) === blank ? -1 : i;
      if (kind === control || isInFlow) return -1;
      if (c === hash && text.charCodeAt(i - 1) === blank) return -1;
    }
    return -1;
  };

  const key = (isInFlow: boolean): YamlScalar => {
    const start = cursor.at;
    const c = code(start);
    let found: YamlScalar;
    if (c === doubleQuote || c === singleQuote) found = quoted(c);
    else {
      const end = plainKeyEnd(start, isInFlow);
      if (end < 0 || text.startsWith("...", start)) unsupported();
      cursor.at = end;
      found = made(start, isAsciiKey ? text.slice(start, end) : printable(start, end), true);
    }
    if (code(cursor.at) !== colon || !isBlankOrEnd(cursor.at + 1) || cursor.at - start > longestKey) unsupported();
    cursor.at++;
    return found;
  };

  const cursor: PlainCursor = {
    at: 0,
    indent: 0,
    begin(given) {
      text = given;
      cursor.at = 0;
      cursor.nextLine();
    },
    isAt: (sign) => code(cursor.at) === sign,
    isItem: () => code(cursor.at) === dash && isBlankOrEnd(cursor.at + 1),
    key,
    skipBlanks() {
      while (code(cursor.at) === blank) cursor.at++;
    },
    nextLine() {
      for (let from = cursor.at; ;) {
        let i = from;
        while (code(i) === blank) i++;
        if (i >= text.length) {
          cursor.indent = -1;
          cursor.at = i;
          return;
        }
        const length = breakHere(i);
        if (length > 0) from = i + length;
        else if (code(i) === hash) from = skipComment(i);
        else {
          cursor.indent = i - from;
          cursor.at = i;
          return;
        }
      }
    },
    endLine() {
      const start = cursor.at;
      let i = start;
      while (code(i) === blank) i++;
      if (code(i) === hash && i > start) i = skipComment(i);
      else if (isLineEnd(i)) i += breakHere(i);
      else unsupported();
      cursor.at = i;
      cursor.nextLine();
    },
    toValue() {
      let i = cursor.at;
      while (code(i) === blank) i++;
      // A comment needs a blank before it; the check of the line end handles that.
      if (isLineEnd(i) || code(i) === hash) return false;
      if (i === cursor.at) unsupported();
      cursor.at = i;
      return true;
    },
    scalar(isInFlow) {
      const c = code(cursor.at);
      return c === doubleQuote || c === singleQuote ? quoted(c) : plain(isInFlow);
    },
    isKey() {
      const start = cursor.at;
      const c = code(start);
      if (c !== doubleQuote && c !== singleQuote) return plainKeyEnd(start, false) >= 0;
      quoted(c);
      const end = cursor.at;
      cursor.at = start;
      return code(end) === colon;
    },
  };
  return cursor;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const doubleQuote = 0x22;
const hash = 0x23;
const singleQuote = 0x27;
const dash = 0x2d;
const colon = 0x3a;
const backslash = 0x5c;
const del = 0x7f;
const beyondAscii = 0x80;

/** Maximum key length to search for a colon (YAML 1.2 section 7.4.2 allows 1024). */
const longestKey = 500;

// Classes of ASCII characters in a plain scalar.
const harmless = 0;
const control = 1;
/** Ends a scalar in flow style. */
const flowSign = 2;
/** Has a special meaning in some places. */
const watched = 3;
const kinds = new Uint8Array(beyondAscii);
kinds.fill(control, 0, blank);
kinds[del] = control;
for (const sign of ",[]{}") kinds[sign.charCodeAt(0)] = flowSign;
for (const sign of " #:") kinds[sign.charCodeAt(0)] = watched;
/** Characters that cannot begin a plain scalar. */
const isIndicator = new Uint8Array(beyondAscii);
for (const sign of "-?:,[]{}#&*!|>'\"%@` ") isIndicator[sign.charCodeAt(0)] = 1;

function isControl(c: number): boolean {
  return c < blank || c === del;
}

/** Reports whether a plain scalar may begin with a character. A dash needs a digit after it. */
function isFirst(c: number, next: number): boolean {
  if (c >= beyondAscii) return true;
  if (c === dash) return next >= 0x30 && next <= 0x39;
  return c > blank && c !== del && isIndicator[c] === 0;
}
