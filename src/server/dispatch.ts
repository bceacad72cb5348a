import { ConnectError } from "@connectrpc/connect";
import { apiError } from "./api-error.ts";
import { suffices } from "./access/role.ts";
import type { Admission, Refusal } from "./auth/admission.ts";
import type { ApiMetrics } from "./http/api-metrics.ts";
import { type Call, headerOf, sendError } from "./http/call.ts";
import { quote } from "../base/text/index.ts";
import type { Engine } from "./rpc/engine.ts";
import type { Route, Routes } from "./routes.ts";
import { acceptedTypes } from "./rpc/protocol.ts";

const pageMethods = ["GET", "HEAD", "OPTIONS"];
const operationMethods = ["POST", "OPTIONS"];

/** Finds what is at the path of a call, asks who may use it, and serves it. */
export class Dispatch {
  readonly #routes: Routes;
  readonly #engine: Engine;
  readonly #metrics: ApiMetrics;
  readonly #admission: Admission;

  constructor(routes: Routes, engine: Engine, metrics: ApiMetrics, admission: Admission) {
    this.#routes = routes;
    this.#engine = engine;
    this.#metrics = metrics;
    this.#admission = admission;
  }

  /** Answers a call, whatever it is; it never throws. */
  serve(call: Call): void {
    try {
      this.#serve(call)?.catch((error: unknown) => this.#answerFailure(call, error));
    } catch (error) {
      // By then a body that came along with the header has been seen, and the connection can be kept.
      queueMicrotask(() => this.#answerFailure(call, error));
    }
  }

  #serve(call: Call): Promise<void> | undefined {
    const route = this.#routes.at(call);
    if (route !== undefined) {
      call.label = route.label;
      call.audit = auditOf(route);
    }
    const fault = call.hostFault();
    if (fault !== undefined) {
      this.#metrics.reject("host");
      // What one part of the way takes for another host, a proxy may have taken for another request.
      sendError(call, apiError("invalid_argument", "BAD_HOST", fault), { headers: { connection: "close" } });
      return undefined;
    }
    const admitted = this.#admission.admit(call, route?.access);
    if (admitted instanceof Promise) {
      return admitted.then((refusal) => (this.#throwIf(refusal), this.#serveAdmitted(call, route)));
    }
    this.#throwIf(admitted);
    return this.#serveAdmitted(call, route);
  }

  #throwIf(refusal: Refusal | undefined): void {
    if (refusal === undefined) return;
    this.#metrics.reject(refusal.reason);
    throw refusal.error;
  }

  #serveAdmitted(call: Call, route: Route | undefined): Promise<void> | undefined {
    if (route === undefined) {
      refuseUnknown(call, this.#routes.servicePaths);
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
    if (route.kind === "rpc") {
      if (!this.#engine.serve(call, route.service, route.method)) {
        refuseType(call, acceptedTypes[route.method.kind === "unary" ? "unary" : "stream"]);
      }
      return undefined;
    }
    if (route.takesBody && call.wire !== "json") {
      refuseType(call, "application/json");
      return undefined;
    }
    if (route.kind === "page") call.code = "ok";
    return route.serve(call);
  }

  #answerFailure(call: Call, error: unknown): void {
    try {
      if (!(error instanceof ConnectError)) this.#engine.onFailure(error);
      if (call.isBegun()) call.breakOff();
      else sendError(call, error instanceof ConnectError ? error : apiError("internal", "FAULT", "internal error"));
    } catch (again) {
      this.#engine.onFailure(again);
      call.breakOff();
    }
  }
}

/** The store of metadata logs what it writes, with keys and revision. */
function auditOf({ kind, access: { role = "viewer", area } }: Route): Call["audit"] {
  if (!suffices(role, "editor")) return "nothing";
  return kind === "rpc" && area === "metadata" ? "failure" : "outcome";
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
