import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Option, type Command } from "commander";
import { createLog, logLevels, startComponents, stopComponents, systemClock } from "../../report/index.ts";
import type { Component, Log, LogLevel } from "../../report/index.ts";
import { createCollector, type Collector } from "../collector.ts";
import { createDemoExporter } from "../demo/demo-exporter.ts";
import { createRandom } from "../demo/random.ts";
import { createRecentRecords, type RecentRecords } from "../demo/recent-records.ts";
import { recordTable } from "../demo/record-table.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { curlLine, prepareQuickstart } from "../quickstart.ts";
import { runComponent } from "../run-component.ts";
import { readSettings, type Settings } from "../settings/index.ts";
import { textTable } from "./text-table.ts";
import type { Terminal } from "./terminal.ts";
import { localApiUrl } from "./udm-client.ts";

/** An address of the sample metadata that the demonstration's flows name often. */
const featured = "10.10.20.5";
const rows = 6;

/**
 * `demo`: a collector with data of its own in a temporary directory, and exporters that send to it. Its ports are
 * chosen by the system, so it runs beside others.
 */
export function addDemoCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  program
    .command("demo")
    .description("show it at work: a collector, three exporters that send to it, and the records that come out")
    .option("--api-port <port>", "the port of the API (default: the system chooses)", "0")
    .option("--interval <seconds>", "how often records are shown", "3")
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("warn"))
    .action(async (options: { apiPort: string; interval: string; logLevel: LogLevel }) => {
      const directory = mkdtempSync(join(tmpdir(), "netgloss-demo-"));
      try {
        setExitCode(await runDemo(directory, options, terminal));
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
}

async function runDemo(
  directory: string,
  options: { apiPort: string; interval: string; logLevel: LogLevel },
  terminal: Terminal,
): Promise<number> {
  const log = createLog({
    level: options.logLevel,
    format: "text",
    destination: { write: (line) => terminal.err(line) },
  });
  const settings = demoSettings(directory, options.apiPort);
  prepareQuickstart(settings, packagePath("config/ipaddrs.sample.yml"));
  const recent = createRecentRecords();
  const collector = createCollector({ settings, log, clock: systemClock, version: packageVersion(), sinks: [recent] });
  const demo = createDemo(collector, log, (text) => terminal.out(text), Number(options.interval) * 1000, settings, recent);
  return runComponent(demo, {
    log,
    signals: terminal.signals,
    exit: (code) => terminal.exit(code),
    reload: () => collector.reload(),
  });
}
