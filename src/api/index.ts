export { createApiServer, type ApiServer, type ApiServerOptions } from "./api-server.ts";
export type { BasicCredentials } from "./guard/basic-auth.ts";
export { isLoopback } from "./guard/site-guard.ts";
export { defaultApiLimits, type ApiLimits } from "./http/limits.ts";
export { readTlsCredentials, type TlsFiles } from "./http/tls-credentials.ts";
export type { UnknownFields } from "./json/read-message.ts";
export type { ListView, View, ViewDescription } from "./pages.ts";
export type { ExploreFormat, ExploreOperations } from "./services/explore-endpoints.ts";
export { SourceRefusal, type SourceOperation, type SourceOperations } from "./services/source-endpoints.ts";
export type { Operation } from "./services/operation-endpoint.ts";
export type { UdmSource } from "./udm/udm-service.ts";
export type {
  SnmpApplied,
  SnmpDeviceId,
  SnmpFinding,
  SnmpOperations,
  SnmpRediscovery,
  SnmpSearch,
  SnmpSearched,
} from "./services/snmp-operations.ts";
export type { StreamPage } from "./stream-page.ts";
export { apiError } from "./error/api-error.ts";
export type { ExplainedObject, ExplainObject, ObjectQuestion } from "./tools/common/tools-context.ts";
