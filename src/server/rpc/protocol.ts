import { headerOf, type HeaderFields, type RequestHeaders } from "../http/http-message.ts";
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
  /** The header that names the compression of messages, of the request and of the answer. */
  readonly encodingName: string;
  /** The header that says which compressions the client takes. */
  readonly acceptsName: string;
  /** Of the answer. Built once, because all calls have the same. */
  readonly header: HeaderFields;
  /** The same where messages in envelopes may be compressed. */
  readonly gzipHeader: HeaderFields;
}

const codecs: readonly CodecName[] = ["json", "proto"];
/** The headers of compression: of the messages, and what the client takes. */
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

/** By content type; those of gRPC without a codec are protobuf. */
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
