import { createLog, systemClock } from "../../report/index.ts";
import { announceReadiness } from "../announce-readiness.ts";
import { createCollector } from "../collector.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { prepareQuickstart, quickstartHints } from "../quickstart.ts";
import { runComponent } from "../run-component.ts";
import type { SettingsReading } from "../settings/index.ts";
import { unknownNamesWarning } from "./settings-options.ts";
import { localApiUrl } from "./udm-client.ts";
import type { Terminal } from "./terminal.ts";

/** Runs the collector until SIGTERM or SIGINT. @returns the exit code. */
export async function runServe(reading: SettingsReading, terminal: Terminal): Promise<number> {
  const { settings } = reading;
  const log = createLog({
    level: settings.SVC_LOG_LEVEL,
    format: settings.SVC_LOG_FORMAT,
    destination: { write: (line) => terminal.err(line) },
  });
  for (const note of reading.notes) log.info({}, note);
  for (const warning of reading.warnings) log.warn({}, warning);
  const unknown = unknownNamesWarning(reading);
  if (unknown !== undefined) log.warn({}, unknown);

  if (settings.SVC_QUICKSTART_ENABLE) prepareQuickstart(settings, packagePath("config/ipaddrs.sample.yml"));
  const collector = createCollector({ settings, log, clock: systemClock, version: packageVersion() });
  const exitCode = await runComponent(collector, {
    log,
    clock: systemClock,
    signals: terminal.signals,
    exit: (code) => terminal.exit(code),
    started() {
      const api = localApiUrl(settings, collector.apiPort());
      const flowPorts = collector.flowPorts();
      const ends = announceReadiness(collector.health, log, { version: packageVersion(), api, flowPorts });
      if (settings.SVC_QUICKSTART_ENABLE) terminal.err(quickstartHints(settings, api, flowPorts));
      return ends;
    },
    reload: () => collector.reload(),
    reopen: () => collector.reopen(),
  });
  return exitCode;
}
