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

export {
  AccessFileError,
  parseAccessFile,
  type AccessList,
  type AccessToken,
  type AccessUser,
} from "./access/access-file.ts";
export { createToken, isTokenName } from "./access/api-token.ts";
export { FailureLimit, sourceOf } from "./access/failure-limit.ts";
export { createIdentities, type Identities } from "./access/identities.ts";
export { hashPassword } from "./access/password-hash.ts";
export { areas, lacks, roles, suffices, type Area, type Principal, type Role } from "./access/role.ts";
export { editAccessFile, type AccessFields, type AccessSection } from "./access/access-edit.ts";
export type { OidcConfig } from "./access/oidc/sign-in.ts";
export { createSignIn, type SignIn } from "./access/oidc/sign-in.ts";
export { SignInError } from "./access/oidc/sign-in.ts";
