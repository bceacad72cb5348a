import { Code, ConnectError } from "@connectrpc/connect";

/** Decodes base64 that may be padded in between, as each side encodes piece by piece. @throws ConnectError `invalid_argument` */
export function decodeText(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const parts = text.match(/[^=]+={0,2}/g) ?? [];
  // A pattern of the whole, with groups of four, would take more stack than there is for a long text.
  const length = parts.reduce((sum, part) => (part.length % 4 === 0 ? sum + part.length : Infinity), 0);
  if (length !== text.length || /[^A-Za-z0-9+/=]/.test(text)) throw badText();
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

/** The same for a body that comes in pieces, cut anywhere. */
export async function* decodeTexts(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 4);
    rest = bytes.subarray(whole);
    if (whole > 0) yield decodeText(bytes.subarray(0, whole));
  }
  if (rest.length > 0) throw badText();
}

export function encodeText(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"), "latin1");
}

function badText(): ConnectError {
  return new ConnectError("the body is not base64", Code.InvalidArgument);
}
