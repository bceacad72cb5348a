import { formatOid, oidStartsWith, type Oid } from "../oid.ts";
import { SnmpError, type SnmpErrorCode } from "../snmp-error.ts";
import type { VarBind } from "../var-bind.ts";

/** What an agent may report in place of an answer, by counter: RFC 3414 section 5 and RFC 3412 section 5. */
const usmStats: Oid = [1, 3, 6, 1, 6, 3, 15, 1, 1];
const usmStatsNames = [
  "unsupportedSecLevels",
  "notInTimeWindows",
  "unknownUserNames",
  "unknownEngineIds",
  "wrongDigests",
  "decryptionErrors",
] as const;
const mpdStats: Oid = [1, 3, 6, 1, 6, 3, 11, 2, 1];
const mpdStatsNames = ["unknownSecurityModels", "invalidMsgs", "unknownPduHandlers"] as const;

export type ReportName = (typeof usmStatsNames)[number] | (typeof mpdStatsNames)[number] | "other";

export interface Report {
  readonly name: ReportName;
  readonly oid: Oid | undefined;
  /** Whether it comes from another engine than was asked. */
  readonly isOfOtherEngine: boolean;
}

/** What a Report PDU reports, by its first varbind. */
export function readReport(varbinds: readonly VarBind[], isOfOtherEngine: boolean): Report {
  const oid = varbinds[0]?.oid;
  let name: ReportName | undefined;
  if (oid !== undefined && oidStartsWith(oid, usmStats)) name = usmStatsNames[(oid[usmStats.length] ?? 0) - 1];
  if (oid !== undefined && oidStartsWith(oid, mpdStats)) name = mpdStatsNames[(oid[mpdStats.length] ?? 0) - 1];
  return { name: name ?? "other", oid, isOfOtherEngine };
}

const errors: Partial<Record<ReportName, readonly [SnmpErrorCode, string]>> = {
  unsupportedSecLevels: ["auth", "the agent does not allow this user this security level"],
  unknownUserNames: ["auth", "the agent does not know the user"],
  wrongDigests: ["auth", "the agent does not accept the authentication passphrase or protocol"],
  decryptionErrors: ["auth", "the agent does not accept the privacy passphrase or protocol"],
  notInTimeWindows: ["not_in_time_window", "the agent finds our notion of its time wrong again and again"],
  unknownEngineIds: ["report", "the agent does not know the engine id that it gave"],
};

/** The error of a request that was answered by a Report. */
export function reportError(report: Report): SnmpError {
  const [code, message] = errors[report.name] ?? ["report", "the agent reported a problem"];
  const oid = report.oid === undefined ? "without an object" : formatOid(report.oid);
  return new SnmpError(code, `${message} (Report ${report.name}, ${oid})`);
}
