import type { ApiServerOptions, ListView, View } from "../../server/index.ts";
import type { RecordTap } from "../../output/index.ts";
import type { Progress, Reporting } from "../../base/report/index.ts";
import type { Snmp } from "../../snmp/index.ts";
import type { Sources } from "../../metadata/index.ts";
import { candidatesDescription, candidatesView, discoveryDescription, discoveryView } from "../discovery-views.ts";
import { doctorDescription, exporterDoctorDescription } from "../doctor/doctor-description.ts";
import type { Doctor } from "../doctor/doctor.ts";
import { exportersDescription } from "../exporters-description.ts";
import { exportersView, type ExportersViewParts } from "../exporters-view.ts";
import { fieldsDescription, fieldsView } from "../fields-view.ts";
import { createFlowTail } from "../flow-tail.ts";
import { outputsDescription, outputsView } from "../outputs/outputs-view.ts";
import { createOverview, overviewDescription } from "../overview-view.ts";
import { progressDescription, progressEvents } from "../progress-views.ts";
import { settingsDescription } from "../settings-view.ts";
import type { Settings } from "../settings/index.ts";
import {
  definitionsDescription,
  deviceDescription,
  devicesDescription,
  devicesView,
  previewDefinitions,
  snmpReadings,
} from "../snmp-views.ts";
import { sourcesDescription, sourcesView } from "../sources-view.ts";

/** What the views show; what is undefined is not part of this collector. */
export interface CollectorViewsParts {
  readonly settings: Settings;
  readonly exporters: Omit<ExportersViewParts, "ip">;
  readonly doctor: Pick<Doctor, "diagnose">;
  readonly sources: Sources | undefined;
  readonly stores: Parameters<typeof outputsView>[0];
  readonly snmp: Snmp | undefined;
  readonly progress: Progress;
  readonly settingsView: View;
  readonly tap: RecordTap;
}

/** The state of the collector as documents and streams of the API, with their descriptions. */
export function collectorViews(
  { settings, exporters, doctor, sources, stores, snmp, progress, settingsView, tap }: CollectorViewsParts,
  { health, metrics, clock }: Reporting,
): Pick<ApiServerOptions, "views" | "streams" | "viewDescriptions"> {
  return {
    views: new Map<string, View | ListView>([
      ["/api/v1/flow/exporters", () => exportersView({ ...exporters, ip: settings.SVC_FLOW_SERVER_UDP_IP })],
      ["/api/v1/flow/exporters/{id}/diagnosis", (id) => doctor.diagnose(id)],
      ["/api/v1/flow/diagnosis", () => doctor.diagnose()],
      ["/api/v1/enrich/sources", () => sourcesView(sources)],
      ["/api/v1/outputs", () => outputsView(stores, health.checks(), metrics)],
      ["/api/v1/progress", () => ({ tasks: progress.tasks() })],
      ["/api/v1/settings", settingsView],
      ["/api/v1/snmp/definitions", () => previewDefinitions(snmp, progress)],
      ["/api/v1/overview", createOverview(metrics, clock)],
      ["/api/v1/fields", fieldsView],
      ["/api/v1/snmp/discovery", () => discoveryView(snmp)],
      ["/api/v1/snmp/candidates", () => candidatesView(snmp)],
      ["/api/v1/snmp/devices", devicesView(snmp)],
      ["/api/v1/snmp/devices/{id}", (id) => snmp?.device(id)],
    ]),
    viewDescriptions: new Map([
      ["/api/v1/flow/exporters", exportersDescription],
      ["/api/v1/flow/exporters/{id}/diagnosis", exporterDoctorDescription],
      ["/api/v1/flow/diagnosis", doctorDescription],
      ["/api/v1/enrich/sources", sourcesDescription],
      ["/api/v1/outputs", outputsDescription],
      ["/api/v1/progress", progressDescription],
      ["/api/v1/settings", settingsDescription],
      ["/api/v1/snmp/definitions", definitionsDescription],
      ["/api/v1/snmp/discovery", discoveryDescription],
      ["/api/v1/snmp/candidates", candidatesDescription],
      ["/api/v1/snmp/devices", devicesDescription],
      ["/api/v1/snmp/devices/{id}", deviceDescription],
      ["/api/v1/overview", overviewDescription],
      ["/api/v1/fields", fieldsDescription],
    ]),
    streams: new Map([
      ...(settings.SVC_INPUT_SNMP_PROMETHEUS_ENABLE && snmp !== undefined
        ? [["/metrics/snmp", snmpReadings(snmp)] as const]
        : []),
      ["/api/v1/flow/tail", createFlowTail(tap, { metrics, clock })],
      ["/api/v1/progress/events", progressEvents(progress)],
    ]),
  };
}
