import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CaptureError,
  DatagramReader,
  readCapture,
  type FrameKind,
  FlowPipeline,
  protocolOf,
} from "../../flow/index.ts";
import { fanOut, type DeliveryState } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import {
  createHealth,
  createLog,
  createMetrics,
  startComponents,
  stopComponents,
  systemClock,
  type Reporting,
  type Metrics,
  type Component,
} from "../../base/report/index.ts";
import { createMetadata, createNames } from "../parts/metadata-parts.ts";
import { createOutputs } from "../parts/output-parts.ts";
import { decodingOptions } from "../parts/decoding-options.ts";
import { createEnrichment } from "../enrichment/enrichment.ts";
import { flowElements } from "../parts/flow-elements.ts";
import { plainSettings, type Settings } from "../settings/index.ts";
import { checkShaping } from "../shaping.ts";
import { CommandError, exitCodes, type Terminal } from "./terminal.ts";
import type { ReplayOptions } from "./replay-command.ts";

/** The number of datagrams between two checks whether the receiver of the records keeps up. */
const batch = 64;
/** The longest time that outputs may take for records that wait at the end, milliseconds. */
const deliverWithinMs = 60_000;

/**
 * Decodes the flows of captures with the settings of a collector: its elements, metadata, enrichment. Each datagram has the
 * sender and the time of the capture. The host is not changed: the metadata file is only read, and no port is opened.
 *
 * @returns the exit code: failure when a capture is damaged, cannot be read, or has no flows, or when an output did not take all records.
 * @throws SettingsError for unusable filters and the like; CommandError when records are to go to outputs and none is enabled.
 */
export async function replayCaptures(
  files: readonly string[],
  settings: Settings,
  options: ReplayOptions,
  terminal: Terminal,
): Promise<number> {
  checkShaping(settings);
  const log = createLog({
    level: settings.SVC_LOG_LEVEL === "info" ? "warn" : settings.SVC_LOG_LEVEL,
    format: settings.SVC_LOG_FORMAT,
    destination: { write: (line) => terminal.err(line) },
  });
  const metrics = createMetrics();
  const reporting: Reporting = { log, metrics, clock: systemClock, health: createHealth() };
  const taker = options.outputs === true ? configuredOutputs(settings, reporting) : standardOutput(terminal);
  const decoding = createOfflineDecoding(settings, taker.sink, reporting);
  const { pipeline } = decoding;
  const components = [...decoding.components, ...taker.components];
  const counts = newCounts();
  let isWell = true;
  await startComponents(components, log);
  try {
    for (const file of files) {
      if (!(await taker.keepsUp())) break;
      isWell = (await replayFile(file, pipeline, options, counts, () => taker.keepsUp(), terminal)) && isWell;
    }
    for (const loss of await taker.finish()) {
      terminal.err(`error: ${loss}\n`);
      isWell = false;
    }
  } finally {
    await stopComponents(components, log);
  }
  terminal.err(`${await summary(counts, metrics)}\n`);
  return isWell && counts.flows > 0 ? exitCodes.ok : exitCodes.failure;
}

/**
 * Makes the pipeline that turns datagrams into records by the settings of a collector, without one.
 *
 * @param given the settings; the metadata file is only read. @returns a pipeline that works while the components are started.
 * @throws SettingsError for unusable filters and the like.
 */
export function createOfflineDecoding(
  given: Settings,
  sink: Sink,
  reporting: Reporting,
): { readonly pipeline: FlowPipeline; readonly components: readonly Component[] } {
  const settings: Settings = { ...given, SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: false };
  const metadata = createMetadata(settings, reporting);
  const names = createNames(settings, reporting);
  const enrichment = createEnrichment(plainSettings(settings), metadata, reporting, {
    names: names && { watch: names.watchAddresses },
  });
  const { elements } = flowElements(settings);
  const options = decodingOptions(plainSettings(settings), { ...reporting, elements, enrichment, sink });
  const stores = [metadata, names].filter((store) => store !== undefined);
  return { pipeline: new FlowPipeline(options), components: [...stores, ...enrichment.components] };
}

interface Counts {
  readonly frames: Record<FrameKind, number>;
  /** Datagrams to other ports. */
  otherPorts: number;
  /** Datagrams whose first bytes are those of a flow protocol. */
  flows: number;
  /** Datagrams of other kinds. */
  others: number;
  incomplete: number;
}

const newCounts = (): Counts => ({
  frames: { datagram: 0, other: 0, cut: 0, fragment: 0, unknown_link: 0 },
  otherPorts: 0,
  flows: 0,
  others: 0,
  incomplete: 0,
});

