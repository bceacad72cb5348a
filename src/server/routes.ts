import { annotationEndpoint, type FindAnnotations } from "./methods/annotation-endpoint.ts";
import { ConnectError } from "@connectrpc/connect";
import { apiError } from "./api-error.ts";
import type { Admission, Refusal } from "./auth/admission.ts";
import type { ApiMetrics } from "./http/call-log.ts";
import { scopeOf, type RouteAccess } from "./access/role.ts";
import { type Call, headerOf, sendError } from "./http/call.ts";
import { quote } from "../base/text/index.ts";
import type { Engine } from "./rpc/engine.ts";
import { acceptedTypes } from "./rpc/protocol.ts";
import type { Reporting } from "../base/report/index.ts";
import { Health } from "./gen/grpc/health/v1/health_pb.ts";
import { UdmService } from "./gen/udm/v1/udm_pb.ts";
import type { ApiLimits } from "./http/limits.ts";
import type { BodyReader } from "./http/request-body.ts";
import type { UnknownFields } from "./json/decode-request.ts";
import type { ListView, View } from "./methods/collector-methods.ts";
import { pathsWithId, type Endpoint } from "./methods/endpoint.ts";
import { filterEndpoint, type CompleteFilter } from "./methods/filter-endpoint.ts";
import { reportEndpoints, type ReportOperations } from "./methods/report-endpoints.ts";
import { savedViewEndpoints, type SavedViewOperations } from "./methods/saved-view-endpoints.ts";
import { exploreEndpoints, type ExploreOperations } from "./methods/explore-endpoints.ts";
import {
  operationEndpoints,
  sourceEndpoints,
  type Operation,
  type SourceOperations,
} from "./methods/post-endpoints.ts";
import { healthMethods, reflectionMethods, reflectionVersions, SchemaFiles } from "./methods/grpc-services.ts";
import type { JsonSchema } from "./methods/shape.ts";
import { sessionName } from "./auth/authenticator.ts";
import {
  sessionEndpoints,
  signInEndpoints,
  type SessionParts,
  type SignInEndpoints,
} from "./methods/sign-in-endpoints.ts";
import { snmpEndpoints, type SnmpOperations } from "./methods/snmp-endpoints.ts";
import { changesEndpoint } from "./methods/tools-methods.ts";
import { openApiDocument } from "./openapi-document.ts";
import { pageEndpoints, streamEndpoints, viewEndpoints, type StreamPage } from "./pages.ts";
import type { RpcMethod, RpcService } from "./rpc/method.ts";
import type { ScopedServices } from "./scoped-services.ts";
import type { ChangeFeed } from "./tools/watch-udms.ts";
import { WebPages } from "./web-pages.ts";

/** The endpoint at a path, and its access. */
type Route =
  | Endpoint
  | {
      readonly kind: "rpc";
      readonly label: string;
      readonly access: RouteAccess;
      readonly service: RpcService;
      readonly method: RpcMethod;
    };

/** The parts that the port serves in addition to metadata. */
export interface ApiOffer {
  /** The version of the collector, for the OpenAPI document. */
  readonly version: string;
  /** True where /metrics needs credentials, too. */
  readonly authMetrics: boolean;
  readonly unknownFields: UnknownFields;
  /** Further JSON documents for GET, by path. A document outside the table of methods is any JSON in OpenAPI. */
  readonly views?: ReadonlyMap<string, View | ListView>;
  /** Further streams, by path. */
  readonly streams?: ReadonlyMap<string, StreamPage>;
  /** The SNMP operations. Without them, their paths answer 503. */
  readonly snmp?: SnmpOperations;
  /** The operations on sources of metadata. Without them, their paths answer 501. */
  readonly sources?: SourceOperations;
  /** Further operations, by path. */
  readonly operations?: ReadonlyMap<string, Operation>;
  /** The operations of Explore. Without them, its paths answer 404. */
  readonly explore?: ExploreOperations;
  /** Completes filters over records. */
  readonly completeFilter?: CompleteFilter;
  /** The operations on shared views and boards. */
  readonly savedViews?: SavedViewOperations;
  readonly annotations?: FindAnnotations;
  readonly reports?: ReportOperations;
  /** The folder of the built pages. Without it, `/` answers only programs. */
  readonly pagesFolder?: string;
  /** Further services, served by every protocol. */
  readonly services?: readonly RpcService[];
}

