/** Writes fields as they stand in a line, one behind the other, into memory of its own. */
export interface FieldWriter {
  readonly view: DataView;
  /** Where the next byte goes. */
  readonly end: number;
  /** Begins again at the start of its memory. */
  clear(): void;
  /** @param start a comma, the name in quotes, a colon. */
  start(start: Uint8Array): void;
  /** A text in UTF-8 as JSON has it. */
  text(from: Buffer, start: number, end: number): void;
  /** Goes on with the text that was written last: plain ASCII that JSON has as it is. */
  extend(value: string): void;
  /** What JSON has as it is: a number, or a text in quotes. */
  plain(value: string): void;
}

const quote = 0x22;
const backslash = 0x5c;
const [firstPrintable, firstBeyond] = [0x20, 0x80];

/** @param size bytes; no more than that may be written between two calls of `clear`. */
export function createFieldWriter(size: number): FieldWriter {
  const bytes = Buffer.alloc(size);
  let end = 0;

  /** Copies what needs no escape. @returns whether that was all of it. */
  const putPlain = (from: Buffer, start: number, after: number): boolean => {
    let to = end;
    bytes[to++] = quote;
    for (let i = start; i < after; i++) {
      const byte = from[i] as number;
      if (byte < firstPrintable || byte >= firstBeyond || byte === quote || byte === backslash) return false;
      bytes[to++] = byte;
    }
    bytes[to++] = quote;
    end = to;
    return true;
  };

  /** By letter: for short texts that is many times faster than asking the engine. */
  const putLetters = (value: string): void => {
    for (let i = 0; i < value.length; i++) bytes[end++] = value.charCodeAt(i);
  };

  return {
    view: new DataView(bytes.buffer, bytes.byteOffset, size),
    get end() {
      return end;
    },
    clear() {
      end = 0;
    },
    start(start) {
      for (let i = 0; i < start.length; i++) bytes[end++] = start[i] as number;
    },
    text(from, start, after) {
      if (!putPlain(from, start, after)) end += bytes.write(JSON.stringify(from.toString("utf8", start, after)), end);
    },
    extend(value) {
      end--;
      putLetters(value);
      bytes[end++] = quote;
    },
    plain: putLetters,
  };
}
