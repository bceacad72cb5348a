import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { ConnectError } from "@connectrpc/connect";
import type { DescMessage } from "@bufbuild/protobuf";
import { apiError } from "../api-error.ts";
import { type Call, type HeaderFields, sendBytes, sendError, writeChunks } from "../http/call.ts";
import type { BodyReader, BodyTaker } from "../http/request-body.ts";
import {
  envelopeSize,
  isLong,
  type Encoded,
  type LongMessage,
  encode,
  type Pace,
  readRequest,
  type CallMetadata,
  readCallMetadata,
  type Protocol,
  protocolOf,
} from "./protocol.ts";
import { compressFrom, noCallMetadata, type Reply, decodeText, decodeTexts, EnvelopeReply } from "./envelope-reply.ts";
import { deadlineExceeded } from "../http/active-call.ts";
import type { Answer, RpcMethod, RpcService } from "./method.ts";
import type { UnknownFields } from "../json/decode-request.ts";

const compressedFlag = 1;

/** Checks the start of a body in envelopes. @throws ConnectError at once when its first message is too long. */
function inspectEnvelope(first: Buffer, bodies: BodyReader): void {
  if (first.length >= envelopeSize && first.readUInt32BE(1) > bodies.maxBytes) throw bodies.tooLarge();
}

/**
 * Returns the message of a body that must be one envelope.
 *
 * @throws ConnectError `unimplemented` for none or several, `invalid_argument` for an incomplete one, `resource_exhausted`.
 */
function openEnvelope(
  call: Call,
  bytes: Buffer,
  callMetadata: CallMetadata,
  bodies: BodyReader,
): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw countFault("there is no message");
  if (bytes.length < envelopeSize) throw cutOff();
  inspectEnvelope(bytes, bodies);
  const end = envelopeSize + bytes.readUInt32BE(1);
  if (bytes.length < end) throw cutOff();
  if (bytes.length > end) throw countFault("there is something after the message");
  return decompressed(call, bytes[0] as number, bytes.subarray(envelopeSize), callMetadata, bodies);
}

/** Yields the messages of a body as they arrive. @throws ConnectError as {@link openEnvelope} does, except for their number. */
async function* readEnvelopes(
  call: Call,
  chunks: AsyncIterable<Buffer>,
  callMetadata: CallMetadata,
  bodies: BodyReader,
): AsyncGenerator<Buffer> {
  /** The chunks, which are joined only when the next envelope, or its head, is complete. */
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
      yield await decompressed(call, rest[0] as number, rest.subarray(envelopeSize, wanted), callMetadata, bodies);
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
  callMetadata: CallMetadata,
  bodies: BodyReader,
): Buffer | Promise<Buffer> {
  if ((flags & compressedFlag) === 0) return message;
  if (!callMetadata.isGzip)
    throw apiError("internal", "MALFORMED_BODY", "a message is compressed, and no header says how");
  return message.length === 0 ? message : bodies.decompress(call, message);
}

function countFault(what: string): Error {
  return apiError("unimplemented", "MALFORMED_BODY", `${what}: the method takes one message`);
}

function cutOff(): Error {
  return apiError("invalid_argument", "MALFORMED_BODY", "the body ends within a message");
}

const gzipBytes = promisify(gzip);

/** A reply whose body is the message. Trailers become fields of the header (Connect, unary). */
class BareReply implements Reply {
  callMetadata = noCallMetadata;
  readonly #call: Call;
  readonly #protocol: Protocol;

  constructor(call: Call, protocol: Protocol) {
    this.#call = call;
    this.#protocol = protocol;
  }

  unary(encoded: Encoded): void | Promise<void> {
    this.#call.code = "ok";
    if (isLong(encoded)) return this.#sendChunks(encoded);
    const body = typeof encoded === "string" ? encoded : encoded.subarray(envelopeSize);
    if (body.length >= compressFrom) return this.#sendLarge(body);
    this.#call.answer(200, this.#fields(), body);
    return undefined;
  }

  message(): Promise<void> {
    return Promise.reject(new Error("a bare body holds one message"));
  }

  end(): void {}

