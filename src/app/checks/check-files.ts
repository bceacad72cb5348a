import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { formatShapeFinding } from "../../base/yaml/index.ts";
import { AccessFileError, parseAccessFile } from "../../server/index.ts";
import { compileTrapCondition } from "../filters.ts";
import { droppedFieldWarnings } from "../dropped-fields.ts";
import { enrichmentFiles, judgeFile } from "../enrichment/enrichment-files.ts";
import { checkKernel } from "../../flow/index.ts";
import { createKeyConflicts } from "../../enrich/index.ts";
import { formatFinding, readNetworks, readTrapRules } from "../../snmp/index.ts";
import { checkMetadataFile, readSourcesFile, SourcesFileError } from "../../metadata/index.ts";
import { shapingProblems } from "../shaping-problems.ts";
import { receivesFlows, type Settings } from "../settings/index.ts";

/**
 * Judges filters, lists of fields, the metadata file, the files that the enrichers would read, as they would read them, and whether flows can be decoded here.
 *
 * @returns what makes a file useless, and what of it is ignored: one line each, beginning with the file's name.
 */
export async function checkFiles(settings: Settings): Promise<{ problems: string[]; warnings: string[] }> {
  const problems = shapingProblems(settings);
  if (receivesFlows(settings)) problems.push(...kernelProblems());
  const warnings = droppedFieldWarnings(settings);
  if (settings.SVC_API_USERS_PATH !== "") problems.push(...(await usersProblems(settings.SVC_API_USERS_PATH)));
  for (const { path, read } of enrichmentFiles(settings)) {
    const judged = await judgeFile(path, read);
    problems.push(...judged.problems);
    warnings.push(...judged.warnings);
    if (judged.isMissing) warnings.push(`${path}: no such file: records go without it`);
  }
  const metadataPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH;
  const isFile = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file";
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE && isFile && metadataPath !== "") {
    const found = await checkMetadata(metadataPath);
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  const sourcesPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH;
  if (sourcesPath !== "") problems.push(...(await checkSources(sourcesPath)));
  for (const found of [await checkNetworks(settings), await checkTrapRules(settings)]) {
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  return { problems, warnings };
}

async function checkNetworks(settings: Settings): Promise<{ problems: string[]; warnings: string[] }> {
  const most = settings.SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES;
  return checkSnmpFile(settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH, (path, bytes) =>
    readNetworks(path, bytes, most),
  );
}

async function checkTrapRules(settings: Settings): Promise<{ problems: string[]; warnings: string[] }> {
  const read = (path: string, bytes: Uint8Array): ReturnType<typeof readTrapRules> =>
    readTrapRules(path, bytes, compileTrapCondition);
  return checkSnmpFile(settings.SVC_INPUT_TRAP_RULES_PATH, read);
}

/** @param path empty: there is no such file. */
async function checkSnmpFile(
  path: string,
  read: (path: string, bytes: Uint8Array) => ReturnType<typeof readNetworks | typeof readTrapRules>,
): Promise<{ problems: string[]; warnings: string[] }> {
  if (path === "") return { problems: [], warnings: [] };
  try {
    const { findings } = read(path, await readFile(path));
    const linesOf = (wanted: "error" | "warning"): string[] =>
      findings.filter(({ severity }) => severity === wanted).map(formatFinding);
    return { problems: linesOf("error"), warnings: linesOf("warning") };
  } catch (error) {
    return { problems: [`${path}: ${(error as Error).message}`], warnings: [] };
  }
}

async function checkSources(path: string): Promise<string[]> {
  try {
    readSourcesFile(await readFile(path, "utf8"));
    return [];
  } catch (error) {
    if (!(error instanceof SourcesFileError)) return [`${path}: ${(error as Error).message}`];
    return error.findings.map((finding) => `${path}:${formatShapeFinding(finding)}`);
  }
}

/** A missing file is an empty database, unless its folder is missing, too: it may be on a volume that is not mounted. */
async function checkMetadata(path: string): Promise<{ problems: string[]; warnings: string[] }> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") return { problems: [`${path}: ${message}`], warnings: [] };
    if (existsSync(dirname(resolve(path)))) return { problems: [], warnings: [] };
    return { problems: [`${path}: there is no directory ${dirname(path)}`], warnings: [] };
  }
  const { findings } = checkMetadataFile(bytes, createKeyConflicts());
  const linesOf = (wanted: "error" | "warning"): string[] =>
    findings
      .filter(({ severity }) => severity === wanted)
      .map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`);
  return { problems: linesOf("error"), warnings: linesOf("warning") };
}

async function usersProblems(path: string): Promise<readonly string[]> {
  try {
    parseAccessFile(path, await readFile(path, "utf8"));
    return [];
  } catch (error) {
    return error instanceof AccessFileError ? error.faults : [`${path}: ${(error as Error).message}`];
  }
}

function kernelProblems(): string[] {
  try {
    checkKernel();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
