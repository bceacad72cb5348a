import { readFile } from "node:fs/promises";
import { readDatabase } from "../enrich/index.ts";
import type { Settings } from "./settings/index.ts";

/**
 * Judges the files that the enrichers would read, as they would read them.
 *
 * @returns what is wrong, one line each, beginning with the file's name.
 */
export async function checkFiles(settings: Settings): Promise<string[]> {
  const problems: string[] = [];
  const check = async (path: string, read: (bytes: Uint8Array) => unknown): Promise<void> => {
    try {
      read(await readFile(path));
    } catch (error) {
      problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE) {
    await check(settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH, readDatabase);
  }
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE) {
    await check(settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH, readDatabase);
  }
  return problems;
}
