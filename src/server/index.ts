export { ApiServer, type ApiServerOptions } from "./api-server.ts";
export type { BasicCredentials } from "./auth/authenticator.ts";
export { isLoopback } from "./auth/admission.ts";
export { defaultApiLimits, type ApiLimits } from "./http/limits.ts";
export { readTlsCredentials, type TlsFiles } from "./http/listener.ts";
export type { UnknownFields } from "./json/decode-request.ts";
export {
  collectorMethods,
  viewsByPath,
  type CollectorAnswer,
  type CollectorViews,
  type ListView,
  type View,
} from "./methods/collector-methods.ts";
export { diagnosisIds } from "./methods/answers.ts";
export { exploreAnswers, type ExploreFormat, type ExploreOperations } from "./methods/explore-endpoints.ts";
export { SourceRefusal, type SourceOperation, type SourceOperations } from "./methods/operations.ts";
export type { Operation } from "./methods/operations.ts";
export type { UdmSource } from "./udm/udm-service.ts";
export type { SnmpApplied, SnmpDeviceId, SnmpOperations, SnmpSearched } from "./methods/snmp-endpoints.ts";
export type { StreamPage } from "./pages.ts";
export { apiError } from "./api-error.ts";
export type { ExplainedObject, ExplainObject, ObjectQuestion } from "./tools/tools-context.ts";

export {
  AccessFileError,
  accessShape,
  parseAccessFile,
  type AccessList,
  type AccessToken,
  type AccessUser,
} from "./access/access-file.ts";
export { createToken, isTokenName } from "./access/access-file.ts";
export { FailureLimit, sourceOf } from "./http/limits.ts";
export { Identities } from "./access/identities.ts";
export { hashPassword } from "./access/access-file.ts";
export { areas, lacks, roles, suffices, type Area, type Principal, type Role } from "./access/role.ts";
export { editAccessFile, type AccessFields, type AccessSection } from "./access/access-file.ts";
export type { OidcConfig } from "./access/sign-in.ts";
export { SignIn } from "./access/sign-in.ts";
export { SignInError } from "./access/sign-in.ts";
export type {
  ChangeJson,
  EntryChangeJson,
  ExplainAddressResponseJson,
  ExplainedContextJson,
  ExplainedLoserJson,
  ExplainedOriginJson,
  FullUdmJson,
} from "./gen/udm/v1/tools_pb.ts";
