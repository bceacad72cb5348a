import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { apiError, type ExploreFormat, type ExploreOperations, ApiServer, SignIn } from "../server/index.ts";
import {
  Profiles,
  answerTable,
  ExploreError,
  flowsTable,
  inScopes,
  limitedStatus,
  readFlowsQuery,
  readQuery,
  tableArrow,
  tableCsv,
  type AnswerTable,
} from "../explore/index.ts";
import {
  type Clock,
  limitLog,
  type Component,
  type Log,
  createHealth,
  createMetrics,
  Progress,
  startComponents,
  stopComponents,
  type Health,
  type Metrics,
} from "../base/report/index.ts";
import type { ExploreQuestions } from "./threads/explore-output.ts";
import { LockedError, makeFolder, takeFileLock, type FileIo, type FileLock, nodeFileIo } from "../base/file/index.ts";
import { Selections, type Select, type SelectionLimits, UdmError } from "../metadata/index.ts";
import type { ExporterView } from "../flow/index.ts";
import { fanOut, RecordTap } from "../output/index.ts";
import { joinLineEnrichers, type Enricher, type Sink } from "../record/index.ts";
import { apiOptions } from "./parts/access.ts";
import { collectorViews } from "./views/collector-views.ts";
import { createFlows, createFlowState, createSharedExporters, decodingThreads } from "./parts/flow-parts.ts";
import { createDeviceSharingPart, createFleetPart } from "./parts/fleet-parts.ts";
import {
  createMetadata,
  createNames,
  createScopesPart,
  createSourcesPart,
  writtenNames,
} from "./parts/metadata-parts.ts";
import { createOutputs } from "./parts/output-parts.ts";
import { createExporterInterfacesPart, createSnmpPart } from "./parts/snmp-parts.ts";
import { createLeftOverRoutes, createWatch, createWatchFleet } from "./parts/watch-parts.ts";
import { oidcConfig, UsersFile } from "./parts/access.ts";
import { Doctor } from "./doctor/doctor.ts";
import { ObjectExplainer } from "./enrichment/explain-objects.ts";
import { createEnrichmentFilesCheck, enrichmentFiles } from "./enrichment/enrichment-files.ts";
import { createEnrichment } from "./enrichment/enrichment.ts";
import { droppedFieldWarnings } from "./shaping.ts";
import { flowCredentials } from "./parts/flow-streams.ts";
import { checkShaping } from "./shaping.ts";
import { packagePath } from "./package-root.ts";
import { exporterName } from "./views/collector-views.ts";
import { createSaved } from "./parts/saved-parts.ts";
import { FilterCompletions, metadataStates } from "./views/filter-completion.ts";
import { watchedSnmp } from "./views/snmp-views.ts";
import { createRuleFiles } from "./parts/rule-parts.ts";
import { RuleTrials } from "./views/rule-trials.ts";
import { watchOperations } from "./views/watch-views.ts";
import { createClickHouseQuestions } from "./outputs/clickhouse-questions.ts";
import { outputResendOperation, outputTestOperation, outputsView } from "./views/outputs-view.ts";
import { createProcessMetrics } from "./service/process-metrics.ts";
import { reloadPlan } from "./service/reload-plan.ts";
import { sourceOperations } from "./views/collector-views.ts";
import { createSettingsView, type SettingsPlace } from "./views/settings-view.ts";
import { plainSettings, type Settings } from "./settings/index.ts";
import { missingForMetadataApi } from "../metadata/settings.ts";

/** Returns the API's operations on Explore. */
function exploreOperations(explore: ExploreQuestions, trials: RuleTrials, clock: Clock): ExploreOperations {
  const files: Readonly<
    Record<Exclude<ExploreFormat, "json">, (table: AnswerTable) => Uint8Array | Promise<Uint8Array>>
  > = {
    csv: (table) => Buffer.from(tableCsv(table)),
    parquet: (table) => explore.parquet(table),
    arrow: tableArrow,
  };
  const profiles = new Profiles(explore, () => clock.now());
  return {
    status: (signal, scopes) =>
      explained(async () => {
        const status = await explore.status(signal);
        if (scopes === undefined) return { droppedRows: 0, ...status };
        if (status.store === "duckdb") return limitedStatus(status);
        throw apiError("not_found", "EXPLORE_DISABLED", "Explore is off for those who are limited to scopes");
      }),
    query: (body, format, signal, scopes) =>
      explained(async () => {
        const query = readQuery(body, clock.now(), format === "json" ? "auto" : "none");
        const answer = await explore.query(scopes === undefined ? query : inScopes(query, scopes), signal);
        return format === "json" ? answer : files[format](answerTable(answer));
      }),
    flows: (body, format, signal, scopes) =>
      explained(async () => {
        const query = readFlowsQuery(body, clock.now());
        const answer = await explore.flows(scopes === undefined ? query : inScopes(query, scopes), signal);
        return format === "json" ? answer : files[format](flowsTable(answer, query.fields));
      }),
    profile: (body, signal, scopes) => explained(() => profiles.answer(body, signal, scopes)),
    rules: (body, signal) => explained(() => trials.answer(body, signal)),
  };
}

