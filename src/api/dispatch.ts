import { ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { ApiMetrics } from "./api-metrics.ts";
import type { Admission } from "./guard/admission.ts";
import { hostFault } from "./guard/host-header.ts";
import type { Call } from "./http/call.ts";
import { headerOf } from "./http/http-message.ts";
import type { BodyReader } from "./http/read-body.ts";
import { sendBytes, sendError } from "./http/send.ts";
import { quote } from "../text/index.ts";
import { viewWithId } from "./pages.ts";
import { apiError } from "./rpc/api-error.ts";
import { mayBeLongBatch } from "./rpc/batch-front.ts";
import { serveByConnect } from "./rpc/connect-front.ts";
import type { JsonHandler } from "./rpc/json-front.ts";

/** What is at a path. */
export type Route =
  | { readonly kind: "page"; readonly label: string; readonly serve: (call: Call) => Promise<void> }
  | {
      readonly kind: "operation";
      readonly label: string;
      readonly takesBody: boolean;
      readonly serve: (call: Call) => Promise<void>;
    }
  | {
      readonly kind: "rpc";
      readonly label: string;
      readonly handler: UniversalHandler;
      /** Serves `application/json` in place of connect-es. */
      readonly json?: JsonHandler;
      /** Serves what {@link mayBeLongBatch}, in place of connect-es. */
      readonly batch?: (call: Call) => Promise<void>;
    };

export interface DispatchParts {
  readonly routes: ReadonlyMap<string, Route>;
  /** Paths below which an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
  readonly bodies: BodyReader;
  /** As in {@link ApiLimits}. */
  readonly maxMessageBytes: number;
  readonly metrics: ApiMetrics;
  readonly admission: Admission;
  readonly onFailure: (error: unknown, call: Call) => void;
}

const pageMethods = ["GET", "HEAD", "OPTIONS"];
const operationMethods = ["POST", "OPTIONS"];
const postTypes = {
  operation: "application/json",
  rpc: "application/json, application/proto, application/grpc-web, application/grpc",
  stream: "application/connect+json, application/connect+proto, application/grpc-web, application/grpc",
};

/** @returns a function that answers a call, whatever it is; it never throws. */
export function createDispatch(parts: DispatchParts): (call: Call) => void {
  const { routes, metrics } = parts;

  const admit = (call: Call, route: Route | undefined): void => {
    const refusal = parts.admission(call.request.headers, route?.label, isSafe(call));
    if (refusal === undefined) return;
    metrics.reject(refusal.reason);
    throw refusal.error;
  };

  const serve = (call: Call): Promise<void> | undefined => {
    const route = routes.get(call.path) ?? routes.get(viewWithId(call.path));
    if (route !== undefined) call.label = route.label;
    const fault = call.stream === undefined ? hostFault(call.request) : undefined;
    if (fault !== undefined) {
      metrics.reject("host");
      // What one part of the way takes for another host, a proxy may have taken for another request.
      sendError(call, apiError("invalid_argument", "BAD_HOST", fault), { headers: { connection: "close" } });
      return undefined;
    }
    admit(call, route);
    if (route === undefined) {
      refuseUnknown(call, parts.servicePaths);
      return undefined;
    }
    const allowed = route.kind === "page" ? pageMethods : operationMethods;
    const method = call.request.method ?? "";
    if (method === "OPTIONS") {
      call.code = "ok";
      return sendBytes(call, 204, { allow: allowed.join(", ") }, "");
    }
    if (!allowed.includes(method)) {
      refuseMethod(call, allowed);
      return undefined;
    }
    if (route.kind === "page") {
      call.code = "ok";
      return route.serve(call);
    }
    if (route.kind === "operation") {
      if (!route.takesBody || call.wire === "json") return route.serve(call);
      refuseType(call, postTypes.operation);
      return undefined;
    }
    if (call.wire === "json" && route.json !== undefined) {
      route.json(call, answerFailure);
      return undefined;
    }
    const type = headerOf(call.request, "content-type") ?? "";
    const isUnary = route.handler.method.methodKind === "unary";
    const isMisfit = call.wire === "connect" && isUnary === /\/connect\+/i.test(type);
    if (type === "" || !route.handler.supportedContentType(type) || isMisfit) {
      refuseType(call, isUnary ? postTypes.rpc : postTypes.stream);
      return undefined;
    }
    call.isEndless = !isUnary;
    if (route.batch !== undefined && mayBeLongBatch(call)) {
      return route.batch(call);
    }
    return serveByConnect(route.handler, call, parts.bodies, parts.maxMessageBytes);
  };

  return (call) => {
    try {
      serve(call)?.catch((error: unknown) => answerFailure(call, error));
    } catch (error) {
      // By then a body that came along with the header has been seen, and the connection can be kept.
      queueMicrotask(() => answerFailure(call, error));
    }
  };

  function answerFailure(call: Call, error: unknown): void {
    try {
      if (!(error instanceof ConnectError)) parts.onFailure(error, call);
      // When a part of the answer has been sent, cutting it off is the only way to say that it is not whole.
      if (call.response.headersSent) call.response.destroy();
      else sendError(call, error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      parts.onFailure(again, call);
      call.response.destroy();
    }
  }
}

function isSafe({ request: { method } }: Call): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

function refuseUnknown(call: Call, servicePaths: readonly string[]): void {
  const path = quote(call.path);
  const isMethod =
    call.wire === "grpc" || call.wire === "grpc-web" || servicePaths.some((service) => call.path.startsWith(service));
  const error = isMethod
    ? apiError("unimplemented", "UNKNOWN_METHOD", `there is no method ${path}`)
    : apiError("not_found", "UNKNOWN_PATH", `there is nothing at ${path}`);
  sendError(call, error, { status: 404 });
}

function refuseMethod(call: Call, allowed: readonly string[]): void {
  const message = `${call.request.method} is not allowed at ${quote(call.path)}: use ${allowed[0]}`;
  const options = { status: 405, headers: { allow: allowed.join(", ") } };
  sendError(call, apiError("unimplemented", "WRONG_HTTP_METHOD", message), options);
}

function refuseType(call: Call, accepted: string): void {
  const given = headerOf(call.request, "content-type");
  const shown = given === undefined ? "a request without a content type" : `content type ${quote(given)}`;
  const options = { status: 415, headers: { "accept-post": accepted } };
  sendError(
    call,
    apiError("unimplemented", "WRONG_CONTENT_TYPE", `${shown} is not supported: use ${accepted}`),
    options,
  );
}
