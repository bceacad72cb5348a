import { apiError } from "../api-error.ts";
import { quote } from "../../base/text/index.ts";
import { type Call, headerOf, type HeaderFields, type RequestHeaders, mediaType } from "../http/call.ts";
import { isGzipped } from "../http/request-body.ts";
import type { CodecName } from "./codec.ts";
import type { RpcMethod } from "./method.ts";

/**
 * Milliseconds that a `Connect-Timeout-Ms` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to ten digits.
 */
function connectTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw badTimeout(`Connect-Timeout-Ms ${quote(value)} is not a number of milliseconds`);
}

const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 };

/**
 * Milliseconds that a `grpc-timeout` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to eight digits with a unit.
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

/** What the header of a request says of compression. */
export interface Terms {
  /** Whether messages of the request are, or may be, compressed by gzip. */
  readonly isGzip: boolean;
  readonly acceptsGzip: boolean;
}

/**
 * Reads what the header asks for; a deadline is noted in the call.
 *
 * @throws ConnectError `unimplemented` for an unknown compression, `invalid_argument` for a bad time-out or version.
 */
export function readTerms(call: Call, { framing, encodingName, acceptsName }: Protocol): Terms {
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

/** Most calls say what the one before said. */
let last = { accepted: "", takes: false };

/** Whether a client takes what is compressed by gzip. */
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
 * How messages are put into a body. `bare`: the body is the message (Connect, unary; REST-style JSON). The others have each message in
 * an envelope; what follows the last one are trailers (gRPC), or an envelope of its own (gRPC-Web; Connect, streams).
 */
type Framing = "bare" | "connect" | "grpc" | "grpc-web";

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
