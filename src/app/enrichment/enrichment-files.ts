import { readFile, stat } from "node:fs/promises";
import {
  createKeyConflicts,
  FileFindings,
  formatFinding,
  judgeDatabase,
  readAppEnds,
  readAppIds,
  readHostNames,
  readNetifs,
  readPortNames,
  readRules,
  readSampleRates,
  readSelection,
} from "../../enrich/index.ts";
import type { Log, Component, Health } from "../../base/report/index.ts";
import { checkMetadataFile, readScopesFile, ScopesFileError } from "../../metadata/index.ts";
import { isMissing, runAfter } from "../../base/file/index.ts";
import { SettingsError, type Settings } from "../settings/index.ts";

/** The most bytes of a file that the main thread examines; `netgloss udm check` checks larger ones. */
const maxBytes = 2 * 1024 * 1024;
const maxLogged = 8;

/** Returns a function that logs keys of a metadata file that collide with fields of records. */
export function createCollidingKeysLog(path: string, log: Log): (bytes: Uint8Array) => void {
  const conflictOf = createKeyConflicts();
  return (bytes) => {
    if (bytes.length > maxBytes) return;
    const conflicts = new Set<string>();
    const { findings } = checkMetadataFile(bytes, (key) => {
      const conflict = conflictOf(key);
      if (conflict !== undefined) conflicts.add(conflict);
      return conflict;
    });
    const found = findings.filter(({ message }) => conflicts.has(message));
    for (const { line, column, message } of found.slice(0, maxLogged)) {
      log.warn({ place: `${path}:${line}:${column}` }, message);
    }
    if (found.length > maxLogged) {
      log.warn({ path, more: found.length - maxLogged }, "more metadata keys collide: see `netgloss udm check`");
    }
  };
}

/** A file that adds to records, and its reader. */
interface EnrichmentFile {
  readonly path: string;
  /** Reads the file. @returns findings or a remark that do not make it useless. Throws if it cannot be used. */
  readonly read: (bytes: Uint8Array) => unknown;
}

/** Returns the files that the settings name for enabled enrichment. Records are not enriched by a missing file. */
export function enrichmentFiles(settings: Settings): EnrichmentFile[] {
  const places = settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE;
  const hasFile = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file";
  const globalFile = hasFile ? settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH : undefined;
  const files: readonly (readonly [isOn: boolean, path: string, read: EnrichmentFile["read"]])[] = [
    [
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE,
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH,
      (bytes) => judgeDatabase(bytes, "asn"),
    ],
    [places, settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH, (bytes) => judgeDatabase(bytes, "geoip")],
    [places, settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH, readSelection],
    [
      settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE,
      settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_PATH,
      readSelection,
    ],
    [true, settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH, readHostNames],
    [
      true,
      settings.SVC_PROCESSOR_ENRICH_SCOPES_PATH,
      (bytes) => readScopesFile(settings.SVC_PROCESSOR_ENRICH_SCOPES_PATH, bytes, globalFile),
    ],
    [
      settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE,
      settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH,
      readNetifs,
    ],
    [true, settings.SVC_PROCESSOR_ENRICH_RULES_PATH, readRules],
    [settings.SVC_PROCESSOR_ENRICH_APP_ID_ENABLE, settings.SVC_PROCESSOR_ENRICH_APP_ID_PATH, readAppIds],
    [settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE, settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH, readAppEnds],
    [
      settings.SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE,
      settings.SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH,
      readPortNames,
    ],
    [
      settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE,
      settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH,
      readSampleRates,
    ],
  ];
  return files.filter(([isOn, path]) => isOn && path !== "").map(([, path, read]) => ({ path, read }));
}

/** The faults and warnings of a file: one line each, starting with its name. */
interface FileJudgement {
  readonly isMissing: boolean;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export async function judgeFile(path: string, read: EnrichmentFile["read"]): Promise<FileJudgement> {
  const lines = (findings: FileFindings["findings"], severity: string): string[] =>
    findings.filter((one) => one.severity === severity).map((one) => `${path}:${formatFinding(one)}`);
  try {
    const result = read(await readFile(path)) as { warnings?: FileFindings["findings"]; remark?: string };
    const remarks = result.remark === undefined ? [] : [`${path}: ${result.remark}`];
    return { isMissing: false, problems: [], warnings: [...lines(result.warnings ?? [], "warning"), ...remarks] };
  } catch (error) {
    if (error instanceof FileFindings || error instanceof ScopesFileError) {
      const { findings } = error;
      return { isMissing: false, problems: lines(findings, "error"), warnings: lines(findings, "warning") };
    }
    if (isMissing(error)) return { isMissing: true, problems: [], warnings: [] };
    const message = error instanceof Error ? error.message : String(error);
    return { isMissing: false, problems: [`${path}: ${message}`], warnings: [] };
  }
}

const checkName = "enrichment files";
const pollMs = 60_000;

/**
 * Checks whether the files exist. A missing one degrades readiness and is logged, because records are not enriched by it. An unusable
 * file makes `start` fail with a SettingsError; if a file breaks later, its earlier content stays in use.
 */
export function createEnrichmentFilesCheck(
  files: readonly EnrichmentFile[],
  { health, log }: { readonly health: Health; readonly log: Log },
): Component {
  let missing: readonly string[] = [];
  const wereThere = new Set<string>();
  let cancel = (): void => {};

  const look = async (): Promise<void> => {
    const there = await Promise.all(
      files.map(({ path }) =>
        stat(path)
          .then(() => true)
          .catch(() => false),
      ),
    );
    const now = files.map(({ path }) => path).filter((_, i) => there[i] === false);
    const added = now.filter((path) => !missing.includes(path));
    const gone = added.filter((path) => wereThere.has(path));
    const never = added.filter((path) => !wereThere.has(path));
    if (never.length > 0) log.warn({ paths: never }, "files are missing: records go without what they add");
    if (gone.length > 0) log.warn({ paths: gone }, "files are gone: what was read before stays in use");
    missing = now;
    for (const { path } of files) if (!now.includes(path)) wereThere.add(path);
    const detail = now.length > 0 ? `not there: ${now.join(", ")}` : undefined;
    health.set({ name: checkName, ready: true, degraded: now.length > 0, ...(detail !== undefined && { detail }) });
  };
  const schedule = (): void => {
    cancel = runAfter(() => void look().then(schedule), pollMs);
  };

  return {
    name: checkName,
    async start() {
      const judged = await Promise.all(files.map(({ path, read }) => judgeFile(path, read)));
      const problems = judged.flatMap((one) => one.problems);
      if (problems.length > 0) throw new SettingsError(problems);
      await look();
      schedule();
    },
    async stop() {
      cancel();
    },
  };
}