/** @returns whether the whole capture could be read. */
async function replayFile(
  file: string,
  pipeline: FlowPipeline,
  { port }: ReplayOptions,
  counts: Counts,
  keepsUp: () => Promise<boolean>,
  terminal: Terminal,
): Promise<boolean> {
  const reader: DatagramReader = new DatagramReader();
  let since = 0;
  try {
    for await (const frame of readCapture(file === "-" ? terminal.input : createReadStream(file))) {
      const kind = reader.read(frame, ({ address, port: sender, destinationPort, payload }) => {
        if (port !== undefined && !port.includes(destinationPort)) counts.otherPorts++;
        else if (port === undefined && protocolOf(payload) === "unknown") counts.others++;
        else {
          counts.flows++;
          pipeline.process(payload, address, sender, frame.time);
        }
      });
      counts.frames[kind]++;
      if (++since < batch) continue;
      since = 0;
      if (!(await keepsUp())) return true;
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!(error instanceof CaptureError) && code === undefined) throw error;
    terminal.err(`error: ${file}: ${code === "ENOENT" ? "no such file" : (error as Error).message}\n`);
    return false;
  } finally {
    counts.incomplete += reader.incomplete();
  }
}

/** A receiver of the records. */
interface Taker {
  readonly sink: Sink;
  readonly components: readonly Component[];
  /** Waits until there is room for more. @returns false when nobody takes them any more. */
  keepsUp(): Promise<boolean>;
  /** Waits until all taken records have arrived. @returns the missing ones, a line for each output. */
  finish(): Promise<readonly string[]>;
}

function standardOutput(terminal: Terminal): Taker {
  return {
    sink: { write: (lines) => terminal.out(Buffer.from(lines).toString("utf8")) },
    components: [],
    keepsUp: () => terminal.drained(),
    finish: async () => [],
  };
}

function configuredOutputs(settings: Settings, reporting: Reporting): Taker {
  const { sinks, local, toStores, stores } = createOutputs(settings, reporting);
  const components = [...local, ...toStores];
  if (components.length === 0) {
    throw new CommandError("usage", "no output is on: the settings of --config or of the environment have none");
  }
  const queued = async (): Promise<number> => {
    const families = await reporting.metrics.families();
    const queue = families.find(({ name }) => name === "netgloss_output_queue_bytes");
    return queue === undefined ? 0 : Math.max(0, ...queue.samples.map(([, value]) => value));
  };
  let isGivenUp = false;
  return {
    sink: fanOut(sinks),
    components,
    async keepsUp() {
      if (isGivenUp) return false;
      let least = Infinity;
      let end = 0;
      for (let waiting = await queued(); waiting > maxQueued; waiting = await queued()) {
        const now = systemClock.monotonic();
        // Keep waiting as long as there is progress.
        if (waiting < least) end = now + deliverWithinMs;
        least = Math.min(least, waiting);
        isGivenUp = now >= end;
        if (isGivenUp) return false;
        await sleep(10);
      }
      return true;
    },
    async finish() {
      // Once a wait for room has failed, do not wait any longer.
      const end = systemClock.monotonic() + (isGivenUp ? 0 : deliverWithinMs);
      const isWaiting = async (): Promise<boolean> => {
        if ((await queued()) > 0) return true;
        const states = await Promise.all(stores.map((store) => store.state()));
        return states.some((state) => state === undefined || state.waitingRecords > 0);
      };
      while (systemClock.monotonic() < end && (await isWaiting())) await sleep(50);
      const states = await Promise.all(stores.map((store) => store.state()));
      const left = states.flatMap((state) => (state === undefined ? [] : undelivered(state)));
      const seconds = deliverWithinMs / 1000;
      return isGivenUp
        ? [`the rest of the captures was not read: for ${seconds} s no output took anything`, ...left]
        : left;
    },
  };
}

function undelivered(state: DeliveryState): string[] {
  const { name, waitingRecords, refusedRecords, droppedRecords, spoolMode, fault } = state;
  const counts: [number, string][] = [
    [waitingRecords, spoolMode === "off" ? "were not delivered" : "wait in the spool"],
    [refusedRecords, "were refused"],
    [droppedRecords, "were dropped"],
  ];
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} records ${what}`);
  if (parts.length === 0) return [];
  return [`output ${name}: ${parts.join(", ")}${fault === undefined ? "" : `: ${fault}`}`];
}

/** Less than the smallest queue may hold. */
const maxQueued = 32 * 1024;

async function summary(counts: Counts, metrics: Metrics): Promise<string> {
  const families = await metrics.families();
  const sumOf = (name: string): number => {
    const family = families.find((one) => one.name === name);
    return family === undefined ? 0 : family.samples.reduce((sum, [, value]) => sum + value, 0);
  };
  const { frames, otherPorts, others, flows, incomplete } = counts;
  const records = sumOf("netgloss_flow_records_total") + sumOf("netgloss_flow_counters_records_total");
  const parts: [number, string][] = [
    [sumOf("netgloss_flow_drops_total"), "faults in datagrams"],
    [others, "datagrams of other protocols"],
    [otherPorts, "datagrams to other ports"],
    [frames.other, "packets that are not UDP"],
    [frames.cut, "packets cut by the capture (use tcpdump -s 0)"],
    [incomplete, "packets of which fragments are missing"],
    [frames.unknown_link, "packets of an unknown link type"],
  ];
  const more = parts.filter(([count]) => count > 0).map(([count, what]) => `, ${count} ${what}`);
  return `${flows} datagrams of flows, ${records} records${more.join("")}`;
}
