import { ExchangeError } from "../exchange-error.ts";

/**
 * The text of bytes in UTF-8, or in UTF-16 with a byte order mark, which some spreadsheets write; the mark is left out.
 *
 * @param mostBytes more are refused.
 * @throws ExchangeError for bytes that are no text in these encodings, and for too many.
 */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<string, void> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let head = new Uint8Array(0);
  let size = 0;
  const decode = (piece: Uint8Array | undefined): string => {
    try {
      return piece === undefined
        ? (decoder?.decode() ?? "")
        : (decoder as InstanceType<typeof TextDecoder>).decode(piece, { stream: true });
    } catch {
      throw new ExchangeError(
        "",
        `the text is not ${decoder?.encoding ?? "UTF-8"}, near byte ${size}: save it as UTF-8`,
      );
    }
  };
  for await (const piece of bytes) {
    size += piece.length;
    if (size > mostBytes) throw new ExchangeError("", `the text is longer than ${mostBytes} bytes`);
    if (decoder !== undefined) {
      yield decode(piece);
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.length < 2) continue;
    decoder = new TextDecoder(encodingOf(head), { fatal: true });
    yield decode(head);
  }
  if (decoder === undefined) {
    decoder = new TextDecoder("utf-8", { fatal: true });
    yield decode(head);
  }
  yield decode(undefined);
}

function encodingOf(head: Uint8Array): string {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : "utf-8";
}

/** All of a text in one piece. */
export async function wholeText(pieces: AsyncIterable<string>): Promise<string> {
  const parts: string[] = [];
  for await (const piece of pieces) parts.push(piece);
  return parts.join("");
}
