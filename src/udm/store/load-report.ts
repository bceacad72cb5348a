import { LockedError } from "../../file/index.ts";
import type { Health, Log } from "../../report/index.ts";
import { UdmError } from "../model/udm-error.ts";
import { logWarnings } from "./entry-warnings.ts";
import type { LoadedState } from "./load-state.ts";
import { LoadError } from "./read-metadata-file.ts";
import type { StoreMetrics } from "./udm-store-metrics.ts";

/** Name of the readiness check. */
const checkName = "metadata";
/** How many names a log line lists. */
const maxShown = 10;

/** Reports the result of reading the file to log, metrics and readiness. */
export interface LoadReport {
  /** @param isThere whether there is a file. */
  loaded(state: Pick<LoadedState, "size" | "unknownFields" | "warnings">, isThere: boolean): void;
  /** @param isLoaded whether a state from before stays in use. @returns the error for callers. */
  failed(error: unknown, isLoaded: boolean): UdmError;
}

export function createLoadReport(path: string, log: Log, health: Health, metrics: StoreMetrics): LoadReport {
  return {
    loaded({ size, unknownFields, warnings }, isThere) {
      logWarnings(warnings, path, log);
      metrics.loaded(warnings.count);
      health.set({ name: checkName, ready: true });
      log.info({ path, entries: size }, isThere ? "metadata file read" : "no metadata file yet");
      if (unknownFields.size > 0) {
        const fields = Object.fromEntries([...unknownFields].slice(0, maxShown));
        log.warn({ path, fields }, "the metadata file has fields that are kept but not used");
      }
    },
    failed(error, isLoaded) {
      const message = error instanceof Error ? error.message : String(error);
      const failure = new UdmError("unavailable", message, [], { cause: error });
      metrics.loadFailed(error instanceof LoadError || error instanceof LockedError ? error.code : "other");
      health.set({ name: checkName, ready: isLoaded, ...(isLoaded && { degraded: true }), detail: failure.message });
      const outcome = isLoaded ? "the previous state stays in use" : "there is no metadata";
      log.error({ path, error: failure }, `the metadata file cannot be used, ${outcome}`);
      return failure;
    },
  };
}
