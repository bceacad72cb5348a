import {
  toBinary,
  toJsonString,
  type DescMessage,
  type MessageShape,
  fromBinary,
  ScalarType,
  type DescField,
  type Message,
} from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ConnectError } from "@connectrpc/connect";
import { apiError, violationsError } from "../api-error.ts";
import { maxNames, type ReadingTurn } from "../json/parse-json.ts";
import { decodeRequest, decodeRequestInTurns, type UnknownFields } from "../json/decode-request.ts";
import { quote } from "../../base/text/index.ts";
import { type Call, headerOf, type HeaderFields, type RequestHeaders, mediaType } from "../http/call.ts";
import { isGzipped } from "../http/request-body.ts";
import type { RpcMethod } from "./method.ts";

export type CodecName = "json" | "proto";

/** The bytes before a message that are reserved for the head of its envelope: flags, and the length in 32 bits. */
export const envelopeSize = 5;

/** A message as JSON text, as bytes after {@link envelopeSize} free ones, or as a message too long to encode at once. */
export type Encoded = string | Buffer | LongMessage;

/** A message that is encoded in chunks while it is sent. */
export interface LongMessage {
  /** True where the bytes begin with their number. {@link LongMessage.size} must then be called before {@link LongMessage.chunks}. */
  readonly needsSize?: boolean;
  /** Counts its bytes in several turns of the event loop; returns undefined where `isWanted` reports that nobody waits any more. */
  size(isWanted: () => boolean): Promise<number | undefined>;
  /** Yields the chunks. Each call begins at the start. */
  chunks(): Iterable<Uint8Array>;
}

/** A message that encodes itself. */
export interface Encodable {
  encode(codec: CodecName): Encoded;
}

/** Encodes a message of the schema by the protobuf library, and any other message by itself. */
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

/** Returns the message in an envelope without flags. It writes the head into the reserved bytes. */
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

/** Returns any bytes in an envelope. */
export function envelope(flags: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([envelopeHead(flags, bytes.length), bytes]);
}

export function envelopeHead(flags: number, length: number): Buffer {
  const head = Buffer.alloc(envelopeSize);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return head;
}

/** The elements, and about how many bytes, that are read before the reader yields to other requests. */
const elementsPerTurn = 100;
const bytesPerTurn = 65_536;
/** The approximate bytes of memory for an element, and in addition for each of its bytes. */
const madeOfElement = 240;
const madeOfByte = 6;
/** The most texts of a list that are read in one step, which takes some tenths of a second. */
const mostTexts = 1_000_000;
/** The most bytes of an element, and of all other parts of the message. */
const longestElement = 1_048_576;

/**
 * Reads a message as the protobuf library does, but refuses a map or list of texts so long that it would block others.
 *
 * @param path the path of the message in its request, for errors.
 * @throws ConnectError `invalid_argument` that names the field; Error for bytes that are not such a message.
 */
export function readWhole<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array, path = ""): MessageShape<Desc> {
  requireFewItems(desc, bytes, path);
  return fromBinary(desc, bytes);
}

function requireFewItems(desc: DescMessage, bytes: Uint8Array, path: string): void {
  if (bytes.length < bytesPerTurn) return;
  const reader = new BinaryReader(bytes);
  const counts = new Map<number, number>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const field = desc.fields.find((one) => one.number === number && hasBytes(one));
    if (field === undefined) {
      reader.skip(type, number);
      continue;
    }
    // Like the library, this ignores the wire type.
    const part = reader.bytes();
    if (field.message !== undefined && field.fieldKind !== "map") {
      requireFewItems(field.message, part, `${path}${field.name}.`);
      continue;
    }
    const count = (counts.get(number) ?? 0) + 1;
    counts.set(number, count);
    // If the message is only a list, the list may be as long as a batch.
    const most = path === "" && field.fieldKind === "list" ? mostTexts : maxNames;
    if (count > most) {
      const description = `${path}${field.name} has more than ${most} items`;
      throw violationsError("invalid_argument", "INVALID_FIELD", [{ field: `${path}${field.name}`, description }]);
    }
  }
}

function hasBytes({ fieldKind, message, scalar }: DescField): boolean {
  return fieldKind === "map" || message !== undefined || scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
}

/** Returns the field that {@link readInTurns} reads in steps: the first one, if it is a list of messages. */
function listInTurns(desc: DescMessage): (DescField & { readonly message: DescMessage }) | undefined {
  const field = desc.field[desc.fields[0]?.localName ?? ""];
  return field?.fieldKind === "list" && field.message !== undefined && field.number === 1 ? field : undefined;
}

