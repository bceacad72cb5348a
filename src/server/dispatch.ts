import { ConnectError } from "@connectrpc/connect";
import { apiError } from "./api-error.ts";
import { suffices } from "./access/role.ts";
import type { Admission, Refusal } from "./auth/admission.ts";
import type { ApiMetrics } from "./http/api-metrics.ts";
import { type Call, type RouteAccess, headerOf, sendError } from "./http/call.ts";
import { quote } from "../base/text/index.ts";
import { viewsWithId } from "./pages.ts";
import type { Engine } from "./rpc/engine.ts";
import type { RpcMethod, RpcService } from "./rpc/method.ts";
import { acceptedTypes } from "./rpc/protocol.ts";

/** What is at a path, and who may use it. */
export type Route = { readonly label: string; readonly access: RouteAccess } & (
  | { readonly kind: "page"; readonly serve: (call: Call) => Promise<void> }
  | { readonly kind: "operation"; readonly takesBody: boolean; readonly serve: (call: Call) => Promise<void> }
  | { readonly kind: "rpc"; readonly service: RpcService; readonly method: RpcMethod }
);

export interface DispatchParts {
  readonly routes: ReadonlyMap<string, Route>;
  /** What is at a path where nothing is; undefined: an error. */
  readonly unknown: (call: Call) => Route | undefined;
  /** Paths below which an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
  readonly engine: Engine;
  readonly metrics: ApiMetrics;
  readonly admission: Admission;
  readonly onFailure: (error: unknown) => void;
}

const pageMethods = ["GET", "HEAD", "OPTIONS"];
const operationMethods = ["POST", "OPTIONS"];
/** @returns a function that answers a call, whatever it is; it never throws. */
export function createDispatch(parts: DispatchParts): (call: Call) => void {
  const { routes, metrics } = parts;

  const throwIf = (refusal: Refusal | undefined): void => {
    if (refusal === undefined) return;
    metrics.reject(refusal.reason);
    throw refusal.error;
  };

  const serve = (call: Call): Promise<void> | undefined => {
    const route = routes.get(call.path) ?? routeWithId(routes, call.path) ?? parts.unknown(call);
    if (route !== undefined) {
      call.label = route.label;
      call.audit = auditOf(route);
    }
    const fault = call.hostFault();
    if (fault !== undefined) {
      metrics.reject("host");
      // What one part of the way takes for another host, a proxy may have taken for another request.
      sendError(call, apiError("invalid_argument", "BAD_HOST", fault), { headers: { connection: "close" } });
      return undefined;
    }
    const admitted = parts.admission.admit(call, route?.access);
    if (admitted instanceof Promise) return admitted.then((refusal) => (throwIf(refusal), serveAdmitted(call, route)));
    throwIf(admitted);
    return serveAdmitted(call, route);
  };

  const serveAdmitted = (call: Call, route: Route | undefined): Promise<void> | undefined => {
    if (route === undefined) {
      refuseUnknown(call, parts.servicePaths);
      return undefined;
    }
    const allowed = route.kind === "page" ? pageMethods : operationMethods;
    const { method } = call;
    if (method === "OPTIONS") {
      call.code = "ok";
      call.answer(204, { allow: allowed.join(", ") }, "");
      return undefined;
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
      refuseType(call, "application/json");
      return undefined;
    }
    if (!parts.engine(call, route.service, route.method)) {
      refuseType(call, acceptedTypes[route.method.kind === "unary" ? "unary" : "stream"]);
    }
    return undefined;
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
      if (!(error instanceof ConnectError)) parts.onFailure(error);
      if (call.isBegun()) call.breakOff();
      else sendError(call, error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      parts.onFailure(again);
      call.breakOff();
    }
  }
}

/** The store of metadata logs what it writes, with keys and revision. */
function auditOf({ kind, access: { role = "viewer", area } }: Route): Call["audit"] {
  if (!suffices(role, "editor")) return "nothing";
  return kind === "rpc" && area === "metadata" ? "failure" : "outcome";
}

function routeWithId(routes: ReadonlyMap<string, Route>, path: string): Route | undefined {
  const [last, before] = viewsWithId(path);
  return routes.get(last) ?? routes.get(before);
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
  const message = `${call.method} is not allowed at ${quote(call.path)}: use ${allowed[0]}`;
  const options = { status: 405, headers: { allow: allowed.join(", ") } };
  sendError(call, apiError("unimplemented", "WRONG_HTTP_METHOD", message), options);
}

function refuseType(call: Call, accepted: string): void {
  const given = headerOf(call.headers, "content-type");
  const shown = given === undefined ? "a request without a content type" : `content type ${quote(given)}`;
  const options = { status: 415, headers: { "accept-post": accepted } };
  sendError(
    call,
    apiError("unimplemented", "WRONG_CONTENT_TYPE", `${shown} is not supported: use ${accepted}`),
    options,
  );
}
