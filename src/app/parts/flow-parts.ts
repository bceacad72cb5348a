import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { type StateFiles, FlowListener, SharedStore, StateStore } from "../../flow/index.ts";
import { makeFolder, replaceContent, type FileIo, nodeFileIo } from "../../base/file/index.ts";
import { PostgresqlExporterTable, type Fleet } from "../../fleet/index.ts";
import type { Sink } from "../../record/index.ts";
import type { Reporting } from "../../base/report/index.ts";
import type { InterfaceChange, Snmp } from "../../snmp/index.ts";
import type { CollectorUdmStore } from "../../metadata/index.ts";
import { decodingOptions, sharesExporters } from "./decoding-options.ts";
import type { Enrichment } from "../enrichment/enrichment.ts";
import type { ExporterInterfaces } from "../enrichment/exporter-interfaces.ts";
import { flowElements } from "./flow-elements.ts";
import { flowStreams } from "./flow-streams.ts";
import { plainSettings, type Settings } from "../settings/index.ts";
import { receivesFlows } from "../../flow/settings.ts";
import { FlowThreads } from "../threads/flow-threads.ts";
import { SampledSink, type FeedThread } from "../threads/record-feed.ts";
import type { OutputReport } from "../../output/index.ts";

/** Matches the temporary file of an interrupted save. */
const leftOver = /^\.[a-z]+-[0-9a-f]{2}\.state\.[0-9a-z]+-[0-9]+\.tmp$/;

/** The mode of the files: for the user of the collector, and readers of its group. */
const fileMode = 0o640;

/**
 * Returns files of state in a directory. Each is written under another name, synced, and renamed over the old one; then the directory is
 * synced.
 *
 * @param run letters and digits, unique to the run.
 */
export function createStateFiles(
  directory: string,
  io: FileIo,
  run: string,
  makeDirectory: (path: string) => Promise<unknown> = (path) => makeFolder(path),
): StateFiles {
  let number = 0;
  return {
    async open() {
      await makeDirectory(directory);
      const names = await io.list(directory);
      for (const name of names.filter((each) => leftOver.test(each))) await io.unlink(join(directory, name));
      return names;
    },
    async read(name, maxBytes) {
      const path = join(directory, name);
      const { size } = await io.state(path);
      return size > maxBytes ? undefined : io.read(path);
    },
    async replace(name, bytes) {
      const temporary = join(directory, `.${name}.${run}-${++number}.tmp`);
      await replaceContent(io, { target: join(directory, name), temporary, mode: fileMode }, bytes);
    },
    rename: (name, to) => io.rename(join(directory, name), join(directory, to)),
  };
}

/** Flows, whether decoded in threads or here. */
type Flows = Pick<FlowListener, keyof FlowListener> & Partial<Pick<FlowThreads, "reload">>;

/** Makes the store of exporters' announcements, which survives a restart; undefined when nothing is to be kept. */
export function createFlowState(settings: Settings, reporting: Reporting): StateStore | undefined {
  if (!receivesFlows(settings)) return undefined;
  const directory = settings.SVC_STATE_DIRECTORY_PATH;
  if (directory === "") {
    reporting.log.info({}, "templates of flows are not kept over a restart: SVC_STATE_DIRECTORY_PATH is empty");
    return undefined;
  }
  const run = randomBytes(6).toString("hex");
  return new StateStore(createStateFiles(join(directory, "flow"), nodeFileIo, run), reporting);
}

/** Makes the store that shares exporters' announcements with the other collectors of the fleet; undefined where they are not shared. */
export function createSharedExporters(
  settings: Settings,
  fleet: Fleet | undefined,
  reporting: Reporting,
): SharedStore | undefined {
  if (fleet === undefined || !sharesExporters(settings) || !receivesFlows(settings)) return undefined;
  const table = new PostgresqlExporterTable(fleet.connection, fleet.fleet, fleet.membership.member);
  return new SharedStore(table, reporting);
}

/** The sources that decoding gets from the other parts, in any thread. */
interface FlowSources {
  /** The enrichment of this thread. */
  readonly enrichment: Enrichment;
  readonly metadata: CollectorUdmStore | undefined;
  readonly names: CollectorUdmStore | undefined;
  readonly snmp: Snmp | undefined;
  /** Names the interfaces of exporters, including polled ones; undefined: SNMP does. */
  readonly exporterInterfaces: ExporterInterfaces | undefined;
  readonly state: StateStore | undefined;
  /** Undefined: this collector does not share exporters' announcements. */
  readonly shared: SharedStore | undefined;
  readonly sink: Sink;
  /** The parts that take records in threads of their own. */
  readonly takers: readonly FeedThread[];
}

/** Receives and decodes flows, in threads of their own, or in this one if the settings say so. */
export function createFlows(settings: Settings, sources: FlowSources, reporting: Reporting): Flows | undefined {
  if (!receivesFlows(settings)) return undefined;
  const { enrichment, metadata, names, snmp, exporterInterfaces, state, shared, sink, takers } = sources;
  const { elements, warnings } = flowElements(settings);
  for (const warning of warnings) reporting.log.warn({}, warning);
  const plain = plainSettings(settings);
  const count = decodingThreads(settings);
  const streams = flowStreams(settings);
  if (count > 0) {
    const named = snmp && ((listener: (change: InterfaceChange) => void) => snmp.watchInterfaces(listener));
    const watchInterfaces = exporterInterfaces === undefined ? named : exporterInterfaces.watch;
    return new FlowThreads(
      plain,
      {
        elements,
        count,
        streams,
        metadata,
        names,
        sink,
        feeds: takers.map(({ feed }) => feed),
        watchInterfaces,
        state,
        shared,
      },
      reporting,
    );
  }
  const reports = new Map(takers.map(({ feed, report }) => [feed, report]));
  const feeds = [...reports.keys()];
  const sampled = SampledSink.chain(sink, feeds, (feed) => reports.get(feed) as OutputReport);
  return new FlowListener({
    ...reporting,
    ...decodingOptions(plain, {
      ...reporting,
      elements,
      sink: sampled.sink,
      enrichment,
      interfaces: exporterInterfaces?.enricher ?? snmp?.interfaceEnricher,
      isMeasured: snmp && ((address) => snmp.knows(address)),
    }),
    ip: settings.SVC_FLOW_SERVER_UDP_IP,
    ports: settings.SVC_FLOW_SERVER_UDP_ENABLE ? settings.SVC_FLOW_SERVER_UDP_PORT : [],
    streams,
    receiveBufferBytes: settings.SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE,
    state,
    shared,
    stopped: () => sampled.flush(),
  });
}

/**
 * Returns the number of threads that decode flows; 0: the main thread decodes. Receiving and the main thread need little
 * in comparison with decoding, so no core is left for them.
 */
export function decodingThreads(settings: Settings): number {
  if (!receivesFlows(settings)) return 0;
  const poolSize = settings.SVC_PROCESSOR_POOL_SIZE;
  if (poolSize === "main") return 0;
  return poolSize === "auto" || poolSize === 0 ? Math.min(8, availableParallelism()) : poolSize;
}
