import { ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { ApiMetrics } from "./api-metrics.ts";
import { basicChallenge } from "./guard/basic-auth.ts";
import { foreignSite, isKnownHost } from "./guard/site-guard.ts";
import type { Call } from "./http/call.ts";
import { headerOf } from "./http/http-message.ts";
import type { BodyReader } from "./http/read-body.ts";
import { sendBytes, sendError } from "./http/send.ts";
import { quote } from "./json/parse-json.ts";
import { viewWithId } from "./pages.ts";
import { apiError } from "./rpc/api-error.ts";
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
    };

export interface DispatchParts {
  readonly routes: ReadonlyMap<string, Route>;
  /** Paths below which an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
  readonly bodies: BodyReader;
  readonly metrics: ApiMetrics;
  /** Undefined when no credentials are asked for. */
  readonly isAuthorized: ((authorization: string | undefined) => boolean) | undefined;
  /** Labels of routes that need no credentials. */
  readonly openLabels: ReadonlySet<string>;
  /** Names that a Host header may carry besides those of this machine; undefined when any may. */
  readonly allowedHosts: readonly string[] | undefined;
  readonly onFailure: (error: unknown, call: Call) => void;
}

const postTypes = {
  operation: "application/json",
  rpc: "application/json, application/proto, application/grpc-web, application/grpc",
  stream: "application/connect+json, application/connect+proto, application/grpc-web, application/grpc",
};

/** @returns a function that answers a call, whatever it is; it never throws. */
export function createDispatch(parts: DispatchParts): (call: Call) => Promise<void> {
  const { routes, metrics } = parts;

  /** Everything that is checked before a body is read. */
  const admit = (call: Call, route: Route | undefined): void => {
    const { headers } = call.request;
    const host = headers.host ?? (headers as Record<string, string | undefined>)[":authority"];
    if (parts.allowedHosts !== undefined && !isKnownHost(host, parts.allowedHosts)) {
      metrics.reject("host");
      throw apiError("permission_denied", "UNKNOWN_HOST", `the host ${quote(host ?? "")} is not known here`);
    }
    const isOpen = route !== undefined && parts.openLabels.has(route.label);
    if (!isOpen && parts.isAuthorized !== undefined && !parts.isAuthorized(headers.authorization)) {
      metrics.reject("auth");
      const error = apiError("unauthenticated", "BAD_CREDENTIALS", "credentials are missing or wrong");
      error.metadata.set("www-authenticate", basicChallenge);
      throw error;
    }
    if (isSafe(call)) return;
    const foreign = foreignSite({
      host,
      origin: headerOf(call.request, "origin"),
      secFetchSite: headerOf(call.request, "sec-fetch-site"),
    });
    if (foreign === undefined) return;
    metrics.reject("origin");
    throw apiError("permission_denied", "FOREIGN_SITE", foreign);
  };

  const serve = async (call: Call): Promise<void> => {
    const route = routes.get(call.path) ?? routes.get(viewWithId(call.path));
    if (route !== undefined) call.label = route.label;
    admit(call, route);
    if (route === undefined) return refuseUnknown(call, parts.servicePaths);
    const allowed = route.kind === "page" ? ["GET", "HEAD", "OPTIONS"] : ["POST", "OPTIONS"];
    const method = call.request.method ?? "";
    if (method === "OPTIONS") {
      call.code = "ok";
      return sendBytes(call, 204, { allow: allowed.join(", ") }, "");
    }
    if (!allowed.includes(method)) return refuseMethod(call, allowed);
    if (route.kind === "page") {
      call.code = "ok";
      return route.serve(call);
    }
    if (route.kind === "operation") {
      return route.takesBody && call.wire !== "json" ? refuseType(call, postTypes.operation) : route.serve(call);
    }
    if (call.wire === "json" && route.json !== undefined) return route.json(call);
    const type = headerOf(call.request, "content-type") ?? "";
    const isUnary = route.handler.method.methodKind === "unary";
    const isMisfit = call.wire === "connect" && isUnary === /\/connect\+/i.test(type);
    if (type === "" || !route.handler.supportedContentType(type) || isMisfit) {
      return refuseType(call, isUnary ? postTypes.rpc : postTypes.stream);
    }
    call.isEndless = !isUnary;
    return serveByConnect(route.handler, call, parts.bodies);
  };

  return async (call) => {
    try {
      await serve(call);
    } catch (error) {
      answerFailure(call, error);
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