interface RouteParts extends ApiOffer, Pick<Reporting, "health" | "metrics" | "clock"> {
  /** The services of the schema; health and reflection are added. */
  readonly services: readonly RpcService[];
  readonly bodies: BodyReader;
  readonly limits: ApiLimits;
  readonly apiMetrics: ApiMetrics;
  /** Changes of the metadata, which can be followed as server-sent events. */
  readonly feed: ChangeFeed | undefined;
  /** The services of the metadata in scopes. */
  readonly scoped: ScopedServices;
  readonly sessionParts: SessionParts;
  /** The endpoints for sign-in at an issuer; undefined where it is off. */
  readonly signInAt: SignInEndpoints | undefined;
}

/** The path of the service by the contract. Tools that have only host and port find it at the root, too. */
export const contractPrefix = "/api/v1/enrich/ipaddr";
const prefixes = [contractPrefix, ""];

/** The routes: the methods of services, and all other rows. */
export class Routes {
  /** Below these paths an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
  readonly #byPath = new Map<string, Route>();
  readonly #web: WebPages;
  readonly #scoped: ScopedServices;
  #schema: SchemaFiles | undefined;
  #document: JsonSchema | undefined;

  constructor(parts: RouteParts) {
    this.#scoped = parts.scoped;
    const services = allServices(parts, () => this.#files());
    this.servicePaths = services.flatMap(({ schema }) => prefixes.map((prefix) => `${prefix}/${schema.typeName}/`));
    for (const service of services) this.#addMethods(service);
    this.#web = new WebPages(parts.pagesFolder, () => apiIndex(openApi()));
    const isGuarded = parts.sessionParts.proofs.length > 0 || parts.signInAt !== undefined;
    const openApi = (): JsonSchema => (this.#document ??= this.#describe(parts, endpoints));
    const endpoints: readonly Endpoint[] = [
      ...snmpEndpoints(parts.snmp, parts.bodies, parts.unknownFields),
      ...sourceEndpoints(parts.sources, parts.bodies),
      ...operationEndpoints(parts.operations ?? new Map(), parts.bodies),
      ...exploreEndpoints(parts.explore, parts.bodies),
      ...(parts.completeFilter === undefined ? [] : [filterEndpoint(parts.completeFilter, parts.bodies)]),
      ...(parts.savedViews === undefined ? [] : savedViewEndpoints(parts.savedViews, parts.bodies)),
      ...(parts.reports === undefined ? [] : reportEndpoints(parts.reports, parts.bodies)),
      ...(parts.annotations === undefined ? [] : [annotationEndpoint(parts.annotations)]),
      ...pageEndpoints({ ...parts, metricsAge: parts.limits.metricsAge, isGuarded, openApi }),
      ...changesEndpoints(parts),
      this.#web.index,
      ...(parts.signInAt === undefined ? [] : signInEndpoints(parts.signInAt)),
      ...sessionEndpoints(parts.sessionParts),
      ...viewEndpoints(parts.views ?? new Map()),
      ...streamEndpoints(parts.streams ?? new Map()),
    ];
    for (const endpoint of [...endpoints, ...this.#web.endpoints]) this.#byPath.set(endpoint.path, endpoint);
  }

  /** Returns the route of a call, including pages of things and the answer to browsers for unknown paths; undefined where there is none. */
  at(call: Call): Route | undefined {
    const named = this.#scoped.named(call);
    if (named !== undefined) {
      const { scope, path } = named;
      const route = this.#byPath.get(path);
      // Check the access before the existence of the scope.
      if (typeof route?.access.reach === "object") return { ...route, access: { ...route.access, reach: { scope } } };
    }
    const found = this.#byPath.get(call.path);
    if (found !== undefined) return found;
    const [last, before] = pathsWithId(call.path);
    return this.#byPath.get(last) ?? this.#byPath.get(before) ?? this.#web.other(call);
  }

  /** Returns the service of a scope, and its method of a name. @throws ConnectError `not_found` that names the scope. */
  methodIn(
    scope: string,
    { service, method }: { readonly service: RpcService; readonly method: RpcMethod },
  ): {
    readonly service: RpcService;
    readonly method: RpcMethod;
  } {
    const own = this.#scoped.of(scope).services.find(({ schema }) => schema.typeName === service.schema.typeName);
    return { service: own as RpcService, method: own?.methods[service.methods.indexOf(method)] as RpcMethod };
  }

