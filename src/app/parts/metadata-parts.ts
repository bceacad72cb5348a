import { renamedMetrics, type Reporting } from "../../base/report/index.ts";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  type Select,
  LastCopies,
  Scopes,
  Sources,
  UdmFileStore,
  UdmPostgresqlStore,
  type CollectorUdmStore,
  type UdmFileStoreOptions,
} from "../../metadata/index.ts";
import { isSet } from "../../base/settings/index.ts";
import { nodeFileIo, runAfter } from "../../base/file/index.ts";
import { agentFor } from "../../output/index.ts";
import { createCollidingKeysLog } from "../enrichment/enrichment-files.ts";
import { metadataDatabaseOptions } from "./databases.ts";
import type { Settings } from "../settings/index.ts";
import { missingForMetadataApi } from "../../metadata/settings.ts";
import { startUdmFileThread } from "../threads/start-udm-file-thread.ts";

/**
 * Creates the store of metadata: owned if the API may change it, else read-only; undefined when there is to be none.
 *
 * @throws SettingsError for a database whose settings cannot be used.
 */
export function createMetadata(settings: Settings, reporting: Reporting): CollectorUdmStore | undefined {
  if (!settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE) return undefined;
  const { owned } = fileStoreOptions(settings);
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql") {
    const hasScopes = settings.SVC_PROCESSOR_ENRICH_SCOPES_PATH === "";
    return new UdmPostgresqlStore({ ...reporting, ...metadataDatabaseOptions(settings), owned, hasScopes });
  }
  const path = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH;
  if (path === "") return undefined;
  return new UdmFileStore({
    ...reporting,
    ...fileStoreOptions(settings),
    path,
    startThread: startUdmFileThread,
    maxEntries: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES,
    fileRead: createCollidingKeysLog(path, reporting.log),
  });
}

/** Creates the store of names, owned if the API may change it; undefined when there is to be none. */
export function createNames(settings: Settings, reporting: Reporting): CollectorUdmStore | undefined {
  const path = settings.SVC_PROCESSOR_ENRICH_NAMES_PATH;
  const metrics = renamedMetrics(
    reporting.metrics,
    (name) => name.replace("netgloss_udm_", "netgloss_names_"),
    (help) => `Of names: ${help}`,
  );
  const common = {
    ...reporting,
    metrics,
    keys: "names" as const,
    owned: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE,
    startThread: startUdmFileThread,
    maxEntries: mostNames,
  };
  if (settings.SVC_PROCESSOR_ENRICH_NAMES_STORE === "postgresql") {
    const { limitName: _, ...options } = metadataDatabaseOptions(settings);
    return new UdmPostgresqlStore({ ...options, ...common, exportPath: "", space: "names:" });
  }
  if (path === "") return undefined;
  const { limitName: _, ...options } = fileStoreOptions(settings);
  return new UdmFileStore({ ...options, ...common, path });
}

const mostNames = 500_000;

/** Returns the store of names, or why the API has none. */
export function writtenNames(
  settings: Settings,
  names: CollectorUdmStore | undefined,
): CollectorUdmStore | { readonly disabled: string } {
  const needed = [
    ...(names === undefined ? (["SVC_PROCESSOR_ENRICH_NAMES_PATH"] as const) : []),
    "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE" as const,
  ];
  const missing = needed.filter((name) => !isSet(settings[name]));
  if (names !== undefined && missing.length === 0) return names;
  return { disabled: `the API of names is not enabled: ${missing.join(", ")} must be set` };
}

/** Returns the options that the file of all entries and those of scopes share. */
function fileStoreOptions(
  settings: Settings,
): Pick<UdmFileStoreOptions, "owned" | "refreshMs" | "stateDirectory" | "historyBytes" | "limitName"> {
  return {
    owned: missingForMetadataApi(settings).length === 0,
    refreshMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE * 60_000,
    stateDirectory: settings.SVC_STATE_DIRECTORY_PATH,
    historyBytes: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE,
    limitName: "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES",
  };
}

/** Creates scopes of metadata: those of a file, or of the metadata's database; undefined when none are set up. */
export function createScopesPart(
  settings: Settings,
  metadata: CollectorUdmStore | undefined,
  reporting: Reporting,
): Scopes | UdmPostgresqlStore["databaseScopes"] {
  const path = settings.SVC_PROCESSOR_ENRICH_SCOPES_PATH;
  if (metadata instanceof UdmPostgresqlStore && path === "") return metadata.databaseScopes;
  if (path === "" || metadata === undefined) return undefined;
  return new Scopes({ ...reporting, path, metadata, entries: fileStoreOptions(settings) });
}

/** Creates sources of metadata in addition to hand-written entries; undefined when none are set up. */
export function createSourcesPart(
  settings: Settings,
  metadata: CollectorUdmStore | undefined,
  scopes: ReturnType<typeof createScopesPart>,
  env: Readonly<Record<string, string | undefined>>,
  select: Select,
  reporting: Reporting,
): Sources | undefined {
  const path = settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH;
  if (path === "" || metadata === undefined) return undefined;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  if (state === "") {
    reporting.log.info({}, "last good copies of sources are not kept: SVC_STATE_DIRECTORY_PATH is empty");
  }
  const copies =
    state === "" ? undefined : new LastCopies(join(state, "sources"), nodeFileIo, randomBytes(6).toString("hex"));
  return new Sources({
    ...reporting,
    path,
    io: nodeFileIo,
    layers: metadata.layers,
    scopes,
    copies,
    agentFor,
    select,
    env,
    after: runAfter,
    random: Math.random,
  });
}