  refuse(error: ConnectError): void {
    if (this.#call.isBegun()) {
      this.#call.breakOff();
      return;
    }
    // An error has its own content type.
    sendError(this.#call, error, { headers: this.#fields() });
  }

  /** Sends a message in chunks. A message too long to encode at once is also too long to compress at once. */
  async #sendChunks(message: LongMessage): Promise<void> {
    const isCounted = message.needsSize !== true || (await message.size(() => !this.#call.isGone())) !== undefined;
    if (!isCounted) return;
    this.#call.begin(200, this.#fields(), { hasTrailers: false });
    await writeChunks(this.#call, message.chunks());
    this.#call.end();
  }

  async #sendLarge(body: string | Buffer): Promise<void> {
    if (!this.callMetadata.acceptsGzip) return sendBytes(this.#call, 200, this.#fields(), body);
    const header = { ...this.#fields(), "content-encoding": "gzip", vary: "accept-encoding" };
    return sendBytes(this.#call, 200, header, await gzipBytes(body));
  }

  #fields(): HeaderFields {
    const { extraHeader, extraTrailer } = this.#call;
    const { header } = this.#protocol;
    if (extraHeader === undefined && extraTrailer === undefined) return header;
    const trailers = Array.from(extraTrailer ?? [], ([name, value]) => [`trailer-${name}`, value] as const);
    return { ...Object.fromEntries(extraHeader ?? []), ...Object.fromEntries(trailers), ...header };
  }
}

/** The longest time of a timer. Node fires a longer one at once. */
const maxTimer = 2_147_483_647;

/**
 * One call in progress: header, body, message, method, answer. Each step continues at once unless the previous step returned a promise,
 * so that most calls are answered in the turn of the event loop in which their body arrives. It is a class, because new closures would cost too much
 * for each call.
 */
class RpcCall implements BodyTaker, Pace {
  readonly #engine: Engine;
  readonly #call: Call;
  readonly #method: RpcMethod;
  readonly #protocol: Protocol;
  readonly #bodies: BodyReader;
  readonly #reply: Reply;

  constructor(engine: Engine, call: Call, method: RpcMethod, protocol: Protocol) {
    this.#engine = engine;
    this.#call = call;
    this.#method = method;
    this.#protocol = protocol;
    this.#bodies = method.kind === "unary" && method.isBulk === true ? engine.bulkBodies : engine.bodies;
    this.#reply =
      protocol.framing === "bare"
        ? new BareReply(call, protocol)
        : new EnvelopeReply(call, protocol, engine.maxMessageBytes);
  }

  /** Reads the header. @throws ConnectError for an unsupported header. */
  readHeader(): void {
    this.#reply.callMetadata = readCallMetadata(this.#call, this.#protocol);
    this.#call.throwIfAborted();
  }

  /** Reads the body and answers. */
  serve(): void {
    const call = this.#call;
    const method = this.#method;
    call.isEndless = method.kind !== "unary";
    if (method.kind !== "bidiStream") this.#bodies.collect(call, this.#framingBytes(), this);
    else this.#stream(method.run(this.#requests(), call)).catch((error) => this.fail(error));
  }

  inspect(first: Buffer): void {
    const { framing, isText } = this.#protocol;
    if (framing !== "bare" && !isText) inspectEnvelope(first, this.#bodies);
  }

  take(body: Buffer): void {
    try {
      const message = this.#open(body);
      const done = message instanceof Promise ? message.then((bytes) => this.#read(bytes)) : this.#read(message);
      if (done instanceof Promise) done.catch((error) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    try {
      if (!(error instanceof ConnectError)) this.#engine.onFailure(error);
      this.#call.failure = error instanceof ConnectError ? error.rawMessage : "internal error";
      this.#reply.refuse(error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      this.#engine.onFailure(again);
      this.#call.breakOff();
    }
  }

  /** Returns the bytes that the framing may add to a message. */
  #framingBytes(): number {
    const { framing, isText } = this.#protocol;
    if (framing === "bare") return 0;
    // Base64 uses four bytes for three, and four for a rest.
    return isText ? Math.ceil((this.#bodies.maxBytes + envelopeSize) / 3) + 2 * envelopeSize : envelopeSize;
  }

  /** Opens a body with one message. @returns the message. */
  #open(body: Buffer): Buffer | Promise<Buffer> {
    const { framing, isText } = this.#protocol;
    const { callMetadata } = this.#reply;
    if (framing === "bare")
      return callMetadata.isGzip && body.length > 0 ? this.#bodies.decompress(this.#call, body) : body;
    return openEnvelope(this.#call, isText ? decodeText(body) : body, callMetadata, this.#bodies);
  }

  #read(message: Buffer): void | Promise<void> {
    this.#call.throwIfAborted();
    const { unknownFields } = this.#engine;
    const request = readRequest(this.#protocol.codec, this.#method.schema.input, message, unknownFields, this);
    return request instanceof Promise ? request.then((made) => this.#run(made as never)) : this.#run(request as never);
  }

  async turn(made: number): Promise<void> {
    this.#bodies.make(this.#call, made);
    await this.#call.turn();
    this.#call.throwIfAborted();
  }

  #run(request: never): void | Promise<void> {
    const call = this.#call;
    const method = this.#method;
    call.throwIfAborted();
    if (method.kind !== "unary") return this.#stream(method.run(request, call));
    const answer = method.run(request, call);
    return answer instanceof Promise ? answer.then((given) => this.#answer(given)) : this.#answer(answer);
  }

  #answer(answer: Answer<DescMessage>): void | Promise<void> {
    // Do not make an answer that nobody waits for.
    if (this.#call.isGone()) return undefined;
    return this.#reply.unary(encode(this.#protocol.codec, this.#method.schema.output, answer));
  }

  /** Sends answers as fast as the client reads them, until it disconnects or its deadline passes. */
  async #stream(answers: AsyncIterable<Answer<DescMessage>>): Promise<void> {
    const call = this.#call;
    const remaining = call.remaining();
    const timer = remaining <= maxTimer ? setTimeout(() => call.abort(deadlineExceeded()), remaining) : undefined;
    const iterator = answers[Symbol.asyncIterator]();
    const aborted = new Promise<never>((_, reject) => {
      if (call.signal.aborted) reject(call.signal.reason as Error);
      call.signal.addEventListener("abort", () => reject(call.signal.reason as Error));
    });
    // A rejection without a waiter is not a fault.
    aborted.catch(ignore);
    try {
      for (;;) {
        const next = await Promise.race([iterator.next(), aborted]);
        if (next.done === true) break;
        await this.#reply.message(encode(this.#protocol.codec, this.#method.schema.output, next.value));
      }
      this.#reply.end();
    } finally {
      clearTimeout(timer);
      void Promise.resolve(iterator.return?.()).catch(ignore);
    }
  }

  async *#requests(): AsyncGenerator<never> {
    const { unknownFields } = this.#engine;
    const bodies = this.#bodies;
    const { codec, isText } = this.#protocol;
    const sent = bodies.stream(this.#call);
    const chunks = isText ? decodeTexts(sent) : sent;
    for await (const message of readEnvelopes(this.#call, chunks, this.#reply.callMetadata, bodies)) {
      yield (await readRequest(codec, this.#method.schema.input, message, unknownFields, this)) as never;
    }
  }
}

function ignore(): void {}

/** The engine, which serves calls of all protocols by an {@link RpcCall}. */
export class Engine {
  readonly bodies: BodyReader;
  readonly bulkBodies: BodyReader;
  readonly unknownFields: UnknownFields;
  readonly maxMessageBytes: number;
  readonly onFailure: (error: unknown) => void;

  /**
   * @param bulkBodies reads bodies of methods whose requests may be long.
   * @param maxMessageBytes as in {@link ApiLimits}.
   * @param onFailure is called with an error that is an internal fault, not a refusal.
   */
  constructor(
    bodies: BodyReader,
    bulkBodies: BodyReader,
    unknownFields: UnknownFields,
    maxMessageBytes: number,
    onFailure: (error: unknown) => void,
  ) {
    this.bodies = bodies;
    this.bulkBodies = bulkBodies;
    this.unknownFields = unknownFields;
    this.maxMessageBytes = maxMessageBytes;
    this.onFailure = onFailure;
  }

  /** Serves a call of any method by any protocol. @returns false, without any effect, where the method does not support the content type. */
  serve(call: Call, service: RpcService, method: RpcMethod): boolean {
    const protocol = protocolOf(call.headers, method.kind);
    if (protocol === undefined) return false;
    const rpcCall = new RpcCall(this, call, method, protocol);
    try {
      service.requireEnabled?.();
      rpcCall.readHeader();
    } catch (error) {
      // By then, a body that arrived with the header was read, so that the connection can be kept.
      queueMicrotask(() => rpcCall.fail(error));
      return true;
    }
    rpcCall.serve();
    return true;
  }
}
