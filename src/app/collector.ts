import { createSignIn } from "../access/index.ts";
import { createApiServer } from "../api/index.ts";
import type { ExporterView } from "../flow/index.ts";
import { createRecordTap, fanOut } from "../output/index.ts";
import { joinLineEnrichers, type Enricher, type Sink } from "../record/index.ts";
import { createHealth, createMetrics, createProgress, startComponents, stopComponents } from "../report/index.ts";
import type { Clock, Component, Health, Log, Metrics } from "../report/index.ts";
import { nodeFileIo } from "../file/index.ts";
import { UdmError } from "../udm/index.ts";
import { apiOptions } from "./parts/api-options.ts";
import { collectorViews } from "./parts/collector-views.ts";
import { createFlows, createFlowState, createSharedExporters, decodingThreads } from "./parts/flow-parts.ts";
import { createDeviceSharingPart, createFleetPart } from "./parts/fleet-parts.ts";
import { createMetadata, createSourcesPart } from "./parts/metadata-parts.ts";
import { createOutputs } from "./parts/output-parts.ts";
import { createExporterInterfacesPart, createSnmpPart } from "./parts/snmp-parts.ts";
import { oidcConfig } from "./access/oidc-config.ts";
import { createUsersFile } from "./access/users-file.ts";
import { createDoctor } from "./doctor/doctor.ts";
import { createObjectExplainer } from "./explain-objects.ts";
import { createEnrichmentFilesCheck, enrichmentFiles } from "./enrichment-files.ts";
import { createEnrichment } from "./enrichment.ts";
import { exploreOperations } from "./explore-operations.ts";
import { droppedFieldWarnings } from "./dropped-fields.ts";
import { flowCredentials } from "./flow-streams.ts";
import { checkShaping } from "./shaping-problems.ts";
import { packagePath } from "./package-root.ts";
import { exporterName } from "./exporter-name.ts";
import { watchedSnmp } from "./snmp-views.ts";
import { createClickHouseQuestions } from "./outputs/clickhouse-questions.ts";
import { outputResendOperation, outputTestOperation, outputsView } from "./outputs/outputs-view.ts";
import { createProcessMetrics } from "./process-metrics.ts";
import { reloadPlan } from "./reload-plan.ts";
import { sourceOperations } from "./sources-view.ts";
import { createSelect } from "./start-select-process.ts";
import { createStateDirectory } from "./state-directory.ts";
import { createSettingsView, type SettingsPlace } from "./settings-view.ts";
import { missingForMetadataApi, plainSettings, type Settings } from "./settings/index.ts";

export interface CollectorOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  /** Where the settings come from, for those who look at them. */
  readonly settingsPlace?: SettingsPlace;
  /** Further takers of records, in addition to the outputs of the settings. */
  readonly sinks?: readonly Sink[];
}

/** The whole collector: it joins the rooms by the settings and does nothing else. */
export interface Collector extends Component {
  /** What /metrics shows. */
  readonly metrics: Metrics;
  /** What /readyz shows. */
  readonly health: Health;
  /** The port of the API, once started. */
  apiPort(): number;
  /** The ports on which flows are received by UDP, once started. */
  flowPorts(): readonly number[];
  /** Those of TCP and TLS. */
  flowStreamPorts(): readonly number[];
  /** SIGHUP: reads the certificates and the SNMP definitions again, and the metadata file unless the collector owns it and could read it. */
  reload(): void;
  /** SIGUSR2: opens the output files again, because they may have been renamed. */
  reopen(): void;
}

/** Without enrichers records stay as they are. */
const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

/** Name of the readiness check of the collector as a whole. */
const checkName = "collector";

