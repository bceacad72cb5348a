import { viewsByPath, type ApiServerOptions, type CollectorViews } from "../../server/index.ts";
import type { RecordTap } from "../../output/index.ts";
import type { Progress, Reporting } from "../../base/report/index.ts";
import type { Snmp } from "../../snmp/index.ts";
import type { Sources } from "../../metadata/index.ts";
import { candidatesView, discoveryView, devicesView, previewDefinitions, snmpReadings } from "./snmp-views.ts";
import type { Doctor } from "../doctor/doctor.ts";
import { exportersView, type ExportersViewParts } from "./exporters-view.ts";
import { fieldsView } from "./fields-view.ts";
import { createFlowTail } from "./flow-tail.ts";
import { outputsView } from "./outputs-view.ts";
import { createOverview } from "./overview-view.ts";
import { progressEvents, tasksView } from "./progress-views.ts";
import type { Settings } from "../settings/index.ts";
import { sourcesView } from "./sources-view.ts";

/** What the views show; what is undefined is not part of this collector. */
export interface CollectorViewsParts {
  readonly settings: Settings;
  readonly exporters: Omit<ExportersViewParts, "ip">;
  readonly doctor: Pick<Doctor, "diagnose">;
  readonly sources: Sources | undefined;
  readonly stores: Parameters<typeof outputsView>[0];
  readonly snmp: Snmp | undefined;
  readonly progress: Progress;
  readonly settingsView: CollectorViews["getSettings"];
  readonly tap: RecordTap;
}

/** The state of the collector as documents and streams of the API, with their descriptions. */
export function collectorViews(
  { settings, exporters, doctor, sources, stores, snmp, progress, settingsView, tap }: CollectorViewsParts,
  { health, metrics, clock }: Reporting,
): Pick<ApiServerOptions, "views" | "streams"> {
  return {
    views: viewsByPath({
      listExporters: () => exportersView({ ...exporters, ip: settings.SVC_FLOW_SERVER_UDP_IP }),
      diagnoseExporter: (id) => doctor.diagnose(id),
      diagnose: () => doctor.diagnose(),
      listSources: () => sourcesView(sources),
      listOutputs: () => outputsView(stores, health.checks(), metrics),
      listTasks: () => tasksView(progress),
      getSettings: settingsView,
      previewDefinitions: () => previewDefinitions(snmp, progress),
      getOverview: createOverview(metrics, clock),
      listFields: fieldsView,
      getDiscovery: () => discoveryView(snmp),
      listCandidates: () => candidatesView(snmp),
      listDevices: devicesView(snmp),
      getDevice: (id) => snmp?.device(id),
    }),
    streams: new Map([
      ...(settings.SVC_INPUT_SNMP_PROMETHEUS_ENABLE && snmp !== undefined
        ? [["/metrics/snmp", snmpReadings(snmp)] as const]
        : []),
      ["/api/v1/flow/tail", createFlowTail(tap, { metrics, clock })],
      ["/api/v1/progress/events", progressEvents(progress)],
    ]),
  };
}
