import { hasUnprintable, stringScalar } from "../../yaml/index.ts";

/** Thrown by the plain reader at whatever it does not know for certain: the library reads the file then. */
export class Unfamiliar extends Error {}

/** A scalar on one line. */
export interface PlainScalar {
  readonly text: string;
  readonly isPlain: boolean;
}

/**
 * Reads scalars off UTF-8 bytes, line by line. Whatever could mean anything but what it seems to (a value that goes on in
 * the next line, an anchor, a tag, a tab) throws {@link Unfamiliar}.
 */
export interface PlainCursor {
  /** Offset of the next byte. */
  at: number;
  /** Blanks before the content of the line that is next; -1 at the end of the file. */
  indent: number;
  /** Whether all that was read since it was last set is spelt as we write it. Who reads structure clears it, too. */
  isAsWritten: boolean;
  /** Whether that holds for all that was read. */
  isAllAsWritten: boolean;
  /** From the start of a line to the first byte of the next one that says something; sets `indent`. */
  nextLine(): void;
  /** From the end of a value to the start of the next line: blanks and a comment may stand there. */
  endLine(): void;
  /** From behind a colon or dash to the value. @returns whether there is one on this line. */
  toValue(): boolean;
  /** The scalar here, up to its last character. */
  scalar(isInFlow: boolean): PlainScalar;
  /** A mapping's key here, up to and including its colon. */
  key(): PlainScalar;
  skipBlanks(): void;
  /** A plain scalar was read where a string is written: is it one that stays plain? */
  judgePlain(text: string): void;
  /** Whether the last plain scalar is one for certain. */
  isSafe: boolean;
  /** Something is not as we write it. */
  differs(): void;
}

