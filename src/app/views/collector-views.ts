import { setTimeout as pause } from "node:timers/promises";
import { networkInterfaces } from "node:os";
import {
  apiError,
  type StreamPage,
  type CollectorAnswer,
  SourceRefusal,
  type SourceOperations,
  viewsByPath,
  type ApiServerOptions,
  type CollectorViews,
} from "../../server/index.ts";
import { shortNames, fieldPatterns, recordFields } from "../../record/index.ts";
import type { RecordTap } from "../../output/index.ts";
import type { Progress, Reporting } from "../../base/report/index.ts";
import { SourceFault, type SourceDiff, type Sources, udmJson, type CollectorUdmStore } from "../../metadata/index.ts";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { ExporterView } from "../../flow/index.ts";
import type { Snmp } from "../../snmp/index.ts";
import {
  candidatesView,
  discoveryView,
  devicesView,
  previewDefinitions,
  locate,
  neighborsView,
  snmpReadings,
  topologyView,
} from "./snmp-views.ts";
import type { Doctor } from "../doctor/doctor.ts";
import { AlertStream } from "./alert-stream.ts";
import { flowTail } from "./flow-tail.ts";
import { outputsView } from "./outputs-view.ts";
import { createOverview } from "./overview-view.ts";
import type { Settings } from "../settings/index.ts";
import type { WatchOutput } from "../threads/watch-output.ts";
import { rulesView } from "./rule-trials.ts";
import { alertsView, answersView, silencesView, watchView } from "./watch-views.ts";

/** Matches the sources of values that no exporter or device has sent. */
const addedBy =
  /^(?:metadata|MaxMind|derived|interface file|application files|locality|DSCP names|port names|sampling|DNS|rollup|flow\.\w+)\b/;

const isAdded = (source: string): boolean => source.split(/[;,]/).every((part) => addedBy.test(part.trim()));

/** Answers `GET /api/v1/fields`: the names in records, and further names in filters. */
export function fieldsView(): CollectorAnswer<"listFields"> {
  return {
    fields: recordFields.map(({ name, type, isArray, unit, description, source }) => ({
      name,
      type,
      isArray,
      unit: unit === "" ? undefined : unit,
      description,
      source,
      isAdded: isAdded(source),
    })),
    patterns: fieldPatterns.map(({ pattern, description, source }) => ({
      pattern,
      description,
      source,
      isAdded: isAdded(source),
    })),
    shortNames: shortNames.map(({ name, fields, description }) => ({ name, fields, description })),
  };
}

const maxFollowers = 64;
/** The interval between messages with changes, and the longest time between any two messages, milliseconds. */
const sendMs = 250;
const aliveMs = 5_000;

/** Answers `GET /api/v1/progress`. */
function tasksView(progress: Progress): CollectorAnswer<"listTasks"> {
  return { tasks: progress.tasks() };
}

/** Serves `GET /api/v1/progress/events`: the tasks whenever they have changed, one JSON object a line. */
function progressEvents(progress: Progress): StreamPage {
  let followers = 0;
  return {
    summary: "What is under way, whenever that has changed: one JSON object a line",
    parameters: {},
    open(_query, signal) {
      if (followers >= maxFollowers) {
        const message = `no more than ${maxFollowers} clients may follow the progress`;
        throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
      }
      return lines(progress, signal, (by) => void (followers += by));
    },
  };
}

