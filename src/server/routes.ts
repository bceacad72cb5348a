import type { Area } from "./access/role.ts";
import type { Clock, Metrics } from "../base/report/index.ts";
import type { Route } from "./dispatch.ts";
import { Health } from "./gen/grpc/health/v1/health_pb.ts";
import { UdmService } from "./gen/udm/v1/udm_pb.ts";
import { type Call, type RouteAccess, sendJson } from "./http/call.ts";
import type { BodyReader } from "./http/request-body.ts";
import type { UnknownFields } from "./json/read-message.ts";
import { eventsPath, serveEvents, type ChangeFeed } from "./tools/watch-udms.ts";
import type { JsonSchema } from "./methods/shape.ts";
import { openApiDocument } from "./openapi/openapi-document.ts";
import { serveStream, type StreamPage, createPages, idIn } from "./pages.ts";
import { methodAt, type ListView, type View } from "./methods/collector-methods.ts";
import type { RpcService } from "./rpc/method.ts";
import { webRoutes } from "./web-pages.ts";
import {
  createOperationEndpoint,
  type Operation,
  createSourceEndpoint,
  sourceOperations,
  sourcePath,
  type SourceOperations,
} from "./methods/operations.ts";
import { healthMethods, type HealthServiceOptions } from "./methods/health.ts";
import { reflectionMethods, reflectionVersions, readSchemaFiles, type SchemaFiles } from "./methods/reflection.ts";
import {
  loginPath,
  logoutPath,
  serveSession,
  sessionPath,
  signInWays,
  signInWaysPath,
  type SignInEndpoints,
} from "./methods/sign-in-endpoints.ts";
import { callbackPath } from "./auth/authenticator.ts";
import {
  applyDefinitionsPath,
  createSnmpEndpoints,
  discoverNetworksPath,
  rediscoverDevicePath,
  type SnmpOperations,
} from "./methods/snmp-endpoints.ts";
import {
  createExploreEndpoint,
  explorePath,
  serveExploreStatus,
  type ExploreOperations,
} from "./methods/explore-endpoints.ts";

interface DescribedMethod {
  readonly summary?: string;
}

