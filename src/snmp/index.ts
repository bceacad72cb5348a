export { decodeMessage, encodeCommunityMessage } from "./session/message-codec.ts";
export { readPduRest, type Pdu } from "./session/message-codec.ts";
export {
  authenticationProtocols,
  privacyProtocols,
  type AuthenticationProtocol,
  type PrivacyProtocol,
} from "./settings.ts";
export type { CommunityCredential, Credential, UsmCredential } from "./session/security.ts";
export { errorStatus, errorStatusNames, type ErrorStatusName } from "./session/snmp-error.ts";
export { compareOids, formatOid, isOid, oidStartsWith, parseOid, type Oid } from "./session/ber.ts";
export { peerName, type PeerCounts } from "./session/peer.ts";
export { Repetitions } from "./session/session.ts";
export type { Session, SnmpResponse } from "./session/session.ts";
export { SnmpClient, type SessionTarget } from "./session/snmp-client.ts";
export { SnmpError, type SnmpErrorCode } from "./session/snmp-error.ts";
export type { OpenUdpSocket, UdpSocket, UdpSocketHandlers } from "./session/sockets.ts";
export type { EngineView } from "./session/security.ts";
export { isException, type ValueType, type VarBind } from "./session/ber.ts";
export type { WalkEnd } from "./session/walk.ts";
export { walk, type WalkOptions, type WalkSummary } from "./session/walk.ts";
export { changeEffect, type ChangeClass, type ChangeEffect } from "./definitions/diff-definitions.ts";
export { compileDefinitionFile } from "./definitions/compiled-definitions.ts";
export { definitionPathsIn, listDefinitionFiles, type DefinitionPaths } from "./definitions/definition-files.ts";
export {
  autoGroup,
  genericGroup,
  kinds as definitionKinds,
  type Attribute,
  type AttributeReference,
  type Definitions,
  type Device,
  type IndexPart,
  type Kind as DefinitionKind,
  type ObjectDefinition,
  type SnmpVersion,
  type V3Credential,
} from "./definitions/definitions.ts";
export { deviceCredentials } from "./definitions/definitions.ts";
export {
  diffDefinitions,
  type DefinitionsDiff,
  type GroupsOf,
  type IdChanges,
} from "./definitions/diff-definitions.ts";
export type { DeviceChange } from "./definitions/diff-definitions.ts";
export { formatFinding, type Finding, type Severity } from "./definitions/definitions.ts";
export {
  DefinitionsLoader,
  type LoaderOptions,
  type LoadMode,
  type LoadOutcome,
} from "./definitions/load-definitions.ts";
export { deviceGroupsOf, groupsOfSysObjectId, pollIntervalMs, reachedObjects } from "./definitions/definitions.ts";
export { completeRow } from "./values/complete-row.ts";
export { convertValue } from "./values/convert-value.ts";
export { decodeIndex, indexTypes, isImplicit, type IndexType } from "./values/convert-value.ts";
export { putRow, type Cell } from "./values/put-row.ts";
export { fieldNames, putValue, type EnumTables, type FieldDefinition, type NameTables } from "./values/put-value.ts";
export { formatDisplayString } from "./values/convert-value.ts";
export type { SnmpValue } from "./values/convert-value.ts";
export { syntaxes, type Syntax, type SyntaxKind } from "./values/syntaxes-and-units.ts";
export type {
  DiscoveryReport,
  DiscoveryRequest,
  DiscoverySettings,
  DiscoveryStart,
  DiscoveryView,
} from "./operations/network-discovery.ts";
export { definitionFormat, readLabels } from "./definitions/definition-formats.ts";
export { networksShape, readNetworks, type NetworksFile } from "./sweep/networks.ts";
export { NetworkDiscovery } from "./operations/network-discovery.ts";
export type { CandidateView } from "./operations/candidates.ts";
export { BackgroundTurns, waitFor } from "./operations/discoveries.ts";
export { Snmp } from "./operations/snmp.ts";
export type {
  ApplyFinding,
  ApplyOutcome,
  DefinitionsPreview,
  DeviceCounters,
  RediscoveryOutcome,
  SnmpOptions,
} from "./operations/snmp-options.ts";
export { confidences, evidenceKinds } from "./topology/link-drafts.ts";
export { isLocatable, type LinkView, type Located } from "./topology/topology.ts";
export { readTrapRules, trapRulesShape, type CompileCondition } from "./traps/trap-rules.ts";
export { ifType, InterfaceStates, type InterfaceFacts, type InterfaceView } from "./poller/interface-states.ts";
export type { DeviceDetail, DeviceView } from "./operations/device-table.ts";
export { InterfaceDirectory, InterfaceEnricher, type InterfaceChange } from "./operations/interface-directory.ts";
export type { RefusedTraps } from "./traps/sender-limit.ts";
export type { TrapSettings } from "./traps/trap-listener.ts";
export type { DeviceSharing, DeviceTaker, GivenDevice, RemoteDiscovery } from "./operations/snmp-options.ts";
