import { apiError } from "../error/api-error.ts";
import type { Call } from "../http/call.ts";
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
export function openEnvelope(call: Call, bytes: Buffer, terms: Terms, bodies: BodyReader): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw countFault("there is no message");
  if (bytes.length < envelopeSize) throw cutOff();
  inspectEnvelope(bytes, bodies);
  const end = envelopeSize + bytes.readUInt32BE(1);
  if (bytes.length < end) throw cutOff();
  if (bytes.length > end) throw countFault("there is something after the message");
  return decompressed(call, bytes[0] as number, bytes.subarray(envelopeSize), terms, bodies);
}

/** The messages of a body, as they come. @throws ConnectError as {@link openEnvelope} does, but for their number. */
export async function* readEnvelopes(
  call: Call,
  chunks: AsyncIterable<Buffer>,
  terms: Terms,
  bodies: BodyReader,
): AsyncGenerator<Buffer> {
  /** Put together when the next envelope, or its head, is whole: not with each chunk. */
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = envelopeSize;
  for await (const chunk of chunks) {
    parts.push(chunk);
    size += chunk.length;
    if (size < wanted) continue;
    let rest = Buffer.concat(parts, size);
    for (;;) {
      inspectEnvelope(rest, bodies);
      wanted = rest.length < envelopeSize ? envelopeSize : envelopeSize + rest.readUInt32BE(1);
      if (rest.length < wanted) break;
      const heldBefore = call.heldBytes;
      yield await decompressed(call, rest[0] as number, rest.subarray(envelopeSize, wanted), terms, bodies);
      bodies.release(call, heldBefore);
      rest = rest.subarray(wanted);
    }
    parts = [rest];
    size = rest.length;
  }
  if (size > 0) throw cutOff();
}

function decompressed(
  call: Call,
  flags: number,
  message: Buffer,
  terms: Terms,
  bodies: BodyReader,
): Buffer | Promise<Buffer> {
  if ((flags & compressedFlag) === 0) return message;
  if (!terms.isGzip) throw apiError("internal", "MALFORMED_BODY", "a message is compressed, and no header says how");
  return message.length === 0 ? message : bodies.decompress(call, message);
}

function countFault(what: string): Error {
  return apiError("unimplemented", "MALFORMED_BODY", `${what}: the method takes one message`);
}

function cutOff(): Error {
  return apiError("invalid_argument", "MALFORMED_BODY", "the body ends within a message");
}
