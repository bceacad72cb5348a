import type { DescMessage } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { apiError } from "../error/api-error.ts";
import { deadlineExceeded } from "../http/active-call.ts";
import type { Call } from "../http/call.ts";
import type { BodyReader } from "../http/read-body.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { createBareReply } from "./bare-reply.ts";
import { decodeText, decodeTexts } from "./base64-text.ts";
import { createRequestReader } from "./codec.ts";
import { encode, envelopeSize } from "./encoded.ts";
import { createEnvelopeReply } from "./envelope-reply.ts";
import type { Answer, RpcMethod, RpcService } from "./method.ts";
import { protocolOf, type Protocol } from "./protocol.ts";
import { inspectEnvelope, openEnvelope, readEnvelopes } from "./read-envelopes.ts";
import type { Reply } from "./reply.ts";
import { readTerms } from "./terms.ts";

export interface EngineParts {
  readonly bodies: BodyReader;
  readonly unknownFields: UnknownFields;
  /** As in {@link ApiLimits}. */
  readonly maxMessageBytes: number;
  /** Called with what is not a refusal but a fault of ours. */
  readonly onFailure: (error: unknown) => void;
}

/** Serves calls of any method by any protocol. @returns false, with nothing done, when the content type is none of the method's. */
export type Engine = (call: Call, service: RpcService, method: RpcMethod) => boolean;

/** A call on its way. */
interface Exchange {
  readonly call: Call;
  readonly method: RpcMethod;
  readonly protocol: Protocol;
  readonly reply: Reply;
}

/** The longest time that a timer can hold; Node fires a longer one at once. */
const maxTimer = 2_147_483_647;

/**
 * The one way of a call: header, body, message, method, answer. Each step goes on at once when the one before has not left a promise,
 * because most calls can be answered in the turn in which their body came.
 */
export function createEngine(parts: EngineParts): Engine {
  const { bodies, maxMessageBytes } = parts;
  const readRequest = createRequestReader(parts.unknownFields);
  const inspect = (first: Buffer): void => inspectEnvelope(first, bodies);

  /** @returns the message of a body that has just one. */
  const open = ({ protocol, reply: { terms } }: Exchange, body: Buffer): Buffer | Promise<Buffer> => {
    if (protocol.framing === "bare") return terms.isGzip && body.length > 0 ? bodies.decompress(body) : body;
    return openEnvelope(protocol.isText ? decodeText(body) : body, terms, bodies);
  };

  const respond = (exchange: Exchange, body: Buffer): void | Promise<void> => {
    const { call, method, protocol, reply } = exchange;
    const { input, output } = method.schema;
    const run = (request: never): void | Promise<void> => {
      call.throwIfAborted();
      if (method.kind !== "unary") return stream(exchange, method.run(request, call));
      return after(method.run(request, call), (answer) => reply.unary(encode(protocol.codec, output, answer)));
    };
    return after(open(exchange, body), (message) =>
      after(readRequest(protocol.codec, input, message), (request) => run(request as never)),
    );
  };

  /** Sends answers as fast as the client takes them, until it goes or its deadline passes. */
  const stream = async (exchange: Exchange, answers: AsyncIterable<Answer<DescMessage>>): Promise<void> => {
    const { call, method, protocol, reply } = exchange;
    const timer = isFiniteTimer(call) ? setTimeout(() => call.abort(deadlineExceeded()), call.remaining()) : undefined;
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
        await reply.message(encode(protocol.codec, method.schema.output, next.value));
      }
      reply.end();
    } finally {
      clearTimeout(timer);
      void Promise.resolve(iterator.return?.()).catch(ignore);
    }
  };

  async function* requestsOf({ call, method, protocol, reply: { terms } }: Exchange): AsyncGenerator<never> {
    const chunks = bodies.stream(call);
    for await (const message of readEnvelopes(protocol.isText ? decodeTexts(chunks) : chunks, terms, bodies)) {
      yield (await readRequest(protocol.codec, method.schema.input, message)) as never;
    }
  }

  const createReply = (call: Call, protocol: Protocol): Reply =>
    protocol.framing === "bare"
      ? createBareReply(call, protocol)
      : createEnvelopeReply(call, protocol, maxMessageBytes);

  const refuse = ({ call, reply }: Exchange, error: unknown): void => {
    try {
      if (!(error instanceof ConnectError)) parts.onFailure(error);
      reply.refuse(error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      parts.onFailure(again);
      call.breakOff();
    }
  };

  /** What the framing may add to the bytes of a message. */
  const framingBytes = ({ framing, isText }: Protocol): number => {
    if (framing === "bare") return 0;
    // Base64 takes four bytes for three, and four for a rest.
    return isText ? Math.ceil((bodies.maxBytes + envelopeSize) / 3) + 2 * envelopeSize : envelopeSize;
  };

  return (call, service, method) => {
    const protocol = protocolOf(call.headers, method.kind);
    if (protocol === undefined) return false;
    const exchange: Exchange = { call, method, protocol, reply: createReply(call, protocol) };
    const fail = (error: unknown): void => refuse(exchange, error);
    try {
      service.requireEnabled?.();
      exchange.reply.terms = readTerms(call, protocol.framing);
      call.throwIfAborted();
    } catch (error) {
      // By then a body that came along with the header has been seen, and the connection can be kept.
      queueMicrotask(() => fail(error));
      return true;
    }
    if (method.kind === "bidiStream") {
      call.isEndless = true;
      stream(exchange, method.run(requestsOf(exchange), call)).catch(fail);
      return true;
    }
    call.isEndless = method.kind === "serverStream";
    const take = (body: Buffer): void => {
      try {
        const responded = respond(exchange, body);
        if (responded instanceof Promise) responded.catch(fail);
      } catch (error) {
        fail(error);
      }
    };
    const isPlainEnvelope = protocol.framing !== "bare" && !protocol.isText;
    bodies.collect(call, framingBytes(protocol), isPlainEnvelope ? inspect : undefined, take, fail);
    return true;
  };
}

/** Goes on at once with what is at hand. */
function after<From, To>(value: From | Promise<From>, goOn: (value: From) => To | Promise<To>): To | Promise<To> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

function isFiniteTimer(call: Call): boolean {
  return call.remaining() <= maxTimer;
}

function ignore(): void {}
