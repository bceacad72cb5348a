import { isLoopback } from "../../api/index.ts";
import { checkFiles } from "../check-files.ts";
import type { Settings } from "../settings/index.ts";
import { checkDirectories } from "./check-directories.ts";
import { checkPorts } from "./check-ports.ts";
import { checkTls } from "./check-tls.ts";
import { joinFindings, type Findings } from "./findings.ts";

/**
 * Finds what a start with these settings would find, without one: files, certificates, directories, ports.
 *
 * @param isRunning whether a collector with these settings runs, which has its ports open.
 */
export async function checkStart(settings: Settings, isRunning: boolean, now: number): Promise<Findings> {
  return joinFindings([
    await checkFiles(settings),
    checkTls(settings, now),
    await checkDirectories(settings),
    checkAccess(settings),
    ...(isRunning ? [] : [await checkPorts(settings)]),
  ]);
}

/** A port that other hosts reach lets anybody there change everything, unless it asks who they are. */
function checkAccess(settings: Settings): Findings {
  const isGuarded =
    settings.SVC_API_BASIC_AUTH_ENABLE || settings.SVC_API_USERS_PATH !== "" || settings.SVC_API_OIDC_ENABLE;
  if (isGuarded || isLoopback(settings.SVC_API_IP)) return { problems: [], warnings: [] };
  const where = settings.SVC_API_IP === "" ? "all addresses" : settings.SVC_API_IP;
  const warning = `SVC_API_IP: the API on ${where} is reachable from other hosts without authentication: set SVC_API_BASIC_AUTH_ENABLE, SVC_API_USERS_PATH or SVC_API_OIDC_ENABLE`;
  return { problems: [], warnings: [warning] };
}
