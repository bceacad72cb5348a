import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Area, Role, RouteReach } from "../access/role.ts";
import type { Call } from "../http/call.ts";
import type { Encodable } from "./protocol.ts";

/** The part of its call that a method gets to know. */
export type CallContext = Pick<
  Call,
  "headers" | "peer" | "principal" | "signal" | "throwIfAborted" | "remaining" | "extraHeader" | "extraTrailer"
>;

/** A message of the schema, or what knows its own bytes. */
export type Answer<O extends DescMessage> = MessageShape<O> | Encodable;

/** A request, an answer. */
export interface UnaryMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "unary";
  /** True if its request may be as long as any body may, because it is a list or has a text to import. */
  readonly isBulk?: boolean;
  readonly role: Role;
  readonly schema: DescMethodUnary<I, O>;
  run(request: MessageShape<I>, context: CallContext): Answer<O> | Promise<Answer<O>>;
}

/** A request, any number of answers: each is asked for when the client has room for it. */
export interface ServerStreamMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "serverStream";
  readonly role: Role;
  readonly schema: DescMethodServerStreaming<I, O>;
  run(request: MessageShape<I>, context: CallContext): AsyncIterable<Answer<O>>;
}

/** Requests and answers at a time. */
export interface BidiStreamMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "bidiStream";
  readonly role: Role;
  readonly schema: DescMethodBiDiStreaming<I, O>;
  run(requests: AsyncIterable<MessageShape<I>>, context: CallContext): AsyncIterable<Answer<O>>;
}

/**
 * One row of the table of methods: every transport reads it. Its `role` is the least that may call it; only reading is for viewers. Its `run`
 * throws a ConnectError to refuse.
 */
export type RpcMethod = (UnaryMethod | ServerStreamMethod | BidiStreamMethod) & {
  /** Left out: those of the service. */
  readonly reach?: RouteReach;
  readonly area?: Area;
};

/** The methods of one service. */
export interface RpcService {
  readonly schema: DescService;
  /** Undefined: a token for any area may call it. */
  readonly area: Area | undefined;
  /** Undefined: callers who are limited to scopes may not call it. */
  readonly reach?: RouteReach;
  readonly methods: readonly RpcMethod[];
  /** Called before a request is looked at. @throws ConnectError when the service is not to be had. */
  readonly requireEnabled?: () => void;
}

export function unary<I extends DescMessage, O extends DescMessage>(
  schema: DescMethodUnary<I, O>,
  role: Role,
  run: UnaryMethod<I, O>["run"],
): RpcMethod {
  return { kind: "unary", role, schema, run } as unknown as RpcMethod;
}

/** {@link unary} with a request that may be long. */
export function bulk<I extends DescMessage, O extends DescMessage>(
  schema: DescMethodUnary<I, O>,
  role: Role,
  run: UnaryMethod<I, O>["run"],
): RpcMethod {
  return { ...unary(schema, role, run), isBulk: true } as RpcMethod;
}

export function serverStream<I extends DescMessage, O extends DescMessage>(
  schema: DescMethodServerStreaming<I, O>,
  role: Role,
  run: ServerStreamMethod<I, O>["run"],
): RpcMethod {
  return { kind: "serverStream", role, schema, run } as unknown as RpcMethod;
}

export function bidiStream<I extends DescMessage, O extends DescMessage>(
  schema: DescMethodBiDiStreaming<I, O>,
  role: Role,
  run: BidiStreamMethod<I, O>["run"],
): RpcMethod {
  return { kind: "bidiStream", role, schema, run } as unknown as RpcMethod;
}
