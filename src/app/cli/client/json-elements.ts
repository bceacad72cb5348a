import { CommandError } from "../command-error.ts";

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const blanks: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * The elements of the first array in an answer like `{"udms": [{…}, {…}]}`, while it arrives: some at a time, so that a million of them
 * never are in memory at once.
 *
 * @throws CommandError when the answer is no object, or ends before its end.
 */
export async function* jsonElements<T>(answer: AsyncIterable<Uint8Array>): AsyncGenerator<readonly T[]> {
  /** What has come from the first element on that was not given out. */
  let bytes: Uint8Array = new Uint8Array(0);
  let at = 0;
  let depth = 0;
  let isInText = false;
  let array: "before" | "inside" | "after" = "before";
  for await (const piece of answer) {
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece]);
    let from = 0;
    /** Where the last complete element ends. */
    let to = 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (isInText) {
        // The character after it may be in the next piece.
        if (byte === backslash) at++;
        else if (byte === quote) isInText = false;
      } else if (depth === 0 && byte !== openBrace) {
        if (!blanks.has(byte)) throw strange(bytes);
      } else if (byte === quote) isInText = true;
      else if (byte === openBrace || byte === openBracket) {
        if (depth === 1 && byte === openBracket && array === "before") {
          array = "inside";
          from = to = at + 1;
        }
        depth++;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (depth === 2 && byte === closeBracket && array === "inside") {
          array = "after";
          to = at;
        }
        depth--;
      } else if (byte === comma && depth === 2 && array === "inside") to = at;
    }
    if (to > from) yield parse(bytes, from, to) as readonly T[];
    if (array === "before") continue;
    const given = array === "after" ? bytes.length : Math.max(from, to);
    bytes = bytes.subarray(given);
    at -= given;
  }
  if (depth !== 0 || isInText) throw new CommandError("unreachable", "the answer ended before its end");
}

function parse(bytes: Uint8Array, from: number, to: number): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
  try {
    return JSON.parse(`[${text.replace(/^\s*,/, "")}]`) as unknown;
  } catch {
    throw strange(bytes);
  }
}

function strange(bytes: Uint8Array): CommandError {
  const start = Buffer.from(bytes.subarray(0, 200)).toString("utf8");
  return new CommandError("unknown", `the server does not answer as netgloss does: ${start}`);
}
