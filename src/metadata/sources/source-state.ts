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

/** The entries of a source at the last run that was used. */
interface LastCopy {
  /** The time of that run, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The {@link SourceConfig.fingerprint} at that run. */
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

  /** Creates the store of copies. A copy is lines in gzip: a header line, then one line for each entry. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#directory = directory;
    this.#io = io;
    this.#run = run;
  }

  /** Reads a copy. @returns undefined where there is none. @throws Error when it cannot be read. */
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

/** The results of a run. `held` changes wait until a person accepts them. */
const runResults = ["updated", "unchanged", "held", "failed"] as const;
type RunResult = (typeof runResults)[number];

/** The last run of a source. Times are milliseconds since the Unix epoch. */
export interface RunState {
  readonly at: number;
  readonly ms: number;
  readonly result: RunResult;
  /** The reason of a failed or held run. It may contain parts of the answer. */
  readonly reason?: string;
  /** The kind of failure. */
  readonly code?: RunFaultCode;
  readonly rows: number;
  /** The number of rows that were left out. */
  readonly faultyRows: number;
  readonly faults: readonly ImportFault[];
  readonly changes?: ChangeCounts;
  /** The first of the scopes that rows name but that do not exist. The rows wait for them. */
  readonly missingScopes?: readonly string[];
}

/** The state of a source. */
export interface SourceState {
  readonly name: string;
  readonly kind: string;
  /** The URL without parameters, or the path. */
  readonly place: string;
  readonly priority: number;
  readonly entries: number;
  readonly state: "waiting" | "restored" | "working" | "held" | "failing";
  /** The time at which entries were last received or confirmed. */
  readonly lastGood?: number;
  readonly nextRun?: number;
  readonly run?: RunState;
}

/** The changes that a run would make, as texts of keys for people. */
export interface SourceDiff {
  readonly name: string;
  readonly result: Exclude<RunResult, "failed">;
  readonly reason?: string;
  readonly changes: ChangeCounts;
  readonly added: readonly ExchangeEntry[];
  readonly changed: readonly ExchangeEntry[];
  readonly removed: readonly ExchangeEntry[];
}

/** The metrics of sources. Each source has its own series, because their number is small. */
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

  /** Shows the series of a source with the value zero. */
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
