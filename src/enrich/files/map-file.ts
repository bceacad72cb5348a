import type { Component, Log, Metrics } from "../../base/report/index.ts";
import { isMissing, type FileIo, WatchedFile } from "../../base/file/index.ts";
import { FileFindings, formatFinding, type ReadFile } from "./operator-file.ts";

/** The most findings in one log line. */
const maxShown = 10;

/** Follows a YAML file of the operator. If the file breaks, the last good state stays. */
export class MapFile<T> implements Component {
  readonly name: string;
  readonly counts = { loads: 0, loadFailures: 0, warnings: 0 };
  /** The kind of file, as a label of metrics. */
  readonly label: string;
  readonly #path: string;
  readonly #log: Log;
  readonly #file: WatchedFile;
  #current: T | undefined;

  /**
   * @param pollMs the time between two checks whether the file has changed, in ms.
   * @param read throws FileFindings for a file that cannot be used.
   * @param use called with the content each time that the file has been read.
   */
  constructor(
    label: string,
    path: string,
    pollMs: number,
    read: (bytes: Uint8Array) => ReadFile<T>,
    log: Log,
    use?: (value: T) => void,
    io?: Pick<FileIo, "state" | "read">,
  ) {
    this.label = label;
    this.#path = path;
    this.#log = log;
    this.#file = new WatchedFile(
      path,
      pollMs,
      {
        take: (bytes) => {
          const { value, warnings } = read(bytes);
          this.#current = value;
          use?.(value);
          this.#loaded(warnings);
        },
        failed: (error) => this.#failed(error),
      },
      io,
    );
    this.name = this.#file.name;
  }

  start(): Promise<void> {
    return this.#file.start();
  }

  stop(): Promise<void> {
    return this.#file.stop();
  }

  reload(): Promise<void> {
    return this.#file.reload(true);
  }

  /** Returns the content that was read last; undefined before the first time. */
  current(): T | undefined {
    return this.#current;
  }

  #loaded(warnings: ReadFile<T>["warnings"]): void {
    this.counts.loads++;
    this.counts.warnings = warnings.length;
    this.#log.info({ path: this.#path }, `the file of ${this.label} is read`);
    if (warnings.length > 0) {
      const message = `the file of ${this.label} has parts that are ignored`;
      this.#log.warn({ warnings: this.#shown(warnings), count: warnings.length }, message);
    }
  }

  #failed(error: unknown): void {
    this.counts.loadFailures++;
    const what = this.#current === undefined ? "records go without it" : "what was read before stays";
    const message = `the file of ${this.label} cannot be used: ${what}`;
    // The watcher of all files reports a missing file once; so this is for debugging only.
    if (isMissing(error)) this.#log.debug({ path: this.#path }, message);
    else if (!(error instanceof FileFindings)) this.#log.error({ path: this.#path, error }, message);
    else {
      const errors = error.findings.filter(({ severity }) => severity === "error");
      this.#log.error({ errors: this.#shown(errors), count: errors.length }, message);
    }
  }

  #shown(findings: FileFindings["findings"]): string[] {
    return findings.slice(0, maxShown).map((finding) => `${this.#path}:${formatFinding(finding)}`);
  }
}

/** Registers the metrics of files; call it once for each {@link Metrics}, with all files. */
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
