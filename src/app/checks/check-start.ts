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
    ...(isRunning ? [] : [await checkPorts(settings)]),
  ]);
}