/** @throws SettingsError with what is wrong with filters, rollups and the key for anonymising. */
export function createCollector(options: CollectorOptions): Collector {
  const { settings, log, clock, version, sinks = [] } = options;
  checkShaping(settings);
  for (const warning of droppedFieldWarnings(settings)) log.warn({}, warning);
  const metrics = createMetrics();
  const health = createHealth();
  const reporting = { log, metrics, clock, health };
  const progress = createProgress(clock);

  const metadata = createMetadata(settings, reporting);
  const metadataSources = createSourcesPart(settings, metadata, process.env, createSelect(), reporting);
  const fleet = createFleetPart(settings, reporting);
  const { outputs, stores, explore } = createOutputs(settings, reporting);
  // Threads that decode have enrichers of their own.
  const decodesHere = decodingThreads(settings) === 0;
  const enrichment = createEnrichment(
    plainSettings(settings),
    metadata && { watch: metadata.watchAddresses },
    reporting,
    { forFlows: decodesHere },
  );
  const sink = createRecordTap(fanOut([...outputs, ...stores, ...sinks]));
  const exporters = async (): Promise<readonly ExporterView[]> => (await flows?.exporters()) ?? [];
  const sharing = createDeviceSharingPart(settings, fleet, reporting);
  const snmpSources = { enricher: enrichment.addresses ?? nothingKnown, sink, progress, exporters, sharing };
  const snmp = createSnmpPart(settings, snmpSources, reporting);
  const flowState = createFlowState(settings, reporting);
  const exporterInterfaces = createExporterInterfacesPart(settings, snmp, exporters, reporting);
  const shared = createSharedExporters(settings, fleet, reporting);
  const sources = { enrichment, metadata, snmp, exporterInterfaces, state: flowState, shared, sink, explore };
  const flows = createFlows(settings, sources, reporting);
  const listening = {
    enabled: flows !== undefined,
    ports: () => flows?.ports() ?? [],
    streamPorts: () => flows?.streamPorts() ?? [],
    exporters,
  };
  const doctor = createDoctor({
    ...listening,
    nameOf: (address) => exporterName(address, metadata),
    traffic: async () => (await flows?.traffic()) ?? [],
    counters: (address) => snmp?.counters(address),
    outputs: async () => (await outputsView(stores, health.checks(), metrics)).outputs,
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
  const missing = missingForMetadataApi(settings);
  const explainer = createObjectExplainer(
    plainSettings(settings),
    {
      metadata: metadata && { watch: metadata.watchAddresses },
      watchInterfaces: exporterInterfaces?.watch ?? (snmp && ((listener) => snmp.watchInterfaces(listener))),
    },
    reporting,
  );
  const writtenMetadata =
    metadata !== undefined && missing.length === 0
      ? metadata
      : { disabled: `the metadata API is not enabled: ${missing.join(", ")} must be set` };
  const users =
    settings.SVC_API_USERS_PATH === "" ? undefined : createUsersFile(settings.SVC_API_USERS_PATH, reporting);
  const oidc = oidcConfig(settings);
  const hasMetadata = (): boolean => health.checks().every(({ name, ready }) => name !== metadata?.name || ready);
  const settingsView = createSettingsView({ settings, place: options.settingsPlace, version, clock, hasMetadata });
  const api = createApiServer({
    ...apiOptions(settings),
    identities: users?.identities,
    signIn: oidc && createSignIn(oidc, clock),
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
    ]),
    ...(snmp !== undefined && { snmp: watchedSnmp(snmp, progress) }),
    ...(questions !== undefined && { explore: exploreOperations(questions, clock) }),
    ...(metadataSources !== undefined && { sources: sourceOperations(metadataSources) }),
    udm: writtenMetadata,
    tools: writtenMetadata,
    explainObject: () => explainer.ready(),
    select: createSelect(),
    pagesFolder: packagePath("dist/pages"),
  });

  // Each part runs before what feeds it starts, and outlives it.
  const components: Component[] = [createProcessMetrics(metrics, version, settings.SVC_INSTANCE_NAME)];
  const stateDirectory = settings.SVC_STATE_DIRECTORY_PATH;
  if (stateDirectory !== "") components.push(createStateDirectory(stateDirectory, { io: nodeFileIo, clock, log }));
  const enrichedBy = enrichmentFiles(settings);
  if (enrichedBy.length > 0) components.push(createEnrichmentFilesCheck(enrichedBy, reporting));
  if (fleet !== undefined) components.push(fleet);
  if (metadata !== undefined) components.push(metadata);
  if (metadataSources !== undefined) components.push(metadataSources);
  components.push(...enrichment.components, ...outputs);
  if (stores.length > 0) components.push(together("outputs to stores", stores));
  if (explore !== undefined) components.push(explore);
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
      // The store reports the result itself.
      metadata?.load().catch((error: unknown) => {
        if (!(error instanceof UdmError)) log.error({ error }, "reading the metadata again failed");
      });
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
      for (const output of outputs) output.reopen?.();
    },
  };
}

/** Parts that start and stop at the same time, because each may wait for something else. */
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
