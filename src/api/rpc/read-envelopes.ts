import { apiError } from "../error/api-error.ts";
import type { BodyReader } from "../http/read-body.ts";
import { envelopeSize } from "./encoded.ts";
import type { Terms } from "./terms.ts";

const compressedFlag = 1;

/** Looks at the start of a body in envelopes. @throws ConnectError when its first message is too long: the rest need not be waited for. */
export function inspectEnvelope(first: Buffer, bodies: BodyReader): void {
  if (first.length >= envelopeSize && first.readUInt32BE(1) > bodies.maxBytes) throw bodies.tooLarge();
}

/**
 * The message of a body that has to be one envelope.
 *
 * @throws ConnectError `unimplemented` for none or several, `invalid_argument` for one that is cut off, `resource_exhausted`.
 */
export function openEnvelope(bytes: Buffer, terms: Terms, bodies: BodyReader): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw countFault("there is no message");
  if (bytes.length < envelopeSize) throw cutOff();
  inspectEnvelope(bytes, bodies);
  const end = envelopeSize + bytes.readUInt32BE(1);
  if (bytes.length < end) throw cutOff();
  if (bytes.length > end) throw countFault("there is something after the message");
  return decompressed(bytes[0] as number, bytes.subarray(envelopeSize), terms, bodies);
}

/** The messages of a body, as they come. @throws ConnectError as {@link openEnvelope} does, but for their number. */
export async function* readEnvelopes(
  chunks: AsyncIterable<Buffer>,
  terms: Terms,
  bodies: BodyReader,
): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      inspectEnvelope(rest, bodies);
      const end = rest.length < envelopeSize ? Infinity : envelopeSize + rest.readUInt32BE(1);
      if (rest.length < end) break;
      yield await decompressed(rest[0] as number, rest.subarray(envelopeSize, end), terms, bodies);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw cutOff();
}

function decompressed(flags: number, message: Buffer, terms: Terms, bodies: BodyReader): Buffer | Promise<Buffer> {
  if ((flags & compressedFlag) === 0) return message;
  if (!terms.isGzip) throw apiError("internal", "MALFORMED_BODY", "a message is compressed, and no header says how");
  return message.length === 0 ? message : bodies.decompress(message);
}

function countFault(what: string): Error {
  return apiError("unimplemented", "MALFORMED_BODY", `${what}: the method takes one message`);
}

function cutOff(): Error {
  return apiError("invalid_argument", "MALFORMED_BODY", "the body ends within a message");
}
