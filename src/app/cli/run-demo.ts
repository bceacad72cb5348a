import { join } from "node:path";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { readSettings, type Settings } from "../settings/index.ts";
import {
  createHealth,
  createLog,
  createMetrics,
  startComponents,
  stopComponents,
  systemClock,
  type Log,
} from "../../base/report/index.ts";
import { EmbeddedExplore } from "../../explore/index.ts";
import { createSamplingMemory } from "../../explore/sampling/index.ts";
import type { Sink } from "../../record/index.ts";
import { createDemoDatagrams, createDemoPast, createRandom, demoPast } from "../../../packages/testkit/index.ts";
import { createCollector } from "../collector.ts";
import { createDemo } from "../demo/demo.ts";
import { createRecentRecords } from "../demo/recent-records.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { exploreConfig } from "../parts/output-parts.ts";
import { prepareQuickstart } from "../service/quickstart.ts";
import { runComponent } from "../service/service.ts";
import type { DemoCommandOptions } from "./demo-command.ts";
import { localApiUrl } from "./client/api-call.ts";
import { createOfflineDecoding } from "./replay-captures.ts";
import type { Terminal } from "./terminal.ts";

/** Returns the directory with the definitions of the polled devices. */
function devicesDirectory(directory: string): string {
  return join(directory, "devices");
}

/** Returns the settings of the demonstration: all data in one directory, all ports on this host only. */
function demoSettings(directory: string, apiPort: string): Settings {
  const given = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
    SVC_EXPLORE_MAX_AGE: "72",
    SVC_API_PORT: apiPort,
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: devicesDirectory(directory),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE: "208KiB",
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "demo" }));
  return readSettings([layer], () => "").settings;
}

const pastSeed = 2;
/** The port of the exporters of the past; the present ones have others. */
const pastPort = 2055;

/** Records the days before for Explore, as if the collector had been running: a comparison with yesterday needs one. */
async function recordPast(settings: Settings, log: Log): Promise<void> {
  const reporting = { log, clock: systemClock, metrics: createMetrics(), health: createHealth() };
  const explore = new EmbeddedExplore(exploreConfig(settings), createSamplingMemory(1), reporting, () => {});
  const sink: Sink = { write: (lines, records) => explore.take(Buffer.from(lines), records) };
  const { pipeline, components } = createOfflineDecoding(settings, sink, reporting);
  await startComponents(components, log);
  try {
    await explore.start();
    const { lengthMs, stepMs } = demoPast;
    const end = systemClock.now() - 1000;
    const datagrams = createDemoDatagrams({
      random: createRandom(pastSeed),
      conversations: 2,
      story: createDemoPast(end),
    });
    for (let at = end - lengthMs; at <= end; at += stepMs)
      for (const { address, bytes } of datagrams(at)) pipeline.process(bytes, address, pastPort, at);
    await explore.flush();
  } finally {
    await explore.stop();
    await stopComponents(components, log);
  }
}

/** Runs the demonstration in a temporary directory, which is removed at the end. @returns the exit code. */
export async function runDemo(options: DemoCommandOptions, terminal: Terminal): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-demo-"));
  try {
    return await runDemoIn(directory, options, terminal);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runDemoIn(directory: string, options: DemoCommandOptions, terminal: Terminal): Promise<number> {
  const log = createLog({
    level: options.logLevel,
    format: "text",
    destination: { write: (line) => terminal.err(line) },
  });
  const settings = demoSettings(directory, options.apiPort);
  prepareQuickstart(settings, packagePath("config/ipaddrs.sample.yml"));
  const ofDemo = readFileSync(packagePath("config/ipaddrs.demo.yml"), "utf8");
  appendFileSync(settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH, ofDemo);
  mkdirSync(devicesDirectory(directory));
  // Without DuckDB there is no Explore; the collector reports that itself.
  await recordPast(settings, log).catch((error: unknown) => log.info({ error }, "there are no records of yesterday"));
  const recent = createRecentRecords();
  const collector = createCollector({ settings, log, clock: systemClock, version: packageVersion(), sinks: [recent] });
  const demo = createDemo({
    collector,
    recent,
    apiBase: () => localApiUrl(settings, collector.apiPort()),
    defineDevices: (text) => writeFileSync(join(devicesDirectory(directory), "demo.yml"), text),
    out: (text) => terminal.out(text),
    intervalMs: options.interval * 1000,
    clock: systemClock,
    log,
  });
  const { signals } = terminal;
  return runComponent(demo, {
    log,
    clock: systemClock,
    signals,
    exit(code) {
      rmSync(directory, { recursive: true, force: true });
      terminal.exit(code);
    },
    reload: () => collector.reload(),
  });
}
