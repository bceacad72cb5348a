import type { Metrics } from "../../report/index.ts";
import type { KeepReason, SaveStep } from "../../file/index.ts";

/** What a saver reports. */
export interface SaverMetrics {
  saved(bytes: number, ms: number): void;
  failed(step: SaveStep, code: string): void;
  alarm(step: SaveStep, code: string): void;
  kept(reason: KeepReason): void;
}

export function createSaverMetrics(metrics: Metrics): SaverMetrics {
  const saves = metrics.counter("netgloss_udm_saves_total", "Times the metadata file was replaced.");
  const failures = metrics.counter(
    "netgloss_udm_save_failures_total",
    "Times the metadata file could not be replaced, by the step that failed and its error.",
    ["step", "code"],
  );
  const alarms = metrics.counter(
    "netgloss_udm_save_alarms_total",
    "Steps that failed although the metadata file was replaced (a sync of its folder, its owner, its mode).",
    ["step", "code"],
  );
  const seconds = metrics.histogram(
    "netgloss_udm_save_seconds",
    "Time to replace the metadata file.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const bytes = metrics.gauge("netgloss_udm_file_bytes", "Size of the metadata file as last replaced.");
  const kept = metrics.counter(
    "netgloss_udm_files_kept_total",
    "Metadata files written by hand that a save replaced: kept as .orig, or as .edited-<time>.",
    { reason: ["original", "edited"] satisfies KeepReason[] },
  );
  return {
    saved(size, ms) {
      saves.add();
      seconds.observe(ms / 1000);
      bytes.set(size);
    },
    failed: (step, code) => failures.add(1, { step, code }),
    alarm: (step, code) => alarms.add(1, { step, code }),
    kept: (reason) => kept.add(1, { reason }),
  };
}
