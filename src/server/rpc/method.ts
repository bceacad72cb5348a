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

/** The part of a call that a method can use. */
export type CallContext = Pick<
  Call,
  "headers" | "peer" | "principal" | "signal" | "throwIfAborted" | "remaining" | "extraHeader" | "extraTrailer"
>;

/** A message of the schema, or an object that encodes itself. */
export type Answer<O extends DescMessage> = MessageShape<O> | Encodable;

/** A method with one request and one answer. */
export interface UnaryMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "unary";
  /** True where its request may be as long as any body, because it is a list or has a text to import. */
  readonly isBulk?: boolean;
  readonly role: Role;
  readonly schema: DescMethodUnary<I, O>;
  run(request: MessageShape<I>, context: CallContext): Answer<O> | Promise<Answer<O>>;
}

/** A method with one request and any number of answers. Each answer is made when the client has room for it. */
export interface ServerStreamMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "serverStream";
  readonly role: Role;
  readonly schema: DescMethodServerStreaming<I, O>;
  run(request: MessageShape<I>, context: CallContext): AsyncIterable<Answer<O>>;
}

/** A method with streams of requests and answers at the same time. */
export interface BidiStreamMethod<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "bidiStream";
  readonly role: Role;
  readonly schema: DescMethodBiDiStreaming<I, O>;
  run(requests: AsyncIterable<MessageShape<I>>, context: CallContext): AsyncIterable<Answer<O>>;
}

/**
 * One row of the table of methods, which every transport reads. Its `role` is the lowest that may call it; viewers may only read. Its `run`
 * throws a ConnectError to refuse.
 */
export type RpcMethod = (UnaryMethod | ServerStreamMethod | BidiStreamMethod) & {
  /** The reach of the method; by default, that of the service. */
  readonly reach?: RouteReach;
  readonly area?: Area;
};

/** The methods of one service. */
export interface RpcService {
  readonly schema: DescService;
  /** The area of the service; undefined where a token for any area may call it. */
  readonly area: Area | undefined;
  /** The reach of the service; undefined where callers limited to scopes may not call it. */
  readonly reach?: RouteReach;
  readonly methods: readonly RpcMethod[];
  /** Is called before a request is processed. @throws ConnectError when the service is not available. */
  readonly requireEnabled?: () => void;
}

export function unary<I extends DescMessage, O extends DescMessage>(
  schema: DescMethodUnary<I, O>,
  role: Role,
  run: UnaryMethod<I, O>["run"],
): RpcMethod {
  return { kind: "unary", role, schema, run } as unknown as RpcMethod;
}

/** Does the same as {@link unary}, for a request that may be long. */
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
