import { createLog, systemClock } from "../../base/report/index.ts";
import { runAfter } from "../../base/file/index.ts";
import {
  announceReadiness,
  limitHeapGrowth,
  logFailedStart,
  runComponent,
  announceToServiceManager,
} from "../service/service.ts";
import { createCollector, type Collector } from "../collector.ts";
import { LogFile } from "../service/log-file.ts";
import { packagePath, packageVersion } from "../package-root.ts";
import { prepareQuickstart, quickstartHints } from "../service/quickstart.ts";
import { SettingsError, type Settings } from "../settings/index.ts";
import type { SettingsPlace } from "../views/settings-view.ts";
import { unknownNamesWarning } from "./settings-options.ts";
import { localApiUrl } from "./client/api-call.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Runs the collector until SIGTERM or SIGINT.
 *
 * @returns the exit code.
 * @throws SettingsError
 */
export async function runServe(settingsPlace: SettingsPlace, terminal: Terminal): Promise<number> {
  const { reading } = settingsPlace;
  const { settings } = reading;
  const file = createFileOfLog(settings, terminal);
  const log = createLog({
    level: settings.SVC_LOG_LEVEL,
    format: settings.SVC_LOG_FORMAT,
    instance: settings.SVC_INSTANCE_NAME,
    destination: {
      write(line) {
        terminal.err(line);
        file?.write(line);
      },
    },
  });
  for (const note of reading.notes) log.info({}, note);
  for (const warning of reading.warnings) log.warn({}, warning);
  const unknown = unknownNamesWarning(reading);
  if (unknown !== undefined) log.warn({}, unknown);

  limitHeapGrowth();
  if (settings.SVC_QUICKSTART_ENABLE) prepareQuickstart(settings, packagePath("config/ipaddrs.sample.yml"));
  let collector: Collector;
  try {
    collector = createCollector({ settings, log, clock: systemClock, version: packageVersion(), settingsPlace });
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    return logFailedStart(error, log);
  }
  const exitCode = await runComponent(collector, {
    log,
    clock: systemClock,
    signals: terminal.signals,
    exit: (code) => terminal.exit(code),
    started() {
      const api = localApiUrl(settings, collector.apiPort());
      const flowPorts = collector.flowPorts();
      const { health } = collector;
      const ends = announceReadiness(
        health,
        log,
        { version: packageVersion(), api, flowPorts },
        { clock: systemClock, after: runAfter },
      );
      const stopping = announceToServiceManager({ env: terminal.env, pid: process.pid, health, log });
      if (settings.SVC_QUICKSTART_ENABLE) terminal.err(quickstartHints(settings, api, flowPorts));
      return () => {
        ends();
        stopping();
      };
    },
    reload: () => collector.reload(),
    reopen() {
      file?.reopen();
      collector.reopen();
    },
  });
  return exitCode;
}

/** Opens the log file, where the settings want one. Its faults also go to the log's usual destination. */
function createFileOfLog(settings: Settings, terminal: Terminal): LogFile | undefined {
  if (!settings.SVC_LOGGER_FILE_LOG_ENABLE) return undefined;
  const path = settings.SVC_LOGGER_FILE_LOG_FILENAME;
  const own = createLog({
    level: settings.SVC_LOG_LEVEL,
    format: settings.SVC_LOG_FORMAT,
    destination: { write: (line) => terminal.err(line) },
  });
  return new LogFile({
    path,
    maxBytes: settings.SVC_LOGGER_FILE_LOG_MAX_SIZE * 2 ** 20,
    maxBackups: settings.SVC_LOGGER_FILE_LOG_MAX_BACKUPS,
    maxAgeMs: settings.SVC_LOGGER_FILE_LOG_MAX_AGE * 86_400_000,
    compress: settings.SVC_LOGGER_FILE_LOG_COMPRESS,
    clock: systemClock,
    failed: (reason) => own.error({ path, reason }, "the file of the log cannot be written, lines are lost there"),
  });
}