/** Runs an operation of Explore. @throws ConnectError in place of an ExploreError. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExploreError)) throw error;
    const { code, message, field } = error;
    const violations = field === undefined ? [] : [{ field, description: message }];
    // A client that canceled does not read the answer.
    const shown = code === "canceled" ? "unavailable" : code;
    throw apiError(shown, "EXPLORE_REFUSED", message, { violations });
  }
}

/** The name of the lock file in the directory, without `.lock`; it shows people who holds the lock. */
const lockName = "collector";

/**
 * Creates the directory for data that outlive a restart, and locks it: two collectors would take each other's files
 * for their own. Users of the directory start after this component and end before it.
 *
 * `start` throws LockedError naming the holder. A directory that cannot be created, or not locked for another reason, is a warning:
 * the parts that write to it report the consequences.
 */
export function createStateDirectory(
  path: string,
  { io, clock, log: plainLog }: { readonly io: FileIo; readonly clock: Clock; readonly log: Log },
): Component {
  const log = limitLog(plainLog, clock);
  let lock: FileLock | undefined;
  return {
    name: "state directory",
    async start() {
      try {
        await makeFolder(path);
        const target = join(await realpath(path), lockName);
        lock = await takeFileLock(io, target, { subject: `the state directory ${path}`, clock, log });
      } catch (error) {
        if (error instanceof LockedError) throw error;
        log.warn({ error, path }, "cannot lock the state directory");
      }
    },
    async stop() {
      await lock?.release();
      lock = undefined;
    },
  };
}

/** Returns an evaluator of expressions, one at a time: callers that share it wait for each other. */
export function createSelect(limits: Partial<SelectionLimits> = {}): Select {
  const selections = new Selections(startSelectProcess, limits);
  return (text, expression, signal) => selections.select(text, expression, signal);
}

/** Starts a process for an expression of a user. It gets nothing of the collector's environment, which may hold secrets. */
export function startSelectProcess(memoryMb: number): ChildProcess {
  const entry = fileURLToPath(new URL("select-process.js", import.meta.url));
  return fork(entry, [String(memoryMb)], { env: {}, execArgv: [], stdio: ["pipe", "pipe", "ignore", "ipc"] });
}

export interface CollectorOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  /** The origin of the settings, to be shown. */
  readonly settingsPlace?: SettingsPlace;
  /** Further sinks of records, in addition to the outputs of the settings. */
  readonly sinks?: readonly Sink[];
}

/** The whole collector: it joins the rooms by the settings and does nothing else. */
export interface Collector extends Component {
  /** The metrics that /metrics shows. */
  readonly metrics: Metrics;
  /** The readiness that /readyz shows. */
  readonly health: Health;
  /** Returns the port of the API, once started. */
  apiPort(): number;
  /** Returns the UDP ports for flows, once started. */
  flowPorts(): readonly number[];
  /** Returns the ports of TCP and TLS. */
  flowStreamPorts(): readonly number[];
  /** Handles SIGHUP: rereads the certificates and the SNMP definitions. It also rereads the metadata file, unless the collector owns it and has read it. */
  reload(): void;
  /** Handles SIGUSR2: opens the output files again, because they may have been renamed. */
  reopen(): void;
}

/** Used without enrichers: records stay unchanged. */
const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

/** Name of the readiness check of the collector as a whole. */
const checkName = "collector";

