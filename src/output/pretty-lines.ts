import type { Sink } from "../record/index.ts";

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const space = 0x20;
const opening = new Set([0x7b, 0x5b]);
const closing = new Set([0x7d, 0x5d]);
const comma = 0x2c;
const colon = 0x3a;

/** A sink that is given each line of JSON on several lines, with two blanks for each level. Values stay byte for byte. */
export function prettySink(sink: Sink): Sink {
  return { write: (lines, count) => sink.write(prettyLines(lines), count) };
}

/** The same JSON texts with a line for each field. @param lines compact JSON, each on a line of its own. */
export function prettyLines(lines: Uint8Array): Uint8Array {
  let out = Buffer.allocUnsafe(2 * lines.length + 64);
  let at = 0;
  let depth = 0;
  let inText = false;
  const put = (byte: number): void => {
    if (at === out.length) out = Buffer.concat([out, Buffer.allocUnsafe(out.length)]);
    out[at++] = byte;
  };
  const indent = (): void => {
    put(lineFeed);
    for (let i = 0; i < 2 * depth; i++) put(space);
  };
  for (let i = 0; i < lines.length; i++) {
    const byte = lines[i] as number;
    if (inText) {
      put(byte);
      if (byte === backslash) put(lines[++i] as number);
      else if (byte === quote) inText = false;
    } else if (opening.has(byte)) {
      put(byte);
      depth++;
      if (!closing.has(lines[i + 1] as number)) indent();
    } else if (closing.has(byte)) {
      depth--;
      if (!opening.has(lines[i - 1] as number)) indent();
      put(byte);
    } else {
      put(byte);
      if (byte === quote) inText = true;
      else if (byte === comma) indent();
      else if (byte === colon) put(space);
    }
  }
  return out.subarray(0, at);
}