export function createPlainCursor(bytes: Buffer): PlainCursor {
  const recent = createRecentTexts(bytes);
  /** Texts that stay plain. */
  const known = new Set<string>();

  const skipComment = (): void => {
    const start = cursor.at;
    let isAscii = true;
    let i = start;
    for (let byte = bytes[i]; byte !== undefined && byte !== lineFeed; byte = bytes[++i]) {
      if (byte < 0x20 || byte === 0x7f) throw new Unfamiliar();
      if (byte >= 0x80) isAscii = false;
    }
    if (!isAscii) printable(bytes.toString("utf8", start, i));
    cursor.at = bytes[i] === undefined ? i : i + 1;
  };

  /** A double-quoted scalar, at its first quote. */
  const doubleQuoted = (): PlainScalar => {
    const start = cursor.at;
    let isAscii = true;
    let hasEscape = false;
    let i = start + 1;
    for (let byte = bytes[i]; byte !== 0x22; byte = bytes[++i]) {
      if (byte === undefined || byte < 0x20 || byte === 0x7f) throw new Unfamiliar();
      if (byte >= 0x80) isAscii = false;
      if (byte === 0x5c) {
        hasEscape = true;
        i++;
        if (bytes[i] === undefined || bytes[i] === lineFeed) throw new Unfamiliar();
      }
    }
    cursor.at = i + 1;
    const raw = isAscii ? recent(start + 1, i) : printable(bytes.toString("utf8", start + 1, i));
    const text = hasEscape ? unescape(raw) : raw;
    if (stringScalar(text) !== `"${raw}"`) cursor.differs();
    return { text, isPlain: false };
  };

  /** A single-quoted scalar, at its first quote. */
  const singleQuoted = (): PlainScalar => {
    const start = cursor.at + 1;
    let isAscii = true;
    let i = start;
    for (; bytes[i] !== 0x27 || bytes[i + 1] === 0x27; i++) {
      const byte = bytes[i];
      if (byte === undefined || byte < 0x20 || byte === 0x7f) throw new Unfamiliar();
      if (byte >= 0x80) isAscii = false;
      if (byte === 0x27) i++;
    }
    cursor.at = i + 1;
    cursor.differs();
    const raw = bytes.toString(isAscii ? "latin1" : "utf8", start, i);
    return { text: (isAscii ? raw : printable(raw)).replaceAll("''", "'"), isPlain: false };
  };

  const plain = (isInFlow: boolean): PlainScalar => {
    const start = cursor.at;
    if (kinds[bytes[start] as number] === indicator) throw new Unfamiliar();
    let isAscii = true;
    let isSafe = true;
    let hash = 0;
    let end = start;
    let i = start;
    for (let byte = bytes[i]; byte !== undefined && byte !== lineFeed; byte = bytes[++i]) {
      hash = (Math.imul(hash, 31) + byte) | 0;
      if (kinds[byte] === safe || byte === 0x2d) {
        end = i + 1;
      } else if (byte === blank) {
        if (bytes[i - 1] === blank) isSafe = false;
      } else {
        if (byte < 0x20 || byte === 0x7f) throw new Unfamiliar();
        if (byte >= 0x80) isAscii = false;
        else if (byte === 0x23 && bytes[i - 1] === blank) break;
        else if (byte === 0x3a && (isInFlow || isBlankOrEnd(bytes[i + 1]))) throw new Unfamiliar();
        else if (isInFlow && byte === 0x23) throw new Unfamiliar();
        else if (isInFlow && isFlowSign(byte)) break;
        isSafe = false;
        end = i + 1;
      }
    }
    if (end === start) throw new Unfamiliar();
    cursor.at = end;
    if (isInFlow && bytes[i] !== 0x2c && bytes[i] !== 0x5d) throw new Unfamiliar();
    const text = isAscii ? recent(start, end, hash) : printable(bytes.toString("utf8", start, end));
    cursor.isSafe = isSafe && isAscii && end - start > longestReserved && isSafeFirst(bytes[start] as number);
    return { text, isPlain: true };
  };

  const scalar = (isInFlow: boolean): PlainScalar => {
    const byte = bytes[cursor.at];
    return byte === 0x22 ? doubleQuoted() : byte === 0x27 ? singleQuoted() : plain(isInFlow);
  };

  const plainKey = (): PlainScalar => {
    const start = cursor.at;
    if (kinds[bytes[start] as number] === indicator) throw new Unfamiliar();
    let isAscii = true;
    let hash = 0;
    let i = start;
    for (let byte = bytes[i]; ; byte = bytes[++i]) {
      if (byte === 0x3a && isBlankOrEnd(bytes[i + 1])) break;
      if (byte === undefined) throw new Unfamiliar();
      hash = (Math.imul(hash, 31) + byte) | 0;
      if (byte >= 0x80) isAscii = false;
      else if (kinds[byte] !== safe && !isInnerKeySign(byte, bytes[i + 1])) throw new Unfamiliar();
    }
    cursor.at = i;
    const text = isAscii ? recent(start, i, hash) : printable(bytes.toString("utf8", start, i));
    return { text, isPlain: true };
  };

  const cursor: PlainCursor = {
    at: 0,
    indent: 0,
    isSafe: false,
    isAsWritten: true,
    isAllAsWritten: true,
    differs() {
      cursor.isAsWritten = false;
      cursor.isAllAsWritten = false;
    },
    skipBlanks() {
      while (bytes[cursor.at] === blank) cursor.at++;
    },
    judgePlain(text) {
      if (known.has(text)) return;
      if (stringScalar(text) !== text) cursor.differs();
      else if (known.size < recentTexts) known.add(text);
    },
    nextLine() {
      for (;;) {
        let i = cursor.at;
        while (bytes[i] === blank) i++;
        const byte = bytes[i];
        if (byte === undefined) {
          if (i > cursor.at) cursor.differs();
          cursor.indent = -1;
          cursor.at = i;
          return;
        }
        if (byte !== lineFeed && byte !== 0x23) {
          cursor.indent = i - cursor.at;
          cursor.at = i;
          return;
        }
        cursor.differs();
        cursor.at = byte === lineFeed ? i + 1 : i;
        if (byte !== lineFeed) skipComment();
      }
    },
    endLine() {
      if (bytes[cursor.at] === lineFeed) {
        cursor.at++;
        return;
      }
      cursor.differs();
      const start = cursor.at;
      while (bytes[cursor.at] === blank) cursor.at++;
      const byte = bytes[cursor.at];
      if (byte === lineFeed) cursor.at++;
      else if (byte === 0x23 && cursor.at > start) skipComment();
      else if (byte !== undefined) throw new Unfamiliar();
    },
    toValue() {
      const start = cursor.at;
      while (bytes[cursor.at] === blank) cursor.at++;
      const byte = bytes[cursor.at];
      const blanks = cursor.at - start;
      if (byte !== undefined && byte !== lineFeed && byte !== 0x23) {
        if (blanks !== 1) cursor.differs();
        if (blanks === 0) throw new Unfamiliar();
        return true;
      }
      // A comment needs a blank before it, which the end of the line asks for.
      cursor.at = start;
      return false;
    },
    scalar,
    key() {
      const start = cursor.at;
      const byte = bytes[start];
      const found = byte === 0x22 ? doubleQuoted() : byte === 0x27 ? singleQuoted() : plainKey();
      if (bytes[cursor.at] !== 0x3a || cursor.at - start > longestKey) throw new Unfamiliar();
      cursor.at++;
      return found;
    },
  };
  return cursor;
}

