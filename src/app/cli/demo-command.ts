import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError, Option, type Command } from "commander";
import { createLog, logLevels, systemClock, type LogLevel } from "../../report/index.ts";
import { createCollector } from "../collector.ts";
import { createDemo } from "../demo/demo.ts";
import { demoSettings, devicesDirectory } from "../demo/demo-settings.ts";
import { createRecentRecords } from "../demo/recent-records.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { prepareQuickstart } from "../quickstart.ts";
import { runComponent } from "../run-component.ts";
import type { Terminal } from "./terminal.ts";
import { localApiUrl } from "./udm-client.ts";

interface DemoCommandOptions {
  readonly apiPort: string;
  readonly interval: number;
  readonly logLevel: LogLevel;
}

/**
 * `demo`: a collector with data of its own in a temporary directory, exporters that send to it and SNMP agents that it
 * polls. Its ports are
 * chosen by the system, so it runs beside others.
 */
export function addDemoCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  program
    .command("demo")
    .description(
      "show it at work: a collector, three exporters that send to it, two devices that it polls, and the records that come out",
    )
    .option("--api-port <port>", "the port of the API (0: the system chooses)", "0")
    .option("--interval <seconds>", "how often records are shown", seconds, 3)
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("warn"))
    .action(async (options: DemoCommandOptions) => {
      const directory = mkdtempSync(join(tmpdir(), "netgloss-demo-"));
      try {
        setExitCode(await runDemo(directory, options, terminal));
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
}

async function runDemo(directory: string, options: DemoCommandOptions, terminal: Terminal): Promise<number> {
  const log = createLog({
    level: options.logLevel,
    format: "text",
    destination: { write: (line) => terminal.err(line) },
  });
  const settings = demoSettings(directory, options.apiPort);
  prepareQuickstart(settings, packagePath("config/ipaddrs.sample.yml"));
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

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 3600)) throw new InvalidArgumentError("expected a number from 0.1 to 3600.");
  return value;
}
