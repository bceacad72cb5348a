import { copyLines } from "../../record/index.ts";

/** Writes the body of a request into memory that grows. */
export interface BodyWriter {
  /** Writes text as UTF-8. */
  text(text: string): void;
  /** Copies bytes as they are. */
  bytes(source: Buffer, from: number, to: number): void;
  /** Writes bytes of JSON as a JSON string: in quotes, with those in it escaped. They have no control characters. */
  quoted(source: Buffer, from: number, to: number): void;
  /** What was written; nothing is written after. */
  body(): Uint8Array;
}

const quoteByte = 0x22;
const escapeByte = 0x5c;
/** So few bytes are written by a loop: a call of the engine takes as long as fifty of them. */
const fewBytes = 48;

/** @param sizeHint about how long the body will be, bytes. */
export function createBodyWriter(sizeHint: number): BodyWriter {
  let out: Buffer = Buffer.allocUnsafeSlow(sizeHint);
  let at = 0;

  const reserve = (length: number): void => {
    if (at + length <= out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * out.length, at + length));
    out.copy(larger, 0, 0, at);
    out = larger;
  };

  return {
    text(text) {
      reserve(3 * text.length);
      if (text.length > fewBytes) {
        at += out.write(text, at);
        return;
      }
      const [to, start] = [out, at];
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) {
          at += out.write(text, at);
          return;
        }
        to[start + i] = code;
      }
      at += text.length;
    },
    bytes(source, from, to) {
      reserve(to - from);
      if (to - from > fewBytes) {
        at = copyLines(source, from, to, out, at);
        return;
      }
      const [target, by] = [out, at - from];
      for (let i = from; i < to; i++) target[i + by] = source[i] as number;
      at = to + by;
    },
    quoted(source, from, to) {
      // Of ASCII that is in lines JSON escapes only quotes and backslashes.
      reserve(2 * (to - from) + 2);
      const target = out;
      let end = at;
      target[end++] = quoteByte;
      for (let i = from; i < to; i++) {
        const byte = source[i] as number;
        if (byte === quoteByte || byte === escapeByte) target[end++] = escapeByte;
        target[end++] = byte;
      }
      target[end++] = quoteByte;
      at = end;
    },
    body: () => out.subarray(0, at),
  };
}
