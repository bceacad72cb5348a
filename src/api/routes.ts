import type { Metrics } from "../report/index.ts";
import type { Route } from "./dispatch.ts";
import { Health } from "./gen/grpc/health/v1/health_pb.ts";
import { UdmService } from "./gen/udm/v1/udm_pb.ts";
import type { BodyReader } from "./http/read-body.ts";
import type { UnknownFields } from "./json/read-message.ts";
import { openApiDocument } from "./openapi/openapi-document.ts";
import { createPages, type View, type ViewDescription } from "./pages.ts";
import type { RpcService } from "./rpc/method.ts";
import { healthMethods, type HealthServiceOptions } from "./services/health-methods.ts";
import { reflectionMethods, reflectionVersions } from "./services/reflection-methods.ts";
import { readSchemaFiles, type SchemaFiles } from "./services/schema-files.ts";
import { applyDefinitionsPath, createSnmpEndpoints, rediscoverDevicePath } from "./services/snmp-endpoints.ts";
import type { SnmpOperations } from "./services/snmp-operations.ts";

/** Where the contract has the service; tools that know only host and port find it at the root too. */
const contractPrefix = "/api/v1/enrich/ipaddr";
const prefixes = [contractPrefix, ""];

export interface RouteParts {
  /** The services of the schema; health and reflection are added. */
  readonly services: readonly RpcService[];
  readonly bodies: BodyReader;
  readonly health: Omit<HealthServiceOptions, "services">;
  readonly metrics: Metrics;
  readonly unknownFields: UnknownFields;
  readonly version: string;
  readonly views: ReadonlyMap<string, View>;
  readonly viewDescriptions: ReadonlyMap<string, ViewDescription>;
  readonly snmp?: SnmpOperations;
  readonly hasBasicAuth: boolean;
  readonly authMetrics: boolean;
}

/** What the port answers. */
export interface Routes {
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Below these paths an unknown path is an unknown method: `/udm.v1.UdmService/`. */
  readonly servicePaths: readonly string[];
  /** Labels of what needs no credentials. */
  readonly openLabels: ReadonlySet<string>;
}

export function createRoutes(parts: RouteParts): Routes {
  const { bodies, unknownFields } = parts;
  const routes = new Map<string, Route>();
  const servicePaths: string[] = [];

  const files = readSchemaFiles();
  for (const service of allServices(parts, files)) {
    const { typeName, name } = service.schema;
    servicePaths.push(...prefixes.map((prefix) => `${prefix}/${typeName}/`));
    for (const method of service.methods) {
      const label = typeName === UdmService.typeName ? method.schema.name : `${name}/${method.schema.name}`;
      const route: Route = { kind: "rpc", label, service, method };
      for (const prefix of prefixes) routes.set(`${prefix}/${typeName}/${method.schema.name}`, route);
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

  // With the comments of the schema; what is none of ours has none.
  const described = parts.services.map(({ schema }) => files.registry.getService(schema.typeName) ?? schema);
  const document = openApiDocument({
    ...parts,
    services: described,
    prefix: contractPrefix,
    views: [...parts.views.keys()],
  });
  const pages = createPages({ ...parts, health: parts.health.health, openApi: () => document });
  for (const [path, serve] of pages) routes.set(path, { kind: "page", label: path.slice(1), serve });

  const openLabels = new Set(["livez", "readyz", "Health/Check", ...(parts.authMetrics ? [] : ["metrics"])]);
  return { routes, servicePaths, openLabels };
}

function allServices({ services, health }: RouteParts, files: SchemaFiles): readonly RpcService[] {
  const names = services.map(({ schema }) => schema.typeName);
  const all = [...names, Health.typeName, ...reflectionVersions];
  return [...services, healthMethods({ ...health, services: new Set(all) }), ...reflectionMethods(files, all)];
}
