import type { ServerHttp2Stream } from "node:http2";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { ApiMetrics } from "../api-metrics.ts";
import type { Admission, RequestHeaders } from "../guard/admission.ts";
import type { CallLog } from "../http/call-log.ts";
import type { ApiLimits } from "../http/limits.ts";
import type { ProtoMethod } from "../proto/proto-methods.ts";
import { serveGrpcCall } from "./grpc-call.ts";
import { grpcTimeout } from "./timeouts.ts";

/** A unary method by gRPC. */
export interface GrpcMethod {
  readonly label: string;
  readonly run: ProtoMethod;
  /** Takes what the short way does not know. */
  readonly handler: UniversalHandler;
}

export interface GrpcFrontParts {
  /** By path. */
  readonly methods: ReadonlyMap<string, GrpcMethod>;
  readonly admission: Admission;
  readonly calls: CallLog;
  readonly limits: ApiLimits;
  readonly metrics: ApiMetrics;
  readonly maxBodyBytes: number;
  readonly onFailure: (error: unknown) => void;
}

/** Takes a stream of HTTP/2 whose header has come. @returns whether it did; if not, nothing has happened to it. */
export type GrpcFront = (stream: ServerHttp2Stream, headers: RequestHeaders) => boolean;

/**
 * The short way of unary gRPC: straight on the streams of HTTP/2, without Node's request and response objects and without
 * connect-es, which take five times as long. It takes plain calls to the methods it knows, and leaves every other one, and each that
 * is to be refused by its header, to the complete way.
 */
export function createGrpcFront(parts: GrpcFrontParts): GrpcFront {
  const acceptsGzip = memoizeLast(namesGzip);
  return (stream, headers) => {
    const method = parts.methods.get(headers[":path"] as string);
    if (method === undefined || !isPlain(headers, parts.maxBodyBytes)) return false;
    if (parts.admission(headers, method.label, false) !== undefined) return false;
    const timeout = grpcTimeout(headers["grpc-timeout"] as string | undefined);
    if (timeout === undefined || timeout === 0) return false;
    serveGrpcCall(parts, method, stream, headers, {
      timeout,
      acceptsGzip: acceptsGzip(headers["grpc-accept-encoding"] as string | undefined),
    });
    return true;
  };
}

/** Whether the header asks for nothing that only the complete way knows. */
function isPlain(headers: RequestHeaders, maxBodyBytes: number): boolean {
  const type = headers["content-type"];
  const length = headers["content-length"];
  return (
    headers[":method"] === "POST" &&
    (type === "application/grpc" || type === "application/grpc+proto") &&
    (headers["grpc-encoding"] === undefined || headers["grpc-encoding"] === "identity") &&
    headers["expect"] === undefined &&
    (length === undefined || Number(length) <= maxBodyBytes)
  );
}

function namesGzip(accepted: string | undefined): boolean {
  return accepted !== undefined && accepted.split(",").some((name) => name.trim() === "gzip");
}

/** Most calls ask with the argument of the call before. */
function memoizeLast<In, Out>(compute: (input: In) => Out): (input: In) => Out {
  let last: { readonly input: In; readonly output: Out } | undefined;
  return (input) => {
    if (last === undefined || last.input !== input) last = { input, output: compute(input) };
    return last.output;
  };
}
