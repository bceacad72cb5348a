export { filterAnswers, type FilterCompletion } from "./methods/filter-endpoint.ts";
export {
  reportAnswers,
  type ReportOperations,
  type ReportPreview,
  type ReportRun,
  type ReportsAnswer,
} from "./methods/report-endpoints.ts";
export {
  annotationAnswers,
  annotationKinds,
  type Annotation,
  type AnnotationsAnswer,
  type FindAnnotations,
} from "./methods/annotation-endpoint.ts";
export {
  chartShapes,
  savedKinds,
  savedViewAnswers,
  type Board,
  type Mark,
  type Report,
  type SavedKind,
  type SavedView,
  type SavedViewOperations,
  type SavedViewsAnswer,
  type ViewChanges,
  type ViewsImported,
  type ViewUser,
} from "./methods/saved-view-endpoints.ts";
export type {
  RuleChange,
  RuleFileOffer,
  RuleFindings,
  RuleOperations,
  RulePut,
  RuleQuestion,
  RulesWritten,
  RuleText,
  RuleWriter,
} from "./methods/rule-methods.ts";
export { ApiServer, type ApiServerOptions } from "./api-server.ts";
export { NameService } from "./gen/names/v1/names_pb.ts";
export type { BasicCredentials } from "./auth/authenticator.ts";
export { isLoopback } from "./auth/admission.ts";
export { defaultApiLimits, type ApiLimits, FailureLimit, sourceOf } from "./http/limits.ts";
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
export type { ExploreProfile, ExploreRules } from "./methods/explore-shapes.ts";
export {
  SourceRefusal,
  type Operation,
  type SourceOperation,
  type SourceOperations,
} from "./methods/post-endpoints.ts";
export type { UdmSource } from "./udm/udm-service.ts";
export type { SnmpApplied, SnmpDeviceId, SnmpOperations, SnmpSearched } from "./methods/snmp-endpoints.ts";
export { badParameter, type StreamPage } from "./pages.ts";
export { alertEvent, type AlertStreamEvent } from "./methods/watch-answers.ts";
export { apiError } from "./api-error.ts";
export type { ExplainedObject, ExplainObject, ObjectQuestion } from "./tools/tools-context.ts";

export {
  AccessFileError,
  accessShape,
  createToken,
  editAccessFile,
  hashPassword,
  isTokenName,
  parseAccessFile,
  type AccessFields,
  type AccessList,
  type AccessSection,
  type AccessToken,
  type AccessUser,
} from "./access/access-file.ts";
export { Identities } from "./access/identities.ts";
export { areas, lacks, roles, suffices, type Area, type Principal, type Role } from "./access/role.ts";
export { Sessions } from "./access/sessions.ts";
export { SignIn, SignInError, type OidcConfig } from "./access/sign-in.ts";
export type {
  ChangeJson,
  EntryChangeJson,
  ExplainAddressResponseJson,
  ExplainedContextJson,
  ExplainedLoserJson,
  ExplainedOriginJson,
  FullUdmJson,
} from "./gen/udm/v1/tools_pb.ts";
export type {
  FoundKeyJson,
  ListRuleChangesResponseJson,
  ListRulesResponseJson,
  RuleWrittenJson,
  TestRuleResponseJson,
} from "./gen/rules/v1/rules_pb.ts";