/** A short index of what the port answers, out of the OpenAPI document: what programs get at `/`. */
function apiIndex(document: Readonly<Record<string, unknown>>): unknown {
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, DescribedMethod>>>>;
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

/** Where the contract has the service; tools that know only host and port find it at the root too. */
const contractPrefix = "/api/v1/enrich/ipaddr";
const prefixes = [contractPrefix, ""];

interface RouteParts {
  /** The services of the schema; health and reflection are added. */
  readonly services: readonly RpcService[];
  readonly bodies: BodyReader;
  readonly health: Omit<HealthServiceOptions, "services">;
  readonly metrics: Metrics;
  readonly clock: Pick<Clock, "monotonic">;
  /** How old the metrics that are shown may be, milliseconds. */
  readonly metricsAge: number;
  readonly unknownFields: UnknownFields;
  readonly version: string;
  readonly views: ReadonlyMap<string, View | ListView>;
  readonly streams: ReadonlyMap<string, StreamPage>;
  readonly snmp?: SnmpOperations;
  /** Changes of the metadata, which can be followed as server-sent events. */
  readonly feed?: ChangeFeed | undefined;
  readonly sources?: SourceOperations;
  /** Further operations, by path. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly explore?: ExploreOperations;
  /** Undefined: nobody can sign in at an issuer. */
  readonly signIn?: SignInEndpoints | undefined;
  /** What a proof may be besides a session: a password, a token. */
  readonly proofs: readonly ("password" | "token")[];
  readonly authMetrics: boolean;
  /** Where the built pages are. */
  readonly pagesFolder?: string | undefined;
}

/** What the port answers. */
interface Routes {
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>;
  /** What is at a path where nothing is; undefined: an error. */
  readonly unknown: (call: Call) => Route | undefined;
  /** Below these paths an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
}

export function createRoutes(parts: RouteParts): Routes {
  const { bodies, unknownFields } = parts;
  const routes = new Map<string, Route>();
  const servicePaths: string[] = [];

  // Made when somebody asks: reading the schema takes longer than all the rest of a start of the API.
  let read: SchemaFiles | undefined;
  const files = (): SchemaFiles => (read ??= readSchemaFiles());
  for (const service of allServices(parts, files)) {
    const { typeName, name } = service.schema;
    servicePaths.push(...prefixes.map((prefix) => `${prefix}/${typeName}/`));
    for (const method of service.methods) {
      const label = typeName === UdmService.typeName ? method.schema.name : `${name}/${method.schema.name}`;
      const isOpen = service.schema === Health && method.schema.name === "Check";
      const access: RouteAccess = { role: isOpen ? undefined : method.role, area: service.area };
      const route: Route = { kind: "rpc", label, access, service, method };
      for (const prefix of prefixes) routes.set(`${prefix}/${typeName}/${method.schema.name}`, route);
    }
  }

  const snmp = createSnmpEndpoints(parts.snmp, bodies, unknownFields);
  routes.set(applyDefinitionsPath, {
    kind: "operation",
    label: "snmp/apply-definitions",
    access: { role: "admin", area: "snmp" },
    takesBody: false,
    serve: (call) => snmp.applyDefinitions(call),
  });
  routes.set(rediscoverDevicePath, {
    kind: "operation",
    label: "snmp/rediscover-device",
    access: { role: "editor", area: "snmp" },
    takesBody: true,
    serve: (call) => snmp.rediscoverDevice(call),
  });

  routes.set(discoverNetworksPath, {
    kind: "operation",
    label: "snmp/discover-networks",
    access: { role: "admin", area: "snmp" },
    takesBody: false,
    serve: (call) => snmp.discoverNetworks(call),
  });

  const { feed } = parts;
  if (feed !== undefined) {
    const access: RouteAccess = { role: "viewer", area: "metadata" };
    routes.set(eventsPath, { kind: "page", label: "changes", access, serve: (call) => serveEvents(call, feed) });
  }

  for (const operation of sourceOperations) {
    const serveSource = createSourceEndpoint(operation, parts.sources, bodies);
    const label = `sources/${operation}`;
    const access: RouteAccess = { role: "editor", area: "metadata" };
    routes.set(sourcePath(operation), { kind: "operation", label, access, takesBody: true, serve: serveSource });
  }

  for (const [path, operation] of parts.operations) {
    const { role, area } = operation;
    const label = path.slice("/api/v1/".length).replace("/{id}", "");
    const serveOperation = createOperationEndpoint(operation, bodies, (given) => idIn(path, given));
    routes.set(path, { kind: "operation", label, access: { role, area }, takesBody: false, serve: serveOperation });
  }

  const { explore } = parts;
  const ofFlows: RouteAccess = { role: "viewer", area: "flow" };
  const serveStatus = (call: Call): Promise<void> => serveExploreStatus(call, explore);
  routes.set(explorePath("status"), { kind: "page", label: "explore/status", access: ofFlows, serve: serveStatus });
  for (const operation of ["query", "flows"] as const) {
    const serveQuestion = createExploreEndpoint(operation, explore, bodies);
    const label = `explore/${operation}`;
    routes.set(explorePath(operation), {
      kind: "operation",
      label,
      access: ofFlows,
      takesBody: true,
      serve: serveQuestion,
    });
  }

  if (parts.signIn !== undefined) addSignIn(routes, parts.signIn);

  const isGuarded = parts.proofs.length > 0 || parts.signIn !== undefined;
  let document: JsonSchema | undefined;
  const openApi = (): JsonSchema =>
    (document ??= openApiDocument({
      ...parts,
      // With the comments of the schema; what is none of ours has none.
      services: parts.services.map(({ schema }) => files().registry.getService(schema.typeName) ?? schema),
      isGuarded,
      sessionCookie: parts.signIn?.cookie,
      hasEvents: feed !== undefined,
      prefix: contractPrefix,
      views: [...parts.views.keys()],
    }));
  const pages = createPages({ ...parts, health: parts.health.health, openApi, isGuarded });
  const openPages = new Set(["/livez", "/readyz", signInWaysPath, ...(parts.authMetrics ? [] : ["/metrics"])]);
  const ways = signInWays(parts.proofs, parts.signIn !== undefined);
  pages.set(signInWaysPath, (call) => sendJson(call, 200, ways, { "cache-control": "no-store" }));
  pages.set(sessionPath, serveSession);
  for (const [path, stream] of parts.streams) pages.set(path, (call) => serveStream(call, stream));
  for (const [path, serve] of pages) {
    const isPersonal = path === "/readyz";
    const { role, area } = methodAt(path) ?? { role: "viewer", area: areaOfPage(path) };
    const access: RouteAccess = { role: openPages.has(path) ? undefined : role, area, isPersonal };
    routes.set(path, { kind: "page", label: path.slice(1), access, serve });
  }
  // Without data: whoever may not see any has to see how to sign in.
  const anybody: RouteAccess = { role: undefined, area: undefined };
  const web = webRoutes({ folder: parts.pagesFolder, index: () => apiIndex(openApi()) });
  const page = (serve: (call: Call) => Promise<void>): Route => ({
    kind: "page",
    label: "pages",
    access: anybody,
    serve,
  });
  for (const [path, serve] of web.routes) routes.set(path, page(serve));
  const unknown = (call: Call): Route | undefined => {
    const serve = web.noPage(call);
    return serve && page(serve);
  };
  return { routes, unknown, servicePaths };
}

/** Who signs in or out has nothing to prove. */
function addSignIn(routes: Map<string, Route>, { login, callback, logout }: SignInEndpoints): void {
  const access: RouteAccess = { role: undefined, area: undefined };
  routes.set(loginPath, { kind: "page", label: "login", access, serve: login });
  routes.set(callbackPath, { kind: "page", label: "login/callback", access, serve: callback });
  routes.set(logoutPath, { kind: "operation", label: "logout", access, takesBody: false, serve: logout });
}

function areaOfPage(path: string): Area | undefined {
  if (path === "/openapi.json" || path === sessionPath) return undefined;
  if (path.startsWith("/api/v1/flow/")) return "flow";
  if (path.startsWith("/api/v1/snmp/")) return "snmp";
  return path.startsWith("/api/v1/enrich/") ? "metadata" : "collector";
}

function allServices({ services, health }: RouteParts, files: () => SchemaFiles): readonly RpcService[] {
  const names = services.map(({ schema }) => schema.typeName);
  const all = [...names, Health.typeName, ...reflectionVersions];
  return [...services, healthMethods({ ...health, services: new Set(all) }), ...reflectionMethods(files, all)];
}
