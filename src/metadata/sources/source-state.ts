import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { exportEntries, importEntries } from "../exchange/export-entries.ts";
import type { ExchangeEntry, ImportFault } from "../exchange/import-rows.ts";
import { readyMap } from "../exchange/map/column-map.ts";
import { isMissing, makeFolder, replaceContent, type FileIo } from "../../base/file/index.ts";
import { byScope, countOf, rowsOf, type ChangeCounts, type EntriesByScope } from "./source-layers.ts";
import type { Validators } from "./source-reader.ts";
import { type RunFaultCode, sourceFaults } from "./source-config.ts";
import type { Counter, Gauge, Metrics } from "../../base/report/index.ts";

/** Holds what a source had at the last run that was used. */
interface LastCopy {
  /** When that was, in milliseconds since the epoch. */
  readonly at: number;
  /** {@link SourceConfig.fingerprint} of then. */
  readonly fingerprint: string;
  readonly validators: Validators;
  readonly entries: EntriesByScope;
}

const fileMode = 0o640;
const largestCopy = 2 ** 30;

/** Keeps the last good copy of each source on disk. */
export class LastCopies {
  readonly #directory: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;

  /** A copy is gzip of lines: one that says what it is, then an entry each. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#directory = directory;
    this.#io = io;
    this.#run = run;
  }

  /** @returns undefined when there is none. @throws Error when it cannot be read. */
  async read(name: string): Promise<LastCopy | undefined> {
    let packed: Uint8Array;
    try {
      packed = await this.#io.read(this.#pathOf(name));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const bytes = await promisify(gunzip)(packed, { maxOutputLength: largestCopy });
    const end = bytes.indexOf(0x0a);
    const head = JSON.parse(bytes.toString("utf8", 0, end)) as Omit<LastCopy, "entries"> & { count: number };
    const { entries } = await importEntries([bytes.subarray(end + 1)], {
      format: "ndjson",
      map: readyMap("netgloss"),
      checkScope: () => undefined,
    });
    if (entries.length !== head.count) throw new Error(`${entries.length} of ${head.count} entries can be read`);
    return { ...head, entries: byScope(entries) };
  }

  async write(name: string, { entries, ...head }: LastCopy): Promise<void> {
    await makeFolder(this.#directory);
    const lines = exportEntries(() => rowsOf(entries), "ndjson");
    const chunks = [`${JSON.stringify({ ...head, count: countOf(entries) })}\n`];
    for (const chunk of lines) {
      chunks.push(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const packed = await promisify(gzip)(Buffer.from(chunks.join("")), { level: 1 });
    const temporary = join(this.#directory, `.${name}.${this.#run}-${++this.#number}.tmp`);
    await replaceContent(this.#io, { target: this.#pathOf(name), temporary, mode: fileMode }, packed);
  }

  #pathOf(name: string): string {
    return join(this.#directory, `${name}.ndjson.gz`);
  }
}

/** The results of a run: `held` waits for a person's yes. */
const runResults = ["updated", "unchanged", "held", "failed"] as const;
type RunResult = (typeof runResults)[number];

/** The last run of a source. Times are milliseconds since the epoch. */
export interface RunState {
  readonly at: number;
  readonly ms: number;
  readonly result: RunResult;
  /** Why it failed or is held; may have parts of what was read. */
  readonly reason?: string;
  /** The kind of failure. */
  readonly code?: RunFaultCode;
  readonly rows: number;
  /** Rows that were left out. */
  readonly faultyRows: number;
  readonly faults: readonly ImportFault[];
  readonly changes?: ChangeCounts;
  /** Scopes that rows name and that there are not, the first of them: these rows wait. */
  readonly missingScopes?: readonly string[];
}

/** The state of a source. */
export interface SourceState {
  readonly name: string;
  readonly kind: string;
  /** URL without parameters, or path. */
  readonly place: string;
  readonly priority: number;
  readonly entries: number;
  readonly state: "waiting" | "restored" | "working" | "held" | "failing";
  /** When entries last came, or were confirmed. */
  readonly lastGood?: number;
  readonly nextRun?: number;
  readonly run?: RunState;
}

/** The changes that a run would make, in words for people: keys. */
export interface SourceDiff {
  readonly name: string;
  readonly result: Exclude<RunResult, "failed">;
  readonly reason?: string;
  readonly changes: ChangeCounts;
  readonly added: readonly ExchangeEntry[];
  readonly changed: readonly ExchangeEntry[];
  readonly removed: readonly ExchangeEntry[];
}

/** Counts what sources do; there are few, so each has its own series. */
export class SourceMetrics {
  readonly #runs: Counter;
  readonly #failures: Counter;
  readonly #faulty: Counter;
  readonly #copies: Counter;
  readonly #seconds: Gauge;

  constructor(metrics: Metrics, states: () => readonly SourceState[]) {
    this.#runs = metrics.counter("netgloss_source_runs_total", "Runs of sources of metadata by result.", [
      "source",
      "result",
    ]);
    this.#failures = metrics.counter("netgloss_source_failures_total", "Failed runs of sources by reason.", [
      "source",
      "reason",
    ]);
    this.#faulty = metrics.counter("netgloss_source_faulty_rows_total", "Rows of sources that were left out.", [
      "source",
    ]);
    this.#copies = metrics.counter(
      "netgloss_source_copy_failures_total",
      "Times the last good copy of a source could not be kept or used.",
      ["source"],
    );
    this.#seconds = metrics.gauge("netgloss_source_run_seconds", "How long the last run of a source took.", ["source"]);
    const gauge = (name: string, help: string, of: (state: SourceState) => number): void =>
      metrics.gaugeFrom(name, help, ["source"], () => states().map((state) => [{ source: state.name }, of(state)]));
    gauge("netgloss_source_entries", "Entries of a source in use.", ({ entries }) => entries);
    gauge(
      "netgloss_source_last_good_timestamp_seconds",
      "When the entries of a source last came or were confirmed; 0 before.",
      ({ lastGood }) => (lastGood ?? 0) / 1000,
    );
    gauge("netgloss_source_held", "1 while a source waits for its change to be accepted.", ({ state }) =>
      state === "held" ? 1 : 0,
    );
  }

  /** Shows a source at zero. */
  known(source: string): void {
    for (const result of runResults) this.#runs.add(0, { source, result });
    for (const reason of Object.keys(sourceFaults)) this.#failures.add(0, { source, reason });
    this.#faulty.add(0, { source });
    this.#copies.add(0, { source });
  }

  ran(source: string, result: RunResult, ms: number, faultyRows: number): void {
    this.#runs.add(1, { source, result });
    this.#seconds.set(ms / 1000, { source });
    this.#faulty.add(faultyRows, { source });
  }

  failed(source: string, reason: string): void {
    this.#failures.add(1, { source, reason });
  }

  copyFailed(source: string): void {
    this.#copies.add(1, { source });
  }
}
