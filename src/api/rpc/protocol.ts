import { headerOf, type RequestHeaders } from "../http/http-message.ts";
import { mediaType } from "../http/wire.ts";
import type { CodecName } from "./encoded.ts";
import type { RpcMethod } from "./method.ts";

/**
 * How messages are put into a body. `bare`: the body is the message (Connect, unary; REST-style JSON). The others have each message in
 * an envelope; what follows the last one are trailers (gRPC), or an envelope of its own (gRPC-Web; Connect, streams).
 */
export type Framing = "bare" | "connect" | "grpc" | "grpc-web";

export interface Protocol {
  readonly codec: CodecName;
  readonly framing: Framing;
  /** gRPC-Web in base64, which older browser clients speak. */
  readonly isText: boolean;
  /** Of the answer. */
  readonly contentType: string;
}

const codecs: readonly CodecName[] = ["json", "proto"];
const prefixes: Readonly<Record<string, { framing: Framing; isText?: boolean }>> = {
  "application/": { framing: "bare" },
  "application/connect+": { framing: "connect" },
  "application/grpc+": { framing: "grpc" },
  "application/grpc-web+": { framing: "grpc-web" },
  "application/grpc-web-text+": { framing: "grpc-web", isText: true },
};

/** By content type; those of gRPC without a codec are protobuf. */
const protocols = new Map<string, Protocol>();
for (const [prefix, { framing, isText = false }] of Object.entries(prefixes)) {
  for (const codec of codecs) {
    const protocol = { codec, framing, isText, contentType: prefix + codec };
    protocols.set(prefix + codec, protocol);
    if (codec === "proto" && framing.startsWith("grpc")) protocols.set(prefix.slice(0, -1), protocol);
  }
}

/** What the method can be called by. */
export const acceptedTypes: Readonly<Record<"unary" | "stream", string>> = {
  unary: "application/json, application/proto, application/grpc-web, application/grpc",
  stream: "application/connect+json, application/connect+proto, application/grpc-web, application/grpc",
};

/** How a request is to be served; undefined when its content type is not one of {@link acceptedTypes}. */
export function protocolOf(headers: RequestHeaders, kind: RpcMethod["kind"]): Protocol | undefined {
  const contentType = headerOf(headers, "content-type") ?? "";
  const protocol = protocols.get(contentType) ?? protocols.get(mediaType(contentType));
  const misfit: Framing = kind === "unary" ? "connect" : "bare";
  return protocol?.framing === misfit ? undefined : protocol;
}