async function* lines(
  progress: Progress,
  signal: AbortSignal,
  count: (by: number) => void,
): AsyncGenerator<Uint8Array> {
  count(1);
  let last = "";
  let silentFor = 0;
  try {
    while (!signal.aborted) {
      const now = JSON.stringify({ tasks: progress.tasks() });
      silentFor += sendMs;
      if (now !== last || silentFor >= aliveMs) {
        // An empty line detects a client that has gone.
        yield Buffer.from(now === last ? "\n" : `${now}\n`);
        last = now;
        silentFor = 0;
      }
      await pause(sendMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    count(-1);
  }
}

/** Answers `GET /api/v1/enrich/sources`. */
function sourcesView(sources: Sources | undefined): CollectorAnswer<"listSources"> {
  return { enabled: sources !== undefined, sources: sources?.states() ?? [] };
}

/** Returns the operations of the API on sources. */
export function sourceOperations(sources: Sources): SourceOperations {
  const refused = (error: unknown): never => {
    if (error instanceof SourceFault) throw new SourceRefusal("unavailable", error.message);
    throw error;
  };
  return (operation, name) => {
    if (operation === "run") return sources.run(name);
    if (operation === "diff") return sources.diff(name)?.then(diffView).catch(refused);
    return sources.accept(name)?.then((state) => {
      if (state === "nothing") throw new SourceRefusal("not_found", `nothing of the source ${name} is held`);
      return state;
    });
  };
}

function diffView({ added, changed, removed, ...diff }: SourceDiff): unknown {
  const plain = (entries: SourceDiff["added"]): unknown[] =>
    entries.map((entry) => ({
      ...(entry.scope !== undefined && { scope: entry.scope }),
      ...(JSON.parse(udmJson(entry)) as object),
    }));
  return { ...diff, added: plain(added), changed: plain(changed), removed: plain(removed) };
}

/** Returns the name of an exporter by metadata: that of the most specific entry that has one and applies to exporters. */
export function exporterName(text: string, metadata: CollectorUdmStore | undefined): string | undefined {
  const address = parseAddress(text);
  if (metadata === undefined || address === undefined) return undefined;
  const named = metadata.layers
    .covering(unmapAddress(address))
    .find(({ entry }) => entry.name !== "" && (entry.fileOnly?.contexts?.includes("exporter") ?? true));
  return named?.entry.name;
}

interface ExportersViewParts {
  readonly enabled: boolean;
  readonly exporters: () => Promise<readonly ExporterView[]>;
  readonly metadata: CollectorUdmStore | undefined;
  /** The address on which flows are received; empty, `0.0.0.0` and `::` are all of the host. */
  readonly ip: string;
  readonly ports: () => readonly number[];
  readonly streamPorts: () => readonly number[];
}

/** Returns exporters as people see them: with their names in the metadata, without data that only the doctor needs. */
export async function exportersView(parts: ExportersViewParts): Promise<CollectorAnswer<"listExporters">> {
  const shown: CollectorAnswer<"listExporters">["exporters"][number][] = [];
  for (const { sketch: _sketch, ...exporter } of await parts.exporters()) {
    const name = exporterName(exporter.address, parts.metadata);
    shown.push(name === undefined ? exporter : { ...exporter, name });
  }
  const listening = { addresses: ownAddresses(parts.ip), udp: parts.ports(), tcp: parts.streamPorts() };
  return { enabled: parts.enabled, listening, exporters: shown };
}

/** Returns addresses by which others reach this host; if it has none, its only one. */
function ownAddresses(ip: string): readonly string[] {
  if (!["", "0.0.0.0", "::"].includes(ip)) return [ip];
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const fitting = ip === "0.0.0.0" ? outer.filter(({ family }) => family === "IPv4") : outer;
  return fitting.length > 0 ? fitting.map(({ address }) => address) : ["127.0.0.1"];
}

/** The parts that the views show; a part that is undefined is not in this collector. */
interface CollectorViewsParts {
  readonly settings: Settings;
  readonly exporters: Omit<ExportersViewParts, "ip">;
  readonly doctor: Pick<Doctor, "diagnose">;
  readonly sources: Sources | undefined;
  readonly stores: Parameters<typeof outputsView>[0];
  readonly snmp: Snmp | undefined;
  readonly watch: WatchOutput | undefined;
  readonly progress: Progress;
  readonly settingsView: CollectorViews["getSettings"];
  readonly tap: RecordTap;
}

/** Returns the state of the collector as documents and streams of the API, with their descriptions. */
export function collectorViews(
  { settings, exporters, doctor, sources, stores, snmp, watch, progress, settingsView, tap }: CollectorViewsParts,
  { health, metrics, clock }: Reporting,
): Pick<ApiServerOptions, "views" | "streams"> {
  return {
    views: viewsByPath({
      listExporters: () => exportersView({ ...exporters, ip: settings.SVC_FLOW_SERVER_UDP_IP }),
      diagnoseExporter: (id) => doctor.diagnose(id),
      diagnose: () => doctor.diagnose(),
      listSources: () => sourcesView(sources),
      listRules: () => rulesView(settings.SVC_PROCESSOR_ENRICH_RULES_PATH),
      listOutputs: () => outputsView(stores, health.checks(), metrics),
      listTasks: () => tasksView(progress),
      getSettings: settingsView,
      previewDefinitions: () => previewDefinitions(snmp, progress),
      getOverview: createOverview(metrics, clock),
      listFields: fieldsView,
      getDiscovery: () => discoveryView(snmp),
      listCandidates: () => candidatesView(snmp),
      getTopology: () => topologyView(snmp),
      getNeighbors: (id) => neighborsView(snmp, id),
      locate: (address) => locate(snmp, address),
      listAlerts: (_, query) => alertsView(watch, query),
      getAlert: (id) => watch?.alert(id),
      listSilences: () => silencesView(watch),
      getWatch: () => watchView(watch),
      listAnswers: () => answersView(watch, settings),
      listDevices: devicesView(snmp),
      getDevice: (id) => snmp?.device(id),
    }),
    streams: new Map([
      ...(settings.SVC_INPUT_SNMP_PROMETHEUS_ENABLE && snmp !== undefined
        ? [["/metrics/snmp", snmpReadings(snmp)] as const]
        : []),
      ["/api/v1/flow/tail", flowTail(tap, { metrics, clock })],
      ["/api/v1/progress/events", progressEvents(progress)],
      ["/api/v1/watch/alerts/stream", new AlertStream(watch, metrics).page()],
    ]),
  };
}
