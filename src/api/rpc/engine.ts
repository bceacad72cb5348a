import type { Call } from "../http/call.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { createRequestReader } from "./codec.ts";
import { Exchange, type ExchangeTools } from "./exchange.ts";
import type { RpcMethod, RpcService } from "./method.ts";
import { protocolOf } from "./protocol.ts";

export interface EngineParts extends Omit<ExchangeTools, "readRequest"> {
  readonly unknownFields: UnknownFields;
}

/** Serves calls of any method by any protocol. @returns false, with nothing done, when the content type is none of the method's. */
export type Engine = (call: Call, service: RpcService, method: RpcMethod) => boolean;

/** The one way of every call, whatever its protocol: an {@link Exchange}. */
export function createEngine(parts: EngineParts): Engine {
  const tools: ExchangeTools = { ...parts, readRequest: createRequestReader(parts.unknownFields) };
  return (call, service, method) => {
    const protocol = protocolOf(call.headers, method.kind);
    if (protocol === undefined) return false;
    const exchange = new Exchange(tools, call, method, protocol);
    try {
      service.requireEnabled?.();
      exchange.readHeader();
    } catch (error) {
      // By then a body that came along with the header has been seen, and the connection can be kept.
      queueMicrotask(() => exchange.fail(error));
      return true;
    }
    exchange.serve();
    return true;
  };
}
