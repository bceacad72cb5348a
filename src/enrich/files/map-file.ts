import type { Component, Log, Metrics } from "../../base/report/index.ts";
import { createWatchedFile, isMissing, type FileIo } from "../../base/file/index.ts";
import { FileFindings, formatFinding, type ReadFile } from "./operator-file.ts";

export interface MapFileOptions<T> {
  /** What it is, as a label of metrics. */
  readonly label: string;
  readonly path: string;
  /** How often to look whether it has changed, in milliseconds. */
  readonly pollMs: number;
  /** Throws FileFindings for a file that cannot be used. */
  readonly read: (bytes: Uint8Array) => ReadFile<T>;
  readonly io?: Pick<FileIo, "state" | "read">;
  /** Called with what was read, each time. */
  readonly use?: (value: T) => void;
  readonly log: Log;
}

/** A YAML file of an operator that is followed: a broken one leaves what was read before. */
export interface MapFile<T> extends Component {
  readonly label: string;
  /** Undefined until it was read for the first time. */
  current(): T | undefined;
  reload(): Promise<void>;
  readonly counts: { readonly loads: number; readonly loadFailures: number; readonly warnings: number };
}

/** How many findings a log line lists. */
const maxShown = 10;

export function createMapFile<T>(options: MapFileOptions<T>): MapFile<T> {
  const { label, path, pollMs, read, io, use, log } = options;
  const counts = { loads: 0, loadFailures: 0, warnings: 0 };
  let current: T | undefined;
  const file = createWatchedFile({
    path,
    pollMs,
    ...(io && { io }),
    take(bytes) {
      const { value, warnings } = read(bytes);
      current = value;
      use?.(value);
      counts.loads++;
      counts.warnings = warnings.length;
      log.info({ path }, `the file of ${label} is read`);
      if (warnings.length > 0) {
        const shown = warnings.slice(0, maxShown).map((finding) => `${path}:${formatFinding(finding)}`);
        log.warn({ warnings: shown, count: warnings.length }, `the file of ${label} has parts that are ignored`);
      }
    },
    failed(error) {
      counts.loadFailures++;
      const what = current === undefined ? "records go without it" : "what was read before stays";
      const message = `the file of ${label} cannot be used: ${what}`;
      // Who watches all files reports a missing one, once.
      if (isMissing(error)) log.debug({ path }, message);
      else if (!(error instanceof FileFindings)) log.error({ path, error }, message);
      else {
        const errors = error.findings.filter(({ severity }) => severity === "error");
        const shown = errors.slice(0, maxShown).map((finding) => `${path}:${formatFinding(finding)}`);
        log.error({ errors: shown, count: errors.length }, message);
      }
    },
  });
  return { ...file, label, counts, current: () => current, reload: () => file.reload(true) };
}

/** Once for all files of one {@link Metrics}. */
export function registerMapFiles(metrics: Metrics, files: readonly MapFile<unknown>[]): void {
  const count = (name: string, help: string, read: (counts: MapFile<unknown>["counts"]) => number): void =>
    metrics.counterFrom(`netgloss_enrich_file_${name}_total`, help, ["file"], () =>
      files.map((file) => [{ file: file.label }, read(file.counts)] as const),
    );
  count("loads", "How often a file of names was read.", (counts) => counts.loads);
  count("load_failures", "How often one could not be read or used.", (counts) => counts.loadFailures);
  metrics.gaugeFrom("netgloss_enrich_file_warnings", "What the file in use says and is ignored.", ["file"], () =>
    files.map((file) => [{ file: file.label }, file.counts.warnings] as const),
  );
}