/** Creates a collector. @throws SettingsError with the faults of filters, rollups and the key for anonymising. */
export function createCollector(options: CollectorOptions): Collector {
  const { settings, log, clock, version, sinks = [] } = options;
  checkShaping(settings);
  for (const warning of droppedFieldWarnings(settings)) log.warn({}, warning);
  const metrics = createMetrics();
  const health = createHealth();
  const reporting = { log, metrics, clock, health };
  const progress = new Progress(clock);

  const metadata = createMetadata(settings, reporting);
  const names = createNames(settings, reporting);
  const scopes = createScopesPart(settings, metadata, reporting);
  const metadataSources = createSourcesPart(settings, metadata, scopes, process.env, createSelect(), reporting);
  const fleet = createFleetPart(settings, reporting);
  const { stores, explore, ...outputs } = createOutputs(settings, reporting);
  // Threads that decode have enrichers of their own.
  const decodesHere = decodingThreads(settings) === 0;
  const enrichment = createEnrichment(
    plainSettings(settings),
    metadata && { watch: metadata.watchAddresses },
    reporting,
    { forFlows: decodesHere, names: names && { watch: names.watchAddresses } },
  );
  const sink = new RecordTap(fanOut([...outputs.sinks, ...sinks]));
  const exporters = async (): Promise<readonly ExporterView[]> => (await flows?.exporters()) ?? [];
  const sharing = createDeviceSharingPart(settings, fleet, reporting);
  const states = {
    exporters,
    nameOf: (address: string) => exporterName(address, metadata),
    outputs: async () => (await outputsView(stores, health.checks(), metrics)).outputs,
  };
  const leftOver = createLeftOverRoutes(settings, reporting);
  const watch = createWatch(
    settings,
    states,
    sink,
    outputs.metrics,
    fleet !== undefined && settings.SVC_FLEET_WATCH_ENABLE,
    reporting,
  );
  const watchFleet = createWatchFleet(settings, fleet, watch, reporting);
  const toDevices = watch?.alsoTo(sink) ?? sink;
  const snmpSources = { enricher: enrichment.addresses ?? nothingKnown, sink: toDevices, progress, exporters, sharing };
  const snmp = createSnmpPart(settings, snmpSources, reporting);
  const takers = [explore?.taker, watch?.taker].filter((taker) => taker !== undefined);
  const flowState = createFlowState(settings, reporting);
  const exporterInterfaces = createExporterInterfacesPart(settings, snmp, exporters, reporting);
  const shared = createSharedExporters(settings, fleet, reporting);
  const sources = { enrichment, metadata, names, snmp, exporterInterfaces, state: flowState, shared, sink, takers };
  const flows = createFlows(settings, sources, reporting);
  const listening = {
    enabled: flows !== undefined,
    ports: () => flows?.ports() ?? [],
    streamPorts: () => flows?.streamPorts() ?? [],
    exporters,
  };
  const doctor = new Doctor({
    ...listening,
    nameOf: states.nameOf,
    traffic: async () => (await flows?.traffic()) ?? [],
    counters: (address) => snmp?.counters(address),
    outputs: states.outputs,
    refusedTraps: () => snmp?.refusedTraps(),
    leftFleet() {
      const reason = fleet?.membership.problem();
      return fleet && reason !== undefined
        ? { fleet: fleet.fleet, member: fleet.membership.member, reason }
        : undefined;
    },
    metrics,
    clock,
  });
  const asksClickHouse = settings.SVC_EXPLORE_ENABLE && settings.SVC_EXPLORE_STORE === "clickhouse";
  const questions = asksClickHouse ? createClickHouseQuestions(settings, clock) : explore;
  const trials = questions && new RuleTrials(questions, settings.SVC_PROCESSOR_ENRICH_RULES_PATH, clock);
  const rulesAround = {
    explore: questions,
    trials,
    async applyEnrichment() {
      await Promise.all([enrichment.reload(), flows?.reload?.()]);
    },
    applyWatch: async () => watch?.reload(),
  };
  const missing = missingForMetadataApi(settings);
  const completions = new FilterCompletions(
    {
      states: (limit) => (limit === undefined ? metadataStates(metadata) : (scopes?.states(limit) ?? [])),
      exporters: async () =>
        (await exporters()).map(({ address }) => ({ address, name: exporterName(address, metadata) })),
      explore: questions,
    },
    reporting,
  );
  const explainer = new ObjectExplainer(
    plainSettings(settings),
    metadata && { watch: metadata.watchAddresses },
    names && { watch: names.watchAddresses },
    exporterInterfaces?.watch ?? (snmp && ((listener) => snmp.watchInterfaces(listener))),
    reporting,
  );
  const stateDirectory = settings.SVC_STATE_DIRECTORY_PATH;
  const saved = createSaved(settings, { metadata, watch, explore: questions, fleet, version }, reporting);
  const writtenMetadata =
    metadata !== undefined && missing.length === 0
      ? metadata
      : { disabled: `the metadata API is not enabled: ${missing.join(", ")} must be set` };
  const users = settings.SVC_API_USERS_PATH === "" ? undefined : new UsersFile(settings.SVC_API_USERS_PATH, reporting);
  const oidc = oidcConfig(settings);
  const hasMetadata = (): boolean => health.checks().every(({ name, ready }) => name !== metadata?.name || ready);
  const settingsView = createSettingsView({ settings, place: options.settingsPlace, version, clock, hasMetadata });
  const api = new ApiServer({
    ...apiOptions(settings),
    identities: users?.identities,
    signIn: oidc && new SignIn(oidc, clock),
    ...reporting,
    version,
    ...collectorViews(
      {
        settings,
        exporters: { ...listening, metadata },
        doctor,
        sources: metadataSources,
        stores,
        snmp,
        watch,
        progress,
        settingsView,
        tap: sink,
      },
      reporting,
    ),
    progress,
    operations: new Map([
      ["/api/v1/outputs/{id}/test", outputTestOperation(settings, clock)],
      ["/api/v1/outputs/{id}/resend", outputResendOperation(stores)],
      ...watchOperations(watch),
    ]),
    ...(snmp !== undefined && { snmp: watchedSnmp(snmp, progress) }),
    ...(questions !== undefined && trials !== undefined && { explore: exploreOperations(questions, trials, clock) }),
    rules: createRuleFiles(settings, rulesAround, reporting),
    ...(metadataSources !== undefined && { sources: sourceOperations(metadataSources) }),
    completeFilter: (...asked) => completions.complete(...asked),
    savedViews: saved.views,
    annotations: saved.annotations.find,
    reports: saved.reports,
    udm: writtenMetadata,
    tools: writtenMetadata,
    names: writtenNames(settings, names),
    scopes: scopes && ((name) => ("disabled" in writtenMetadata ? writtenMetadata : scopes.store(name))),
    definitions:
      "disabled" in writtenMetadata
        ? writtenMetadata
        : (scopes ?? { disabled: "there are no scopes: SVC_PROCESSOR_ENRICH_SCOPES_PATH must be set" }),
    explainObject: () => explainer.ready(),
    select: createSelect(),
    pagesFolder: packagePath("dist/pages"),
  });

  // Each part starts before its sources, and ends after them.
  const components: Component[] = [createProcessMetrics(metrics, version, settings.SVC_INSTANCE_NAME)];
  if (stateDirectory !== "") components.push(createStateDirectory(stateDirectory, { io: nodeFileIo, clock, log }));
  const enrichedBy = enrichmentFiles(settings);
  if (enrichedBy.length > 0) components.push(createEnrichmentFilesCheck(enrichedBy, reporting));
  if (fleet !== undefined) components.push(fleet);
  components.push(...saved.components);
  if (metadata !== undefined) components.push(metadata);
  if (scopes !== undefined) components.push(scopes);
  if (names !== undefined) components.push(names);
  if (metadataSources !== undefined) components.push(metadataSources);
  components.push(...enrichment.components, ...outputs.local);
  if (stores.length > 0) components.push(together("outputs to stores", outputs.toStores));
  if (explore !== undefined) components.push(explore);
  if (leftOver !== undefined) components.push(leftOver);
  if (watch !== undefined) components.push(watch);
  if (watchFleet !== undefined) components.push(watchFleet);
  components.push(saved.reports);
  if (snmp !== undefined) components.push(snmp);
  if (flowState !== undefined) components.push(flowState);
  if (shared !== undefined) components.push(shared);
  if (exporterInterfaces !== undefined) components.push(exporterInterfaces);
  components.push(doctor);
  if (flows !== undefined) components.push(flows);
  if (users !== undefined) components.push(users);
  components.push(explainer, api);

  return {
    name: "collector",
    metrics,
    health,
    async start() {
      health.set({ name: checkName, ready: false, detail: "starting" });
      if (missing.length > 0) log.info({ missing }, "the metadata API is off: settings are missing");
      await startComponents(components, log);
      health.set({ name: checkName, ready: true });
    },
    async stop() {
      health.set({ name: checkName, ready: false, detail: "stopping" });
      await stopComponents(components, log);
    },
    apiPort: () => api.address().port,
    flowPorts: listening.ports,
    flowStreamPorts: listening.streamPorts,
    reload() {
      const { readsAgain, leavesAlone } = reloadPlan(settings, hasMetadata());
      log.info({ readsAgain, leavesAlone }, "SIGHUP");
      if (settings.SVC_API_TLS_ENABLE) api.reloadCertificates();
      try {
        const credentials = flowCredentials(settings);
        if (credentials !== undefined) flows?.setCredentials(credentials);
      } catch (error) {
        log.error({ error }, "reading the certificates of the flow port again failed, the old ones stay in use");
      }
      void users?.reload(true);
      void watch?.reload();
      // The store reports the result itself.
      for (const store of [metadata, names]) {
        store?.load().catch((error: unknown) => {
          if (!(error instanceof UdmError)) log.error({ error }, "reading the metadata again failed");
        });
      }
      void scopes?.reload();
      void metadataSources?.reload();
      // So do the enrichers.
      void enrichment.reload();
      void flows?.reload?.();
      // So does SNMP.
      snmp?.applyDefinitions(false).catch((error: unknown) => {
        log.error({ error }, "applying the SNMP definitions again failed");
      });
    },
    reopen() {
      outputs.reopen();
    },
  };
}

/** Combines parts that start and stop at the same time, because each may have to wait. */
function together(name: string, parts: readonly Component[]): Component {
  return {
    name,
    async start() {
      await Promise.all(parts.map((part) => part.start()));
    },
    async stop() {
      await Promise.all(parts.map((part) => part.stop()));
    },
  };
}