/**
 * Reads a message whose field 1 is a long list of messages, some elements at a time. The result is the same as that of the protobuf library.
 *
 * @throws Error for bytes that are not such a message.
 */
export async function readInTurns<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  const list = listInTurns(desc);
  if (list === undefined) throw new Error(`${desc.typeName} has no list of messages as its field 1`);
  const reader = new BinaryReader(bytes);
  const messages = new Set(desc.fields.filter((field) => field.message !== undefined).map((field) => field.number));
  const elements: unknown[] = [];
  const others: Uint8Array[] = [];
  let othersLength = 0;
  let turnStart = 0;
  for (let fields = 1; reader.pos < reader.len; fields++) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    // Like the library, this ignores the wire type of a message.
    if (number === 1)
      elements.push(readWhole(list.message, withinLength(reader.bytes()), `${list.name}[${elements.length}].`));
    else {
      if (messages.has(number)) reader.bytes();
      else reader.skip(type, number);
      others.push(bytes.subarray(start, reader.pos));
      othersLength += reader.pos - start;
      if (othersLength > longestElement) throw tooLong();
    }
    const length = reader.pos - turnStart;
    if (fields % elementsPerTurn !== 0 && length < bytesPerTurn) continue;
    await turn(Math.min(fields, elementsPerTurn) * madeOfElement + length * madeOfByte);
    turnStart = reader.pos;
  }
  return Object.assign(readWhole(desc, Buffer.concat(others)), { [list.localName]: elements });
}

function withinLength(element: Uint8Array): Uint8Array {
  if (element.length > longestElement) throw tooLong();
  return element;
}

function tooLong(): Error {
  return apiError("invalid_argument", "MALFORMED_MESSAGE", `an element is longer than ${longestElement} bytes`);
}

/** The bytes from which a request is read in several turns of the event loop. For protobuf, this applies to requests with a list. */
const longRequest = 65_536;

/** The pace at which a long request is read. */
export interface Pace {
  turn: ReadingTurn;
}

/**
 * Reads a request message.
 *
 * @throws ConnectError `invalid_argument` for JSON, and for lists that are too long; `internal` for protobuf that is not such a message.
 */
export function readRequest(
  codec: CodecName,
  desc: DescMessage,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
  pace: Pace,
): Message | Promise<Message> {
  const isLengthy = bytes.length >= longRequest && (codec === "json" || listInTurns(desc) !== undefined);
  if (!isLengthy) return codec === "json" ? decodeRequest(desc, bytes, unknownFields) : readShort(desc, bytes);
  const turn: ReadingTurn = (made) => pace.turn(made);
  return codec === "json" ? decodeRequestInTurns(desc, bytes, unknownFields, turn) : readLong(desc, bytes, turn);
}

function readShort<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return readWhole(desc, bytes);
  } catch (error) {
    throw malformed(error);
  }
}

async function readLong<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  return readInTurns(desc, bytes, turn).catch((error: unknown) => {
    throw malformed(error);
  });
}

function malformed(error: unknown): Error {
  if (error instanceof ConnectError) return error;
  return apiError("internal", "MALFORMED_MESSAGE", `the message cannot be read: ${(error as Error).message}`);
}

/**
 * Reads the milliseconds of a `Connect-Timeout-Ms` header; returns Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for anything but a number of up to ten digits.
 */
function connectTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw badTimeout(`Connect-Timeout-Ms ${quote(value)} is not a number of milliseconds`);
}

const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 };

/**
 * Reads a `grpc-timeout` header in milliseconds; returns Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for anything but a number of up to eight digits with a unit.
 */
function grpcTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  if (digits !== undefined) return Number(digits) * (grpcUnits[unit] ?? 1);
  throw badTimeout(`grpc-timeout ${quote(value)} is not a number of up to eight digits with a unit`);
}

function badTimeout(message: string): Error {
  return apiError("invalid_argument", "INVALID_TIMEOUT", message);
}

/** The compression metadata of a request's header. */
export interface CallMetadata {
  /** True where messages of the request are, or may be, compressed by gzip. */
  readonly isGzip: boolean;
  readonly acceptsGzip: boolean;
}

/**
 * Reads the metadata of the header, and stores a deadline in the call.
 *
 * @throws ConnectError `unimplemented` for an unknown compression, `invalid_argument` for a bad time-out or version.
 */
