import type { Metrics } from "../report/index.ts";
import type { Route } from "./dispatch.ts";
import { UdmService } from "./gen/udm/v1/udm_pb.ts";
import type { BodyReader } from "./http/read-body.ts";
import type { UnknownFields } from "./json/read-message.ts";
import { openApiDocument } from "./openapi/openapi-document.ts";
import { createPages, type View, type ViewDescription } from "./pages.ts";
import { serveLongBatch } from "./rpc/batch-front.ts";
import { createRouter } from "./rpc/connect-router.ts";
import type { HealthServiceOptions } from "./rpc/health-service.ts";
import { createProtoMethods } from "./proto/proto-methods.ts";
import type { GrpcMethod } from "./rpc/grpc-front.ts";
import { createJsonFront } from "./rpc/json-front.ts";
import { readSchemaFiles } from "./rpc/schema-files.ts";
import type { UdmService as Service } from "./rpc/udm-service.ts";
import { applyDefinitionsPath, createSnmpEndpoints, rediscoverDevicePath } from "./snmp-endpoints.ts";
import type { SnmpOperations } from "./snmp-operations.ts";

/** Where the contract has the service; tools that know only host and port find it at the root too. */
const contractPrefix = "/api/v1/enrich/ipaddr";
const prefixes = [contractPrefix, ""];

/** Below these an unknown path is an unknown method. */
export const servicePaths = prefixes.map((prefix) => `${prefix}/${UdmService.typeName}/`);

export interface RouteParts {
  readonly service: Service;
  readonly bodies: BodyReader;
  readonly health: Omit<HealthServiceOptions, "services">;
  readonly metrics: Metrics;
  readonly maxBodyBytes: number;
  /** As in {@link ApiLimits}. */
  readonly maxMessageBytes: number;
  readonly unknownFields: UnknownFields;
  readonly version: string;
  readonly views: ReadonlyMap<string, View>;
  readonly viewDescriptions: ReadonlyMap<string, ViewDescription>;
  readonly snmp?: SnmpOperations;
  readonly hasBasicAuth: boolean;
  readonly authMetrics: boolean;
  readonly onFailure: (error: unknown) => void;
  readonly isComplete: boolean;
}

/** Everything that the port answers, by path, and the labels of what needs no credentials. */
export function createRoutes(parts: RouteParts): {
  routes: ReadonlyMap<string, Route>;
  openLabels: ReadonlySet<string>;
  /** The methods that have a short way by gRPC, by path. */
  grpcMethods: ReadonlyMap<string, GrpcMethod>;
} {
  const { bodies, unknownFields } = parts;
  const routes = new Map<string, Route>();
  const grpcMethods = new Map<string, GrpcMethod>();

  const files = readSchemaFiles();
  const jsonHandlers = createJsonFront(parts);
  const protoMethods = createProtoMethods(parts.service);
  for (const handler of createRouter({ ...parts, files })) {
    const isUdm = handler.service.typeName === UdmService.typeName;
    const label = isUdm ? handler.method.name : `${handler.service.name}/${handler.method.name}`;
    const json = isUdm ? jsonHandlers.get(handler.method.name) : undefined;
    const run = isUdm ? protoMethods.get(handler.method.name) : undefined;
    const isBatch = run !== undefined && label.startsWith("Batch") && !parts.isComplete;
    const route: Route = {
      kind: "rpc",
      label,
      handler,
      ...(json === undefined ? {} : { json }),
      ...(isBatch && { batch: (call) => serveLongBatch(run, call, { ...parts, handler }) }),
    };
    for (const prefix of prefixes) {
      routes.set(`${prefix}${handler.requestPath}`, route);
      if (run !== undefined) grpcMethods.set(`${prefix}${handler.requestPath}`, { label, handler, run });
    }
  }

  const snmp = createSnmpEndpoints(parts.snmp, bodies, unknownFields);
  routes.set(applyDefinitionsPath, {
    kind: "operation",
    label: "snmp/apply-definitions",
    takesBody: false,
    serve: (call) => snmp.applyDefinitions(call),
  });
  routes.set(rediscoverDevicePath, {
    kind: "operation",
    label: "snmp/rediscover-device",
    takesBody: true,
    serve: (call) => snmp.rediscoverDevice(call),
  });

  const described = files.registry.getService(UdmService.typeName);
  if (described === undefined) throw new Error("the embedded schema has no UdmService");
  const document = openApiDocument({
    ...parts,
    service: described,
    prefix: contractPrefix,
    views: [...parts.views.keys()],
  });
  const pages = createPages({ ...parts, health: parts.health.health, openApi: () => document });
  for (const [path, serve] of pages) routes.set(path, { kind: "page", label: path.slice(1), serve });

  const openLabels = new Set(["livez", "readyz", "Health/Check", ...(parts.authMetrics ? [] : ["metrics"])]);
  return { routes, openLabels, grpcMethods };
}
