export {
  authenticationProtocols,
  privacyProtocols,
  type AuthenticationProtocol,
  type CommunityCredential,
  type Credential,
  type PrivacyProtocol,
  type UsmCredential,
} from "./session/credential.ts";
export { errorStatus, errorStatusNames, type ErrorStatusName } from "./session/error-status.ts";
export { compareOids, formatOid, isOid, oidStartsWith, parseOid, type Oid } from "./session/oid.ts";
export { peerName, type PeerCounts } from "./session/peer.ts";
export { createRepetitions, type Repetitions } from "./session/repetitions.ts";
export type { Session, SnmpResponse } from "./session/session.ts";
export { createSnmpClient, type SessionTarget, type SnmpClient, type SnmpClientOptions } from "./session/snmp-client.ts";
export { SnmpError, type SnmpErrorCode } from "./session/snmp-error.ts";
export type { OpenUdpSocket, UdpSocket, UdpSocketHandlers } from "./session/udp-socket.ts";
export type { EngineView } from "./session/usm/engine.ts";
export { isException, type ValueType, type VarBind } from "./session/var-bind.ts";
export type { WalkEnd } from "./session/walk-column.ts";
export { walk, type WalkOptions, type WalkSummary } from "./session/walk.ts";
