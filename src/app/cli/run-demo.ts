import { join } from "node:path";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { readSettings, type Settings } from "../settings/index.ts";
import { createLog, systemClock } from "../../base/report/index.ts";
import { createCollector } from "../collector.ts";
import { createDemo } from "../demo/demo.ts";
import { createRecentRecords } from "../demo/recent-records.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { prepareQuickstart } from "../service/quickstart.ts";
import { runComponent } from "../service/service.ts";
import type { DemoCommandOptions } from "./demo-command.ts";
import { localApiUrl } from "./client/api-call.ts";
import type { Terminal } from "./terminal.ts";

/** Returns the directory with the definitions of the polled devices. */
function devicesDirectory(directory: string): string {
  return join(directory, "devices");
}

/** The settings of the demonstration: all data in one directory, all ports on this host alone. */
function demoSettings(directory: string, apiPort: string): Settings {
  const given = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
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