  #addMethods(service: RpcService): void {
    const { typeName, name } = service.schema;
    for (const method of service.methods) {
      const label = typeName === UdmService.typeName ? method.schema.name : `${name}/${method.schema.name}`;
      const isOpen = service.schema === Health && method.schema.name === "Check";
      const { reach = service.reach, area = service.area } = method;
      const access: RouteAccess = { role: isOpen ? undefined : method.role, area, reach };
      const route: Route = { kind: "rpc", label, access, service, method };
      for (const prefix of prefixes) this.#byPath.set(`${prefix}/${typeName}/${method.schema.name}`, route);
    }
  }

  /** Returns the schema files on demand, because reading the schema takes longer than the rest of the API's start. */
  #files(): SchemaFiles {
    return (this.#schema ??= new SchemaFiles());
  }

  #describe({ version, services, sessionParts }: RouteParts, endpoints: readonly Endpoint[]): JsonSchema {
    // Use the registry with the comments of the schema. Other services have no comments.
    const { registry } = this.#files();
    const schemas = services.map(({ schema }) => registry.getService(schema.typeName) ?? schema);
    const scoped = new Set(
      services.filter(({ reach }) => typeof reach === "object").map(({ schema }) => schema.typeName),
    );
    const { proofs, hasIssuer } = sessionParts;
    const hasSessions = proofs.length > 0 || hasIssuer;
    const schemes = {
      ...(proofs.includes("password") && { basic: { type: "http", scheme: "basic" } }),
      ...(proofs.includes("token") && { token: { type: "http", scheme: "bearer" } }),
      ...(hasSessions && { session: { type: "apiKey", in: "cookie", name: sessionName } }),
    };
    return openApiDocument(version, schemas, scoped, contractPrefix, endpoints, schemes);
  }
}

function changesEndpoints({ feed, scoped }: RouteParts): readonly Endpoint[] {
  if (feed === undefined) return [];
  return [changesEndpoint((scope) => (scope === undefined ? feed : scoped.of(scope).feed))];
}

function allServices(
  { services, health, limits, apiMetrics }: RouteParts,
  files: () => SchemaFiles,
): readonly RpcService[] {
  const names = services.map(({ schema }) => schema.typeName);
  const all = [...names, Health.typeName, ...reflectionVersions];
  const watched = healthMethods(health, new Set(all), limits.maxWatchers, () => apiMetrics.reject("watchers"));
  return [...services, watched, ...reflectionMethods(files, all)];
}

/** Returns a short index of the port's paths, from the OpenAPI document. Programs get it at `/`. */
function apiIndex(document: JsonSchema): unknown {
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, { readonly summary?: string }>>>>;
  const endpoints = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { summary = "" }]) => [`${method.toUpperCase()} ${path}`, summary] as const),
  );
  return {
    service: "netgloss",
    pages: "open / in a browser",
    openapi: "/openapi.json",
    endpoints: Object.fromEntries(endpoints),
  };
}

const pageMethods = ["GET", "HEAD", "OPTIONS"];
const operationMethods = ["POST", "OPTIONS"];

/** A dispatcher that finds the route of a call, checks its access, and serves it. */
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

  /** Answers any call. It never throws. */
  serve(call: Call): void {
    try {
      this.#serve(call)?.catch((error: unknown) => this.#answerFailure(call, error));
    } catch (error) {
      // By then, a body that arrived with the header was read, so that the connection can be kept.
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
      // If a proxy reads a different host, it may also have read a different request.
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
    const scope = scopeOfCall(call, route.access);
    if (route.kind === "rpc") {
      const { service, method: rpc } = scope === undefined ? route : this.#routes.methodIn(scope, route);
      if (!this.#engine.serve(call, service, rpc)) {
        refuseType(call, acceptedTypes[route.method.kind === "unary" ? "unary" : "stream"]);
      }
      return undefined;
    }
    if (route.takesBody && call.wire !== "json") {
      refuseType(call, "application/json");
      return undefined;
    }
    if (route.kind === "page") call.code = "ok";
    return route.serve(call, scope);
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

/** Returns the results of a route that are logged. The store of metadata logs its own writes, with keys and revision. */
function auditOf({ kind, access: { role = "viewer", area } }: Route): Call["audit"] {
  if (role === "viewer") return "nothing";
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

/** Returns the scope of a call; undefined where it has none. */
function scopeOfCall({ principal }: Call, { reach }: RouteAccess): string | undefined {
  if (typeof reach !== "object") return undefined;
  return principal === undefined ? reach.scope : scopeOf(principal, reach.scope);
}