export function readCallMetadata(call: Call, { framing, encodingName, acceptsName }: Protocol): CallMetadata {
  const { headers } = call;
  const acceptsGzip = takesGzip(headerOf(headers, acceptsName));
  if (framing === "grpc" || framing === "grpc-web") {
    call.timeout = grpcTimeout(headerOf(headers, "grpc-timeout"));
  } else {
    const version = headerOf(headers, "connect-protocol-version");
    if (version !== undefined && version !== "1") throw unknownVersion(version);
    call.timeout = connectTimeout(headerOf(headers, "connect-timeout-ms"));
  }
  return { isGzip: isGzipped(headerOf(headers, encodingName)), acceptsGzip };
}

/** The last header value and its result. Most calls have the same value as the previous one. */
let last = { accepted: "", takes: false };

/** Reports whether a client accepts answers compressed by gzip. */
export function takesGzip(accepted: string | undefined): boolean {
  if (accepted === undefined) return false;
  if (accepted !== last.accepted) last = { accepted, takes: namesGzip(accepted) };
  return last.takes;
}

function namesGzip(accepted: string): boolean {
  return accepted
    .toLowerCase()
    .split(",")
    .some((coding) => /^\s*((?:x-)?gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(coding));
}

function unknownVersion(version: string): Error {
  const message = `Connect-Protocol-Version must be "1", not ${quote(version)}`;
  return apiError("invalid_argument", "UNKNOWN_PROTOCOL", message);
}

/**
 * The framing of messages in a body. With `bare`, the body is the message (Connect, unary; REST-style JSON). The others put each message
 * into an envelope. After the last message come trailers (gRPC) or a separate envelope (gRPC-Web; Connect, streams).
 */
type Framing = "bare" | "connect" | "grpc" | "grpc-web";

export interface Protocol {
  readonly codec: CodecName;
  readonly framing: Framing;
  /** gRPC-Web in base64, which older browser clients speak. */
  readonly isText: boolean;
  /** The header that names the compression of messages, of the request and of the answer. */
  readonly encodingName: string;
  /** The header with the compressions that the client accepts. */
  readonly acceptsName: string;
  /** The header of the answer. It is built once, because it is the same for all calls. */
  readonly header: HeaderFields;
  /** The header of the answer where messages in envelopes may be compressed. */
  readonly gzipHeader: HeaderFields;
}

const codecs: readonly CodecName[] = ["json", "proto"];
/** The names of the compression headers: for the messages, and for the encodings that the client accepts. */
const encodingNames: Readonly<Record<Framing, readonly [encoding: string, accepts: string]>> = {
  bare: ["content-encoding", "accept-encoding"],
  connect: ["connect-content-encoding", "connect-accept-encoding"],
  grpc: ["grpc-encoding", "grpc-accept-encoding"],
  "grpc-web": ["grpc-encoding", "grpc-accept-encoding"],
};
const prefixes: Readonly<Record<string, { framing: Framing; isText?: boolean }>> = {
  "application/": { framing: "bare" },
  "application/connect+": { framing: "connect" },
  "application/grpc+": { framing: "grpc" },
  "application/grpc-web+": { framing: "grpc-web" },
  "application/grpc-web-text+": { framing: "grpc-web", isText: true },
};

/** The protocols by content type. Those of gRPC without a codec are protobuf. */
const protocols = new Map<string, Protocol>();
for (const [prefix, { framing, isText = false }] of Object.entries(prefixes)) {
  for (const codec of codecs) {
    const protocol = createProtocol(codec, framing, isText, prefix + codec);
    protocols.set(prefix + codec, protocol);
    if (codec === "proto" && framing.startsWith("grpc")) protocols.set(prefix.slice(0, -1), protocol);
  }
}

function createProtocol(codec: CodecName, framing: Framing, isText: boolean, contentType: string): Protocol {
  const [encodingName, acceptsName] = encodingNames[framing];
  const header = { "content-type": contentType };
  return {
    codec,
    framing,
    isText,
    encodingName,
    acceptsName,
    header,
    gzipHeader: { ...header, [encodingName]: "gzip" },
  };
}

/** The content types by which a method can be called. */
export const acceptedTypes: Readonly<Record<"unary" | "stream", string>> = {
  unary: "application/json, application/proto, application/grpc-web, application/grpc",
  stream: "application/connect+json, application/connect+proto, application/grpc-web, application/grpc",
};

/** Returns the protocol of a request; undefined where its content type is not one of {@link acceptedTypes}. */
export function protocolOf(headers: RequestHeaders, kind: RpcMethod["kind"]): Protocol | undefined {
  const contentType = headerOf(headers, "content-type") ?? "";
  const protocol = protocols.get(contentType) ?? protocols.get(mediaType(contentType));
  const misfit: Framing = kind === "unary" ? "connect" : "bare";
  return protocol?.framing === misfit ? undefined : protocol;
}
