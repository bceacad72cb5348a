import type { DescMessage } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { apiError } from "../error/api-error.ts";
import { deadlineExceeded } from "../http/active-call.ts";
import type { Call } from "../http/call.ts";
import type { BodyReader, BodyTaker } from "../http/read-body.ts";
import { createBareReply } from "./bare-reply.ts";
import { decodeText, decodeTexts } from "./base64-text.ts";
import type { Pace, ReadRequest } from "./codec.ts";
import { encode, envelopeSize } from "./encoded.ts";
import { createEnvelopeReply } from "./envelope-reply.ts";
import type { Answer, RpcMethod } from "./method.ts";
import type { Protocol } from "./protocol.ts";
import { inspectEnvelope, openEnvelope, readEnvelopes } from "./read-envelopes.ts";
import type { Reply } from "./reply.ts";
import { readTerms } from "./terms.ts";

/** What all exchanges share. */
export interface ExchangeTools {
  readonly bodies: BodyReader;
  /** Of methods whose requests may be long. */
  readonly bulkBodies: BodyReader;
  readonly readRequest: ReadRequest;
  /** As in {@link ApiLimits}. */
  readonly maxMessageBytes: number;
  /** Called with what is not a refusal but a fault of ours. */
  readonly onFailure: (error: unknown) => void;
}

/** The longest time that a timer can hold; Node fires a longer one at once. */
const maxTimer = 2_147_483_647;

/**
 * One call on its way: header, body, message, method, answer. Each step goes on at once when the one before has not left a promise,
 * because most calls can be answered in the turn in which their body came. A class, because closures of their own cost too much for
 * each call.
 */
export class Exchange implements BodyTaker, Pace {
  readonly #tools: ExchangeTools;
  readonly #call: Call;
  readonly #method: RpcMethod;
  readonly #protocol: Protocol;
  readonly #bodies: BodyReader;
  readonly #reply: Reply;

  constructor(tools: ExchangeTools, call: Call, method: RpcMethod, protocol: Protocol) {
    this.#tools = tools;
    this.#call = call;
    this.#method = method;
    this.#protocol = protocol;
    this.#bodies = method.kind === "unary" && method.isBulk === true ? tools.bulkBodies : tools.bodies;
    this.#reply =
      protocol.framing === "bare"
        ? createBareReply(call, protocol)
        : createEnvelopeReply(call, protocol, tools.maxMessageBytes);
  }

  /** @throws ConnectError for what the header asks for. */
  readHeader(): void {
    this.#reply.terms = readTerms(this.#call, this.#protocol);
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
      if (!(error instanceof ConnectError)) this.#tools.onFailure(error);
      this.#call.failure = error instanceof ConnectError ? error.rawMessage : "internal error";
      this.#reply.refuse(error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      this.#tools.onFailure(again);
      this.#call.breakOff();
    }
  }

  /** What the framing may add to the bytes of a message. */
  #framingBytes(): number {
    const { framing, isText } = this.#protocol;
    if (framing === "bare") return 0;
    // Base64 takes four bytes for three, and four for a rest.
    return isText ? Math.ceil((this.#bodies.maxBytes + envelopeSize) / 3) + 2 * envelopeSize : envelopeSize;
  }

  /** @returns the message of a body that has just one. */
  #open(body: Buffer): Buffer | Promise<Buffer> {
    const { framing, isText } = this.#protocol;
    const { terms } = this.#reply;
    if (framing === "bare") return terms.isGzip && body.length > 0 ? this.#bodies.decompress(this.#call, body) : body;
    return openEnvelope(this.#call, isText ? decodeText(body) : body, terms, this.#bodies);
  }

  #read(message: Buffer): void | Promise<void> {
    this.#call.throwIfAborted();
    const request = this.#tools.readRequest(this.#protocol.codec, this.#method.schema.input, message, this);
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
    // What nobody takes is not made.
    if (this.#call.isGone()) return undefined;
    return this.#reply.unary(encode(this.#protocol.codec, this.#method.schema.output, answer));
  }

  /** Sends answers as fast as the client takes them, until it goes or its deadline passes. */
  async #stream(answers: AsyncIterable<Answer<DescMessage>>): Promise<void> {
    const call = this.#call;
    const remaining = call.remaining();
    const timer = remaining <= maxTimer ? setTimeout(() => call.abort(deadlineExceeded()), remaining) : undefined;
    const iterator = answers[Symbol.asyncIterator]();
    const aborted = new Promise<never>((_, reject) => {
      if (call.signal.aborted) reject(call.signal.reason as Error);
      call.signal.addEventListener("abort", () => reject(call.signal.reason as Error));
    });
    // It is no fault when nobody waits for it.
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
    const { readRequest } = this.#tools;
    const bodies = this.#bodies;
    const { codec, isText } = this.#protocol;
    const chunks = bodies.stream(this.#call);
    const pieces = isText ? decodeTexts(chunks) : chunks;
    for await (const message of readEnvelopes(this.#call, pieces, this.#reply.terms, bodies)) {
      yield (await readRequest(codec, this.#method.schema.input, message, this)) as never;
    }
  }
}

function ignore(): void {}