const lineFeed = 0x0a;
const blank = 0x20;

/** Bytes. Beyond it the colon of a key must not be looked for. */
const longestKey = 500;

/** Length of the longest text that some reader takes for a bool or null. */
const longestReserved = 5;

const safe = 1;
const indicator = 2;

/** What a byte may be to a plain scalar: harmless anywhere in it, or not to be its first. */
const kinds = new Uint8Array(256);
for (const sign of "-?:,[]{}#&*!|>'\"%@`") kinds[sign.charCodeAt(0)] = indicator;
for (const sign of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./()")
  kinds[sign.charCodeAt(0)] = safe;

/** A letter, but no `e`: with digits behind it, however many, that is a float to some. */
function isSafeFirst(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a && lower !== 0x65;
}

/** A sign that may stand in a key, though not as its first byte; a blank between others. */
function isInnerKeySign(byte: number, next: number | undefined): boolean {
  if (byte === blank) return next !== undefined && (kinds[next] === safe || next >= 0x80);
  return byte === 0x2d || byte === 0x3a || byte === 0x40;
}

function isFlowSign(byte: number): boolean {
  return byte === 0x2c || byte === 0x5b || byte === 0x5d || byte === 0x7b || byte === 0x7d;
}

function isBlankOrEnd(byte: number | undefined): boolean {
  return byte === undefined || byte === blank || byte === lineFeed;
}

function printable(text: string): string {
  if (hasUnprintable(text)) throw new Unfamiliar();
  return text;
}

/** The escapes that we write. */
function unescape(raw: string): string {
  return raw.replaceAll(
    /\\(?:(["\\nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})|[^])/g,
    (...found) => {
      const [, short, two, four, eight] = found as (string | undefined)[];
      if (short !== undefined) return shortEscapes[short] ?? short;
      const hex = two ?? four ?? eight;
      if (hex === undefined) throw new Unfamiliar();
      const code = Number.parseInt(hex, 16);
      if (code >= 0xd800 && code <= 0xdfff) throw new Unfamiliar();
      return String.fromCodePoint(code);
    },
  );
}

const shortEscapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

const recentTexts = 4096;

/** Texts longer than this seldom recur. */
const longestRecent = 32;

/** Makes strings of ASCII bytes. Tags and names of fields recur: a text that was made not long ago is not made again. */
function createRecentTexts(bytes: Buffer): (start: number, end: number, hash?: number) => string {
  const texts: string[] = Array.from({ length: recentTexts }, () => "");
  const starts = new Float64Array(recentTexts);
  return (start, end, hash = 0) => {
    const length = end - start;
    // Of quoted texts there is no hash; most of them do not recur.
    if (length > longestRecent || hash === 0) return bytes.toString("latin1", start, end);
    const slot = (hash ^ (hash >>> 12)) & (recentTexts - 1);
    const found = texts[slot] as string;
    if (found.length === length) {
      const before = starts[slot] as number;
      let i = 0;
      while (i < length && bytes[before + i] === bytes[start + i]) i++;
      if (i === length) return found;
    }
    const text = bytes.toString("latin1", start, end);
    texts[slot] = text;
    starts[slot] = start;
    return text;
  };
}
