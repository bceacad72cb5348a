import { access, constants, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { discoveredDirectory, missingForMetadataApi, type Settings } from "../settings/index.ts";
import { messageOf, type Findings } from "./findings.ts";

/** Judges whether what the collector writes can be written: directories that are missing are made by a start, if they can be. */
export async function checkDirectories(settings: Settings): Promise<Findings> {
  const problems: string[] = [];
  const warnings: string[] = [];
  const check = async (found: string[], name: keyof Settings, path: string, isFile: boolean): Promise<void> => {
    const fault = await faultOf(resolve(path), isFile);
    if (fault !== undefined) found.push(`${name}: ${path}: ${fault}`);
  };
  if (settings.SVC_OUTPUT_FILE_ENABLE) {
    await check(problems, "SVC_OUTPUT_FILE_PATH", settings.SVC_OUTPUT_FILE_PATH, true);
  }
  if (settings.SVC_STATE_DIRECTORY_PATH !== "") {
    await check(problems, "SVC_STATE_DIRECTORY_PATH", settings.SVC_STATE_DIRECTORY_PATH, false);
  }
  if (settings.SVC_EXPLORE_ENABLE && settings.SVC_EXPLORE_STORE === "duckdb")
    await check(problems, "SVC_EXPLORE_PATH", settings.SVC_EXPLORE_PATH, false);
  const plans = settings.SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH;
  if (settings.SVC_INPUT_SNMP_ENABLE && settings.SVC_INPUT_SNMP_PERSIST_ENABLE && plans !== "") {
    await check(problems, "SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH", plans, false);
  }
  if (settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH !== "" && discoveredDirectory(settings) !== "") {
    const name = "SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH";
    await check(problems, name, discoveredDirectory(settings), false);
  }
  // Metadata can be read from there nevertheless.
  if (missingForMetadataApi(settings).length === 0 && settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file") {
    const name = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH";
    const fault = await faultOf(dirname(resolve(settings[name])), false);
    if (fault !== undefined)
      warnings.push(`${name}: changes by the API cannot be written to ${settings[name]}: ${fault}`);
  }
  // The collector runs without its log in a file.
  if (settings.SVC_LOGGER_FILE_LOG_ENABLE) {
    await check(warnings, "SVC_LOGGER_FILE_LOG_FILENAME", settings.SVC_LOGGER_FILE_LOG_FILENAME, true);
  }
  return { problems, warnings };
}

/** Why a path cannot be written; undefined when it can be. */
async function faultOf(path: string, isFile: boolean): Promise<string | undefined> {
  try {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (found === undefined) return await faultOfParent(dirname(path));
    if (isFile && found.isDirectory()) return "is a directory";
    if (!isFile && !found.isDirectory()) return "is not a directory";
    await access(path, isFile ? constants.W_OK : constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The nearest directory that is there must let others be made in it. */
async function faultOfParent(path: string): Promise<string | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return dirname(path) === path ? "is not there" : faultOfParent(dirname(path));
  if (!found.isDirectory()) return `${path} is not a directory`;
  await access(path, constants.W_OK | constants.X_OK);
  return undefined;
}
