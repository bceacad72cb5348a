import { toBinary, toJsonString, type DescMessage, type MessageShape } from "@bufbuild/protobuf";

export type CodecName = "json" | "proto";

/** How many bytes are left free before a message, for the head of its envelope: flags, and the length as 32 bits. */
export const envelopeSize = 5;

/** A message as JSON text, as bytes behind {@link envelopeSize} free ones, or too long to be made at once. */
export type Encoded = string | Buffer | LongMessage;

/** A message that is made piece by piece while it is sent. */
export interface LongMessage {
  /** Whether the bytes begin with how many there are: {@link LongMessage.size} comes before {@link LongMessage.pieces} then. */
  readonly needsSize?: boolean;
  /** Its bytes, counted in turns; undefined when `isWanted` says that nobody waits for them any more. */
  size(isWanted: () => boolean): Promise<number | undefined>;
  /** From the start, each time. */
  pieces(): Iterable<Uint8Array>;
}

/** A message that knows its own bytes. */
export interface Encodable {
  encode(codec: CodecName): Encoded;
}

/** A message of the schema by the protobuf library, any other by itself. */
export function encode<Desc extends DescMessage>(
  codec: CodecName,
  desc: Desc,
  answer: MessageShape<Desc> | Encodable,
): Encoded {
  if (isEncodable(answer)) return answer.encode(codec);
  if (codec === "json") return toJsonString(desc, answer);
  const bytes = toBinary(desc, answer);
  const message = Buffer.allocUnsafe(envelopeSize + bytes.length);
  message.set(bytes, envelopeSize);
  return message;
}

function isEncodable(answer: object): answer is Encodable {
  return "encode" in answer && typeof answer.encode === "function";
}

export function isLong(encoded: Encoded): encoded is LongMessage {
  return typeof encoded !== "string" && !Buffer.isBuffer(encoded);
}

/** The message in an envelope without flags; the head is written where it was left free. */
export function inEnvelope(encoded: string | Buffer): Buffer {
  let bytes = encoded;
  if (typeof bytes === "string") {
    const text = bytes;
    bytes = Buffer.allocUnsafe(envelopeSize + Buffer.byteLength(text));
    bytes.write(text, envelopeSize);
  }
  bytes[0] = 0;
  bytes.writeUInt32BE(bytes.length - envelopeSize, 1);
  return bytes;
}

/** Any bytes in an envelope. */
export function envelope(flags: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([envelopeHead(flags, bytes.length), bytes]);
}

export function envelopeHead(flags: number, length: number): Buffer {
  const head = Buffer.alloc(envelopeSize);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return head;
}
