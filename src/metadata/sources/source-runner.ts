import { ExchangeError, type ImportFault } from "../exchange/import-rows.ts";
import { importObjects } from "../exchange/export-entries.ts";
import type { ColumnMap } from "../exchange/map/column-map.ts";
import type { Select } from "../exchange/rows/selection.ts";
import type { FileIo } from "../../base/file/index.ts";
import { Backoff, type Reporting } from "../../base/report/index.ts";
import type { LayersOfScopes, UdmLayers } from "../store/udm-layers.ts";
import { UdmError } from "../model/udm-store.ts";
import { type AgentFor, placeOf, SourceReader, readSecret, type Validators } from "./source-reader.ts";
import { sourceKinds } from "./kinds/kinds.ts";
import type { SourceKind } from "./kinds/source-kind.ts";
import { type SourceConfig, SourceFault, type RunFaultCode } from "./source-config.ts";
import { byScope, guardAgainst, type EntriesByScope, type SourceLayers } from "./source-layers.ts";
import type { LastCopies, RunState, SourceDiff, SourceMetrics, SourceState } from "./source-state.ts";

/** The result of reading a source. */
interface SourceReading {
  /** The entries; undefined where they are the same as at the last run that was used. */
  readonly entries: EntriesByScope | undefined;
  readonly validators: Validators;
  readonly rows: number;
  /** The first of the rows that are left out, with their reasons. */
  readonly faults: readonly ImportFault[];
  readonly faultCount: number;
}

/** The options of sources. */
export interface SourcesOptions extends Reporting {
  /** The path of the file that lists the sources. */
  readonly path: string;
  readonly io: FileIo;
  /** The layers of global entries. */
  readonly layers: UdmLayers;
  /** The scopes that rows may name; undefined where there are none. */
  readonly scopes: LayersOfScopes | undefined;
  readonly copies: LastCopies | undefined;
  readonly agentFor: AgentFor;
  /** Selects the rows of a document by an expression. */
  readonly select: Select;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that cancels it. */
  readonly after: (action: () => void, ms: number) => () => void;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
}

/** The parts that all runners share. */
export interface SharedByRunners {
  /** Limits how many actions run at the same time. Other actions wait. */
  readonly limit: <A>(action: () => Promise<A>) => Promise<A>;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly metrics: SourceMetrics;
  readonly layers: SourceLayers;
  /** Is called after each run. */
  readonly changed: () => void;
}

/** Returns the map of the source, or that of its kind, with the defaults of the source. */
function mapOf({ map, defaults }: SourceConfig, kind: SourceKind): ColumnMap {
  const base = map ?? kind.map;
  const { tags, metadata, ...rest } = defaults;
  return {
    ...base,
    defaults: {
      ...base.defaults,
      ...rest,
      tags: [...(base.defaults.tags ?? []), ...(tags ?? [])],
      metadata: new Map([...(base.defaults.metadata ?? []), ...(metadata ?? [])]),
    },
  };
}

function showFault(fault: ImportFault | undefined): string {
  if (fault === undefined) return "";
  const column = fault.column === "" ? "" : `, column ${fault.column}`;
  return `row ${fault.row}${column}: ${fault.reason}`;
}

/** The first wait after a failure. It is shorter than the interval, and grows with each further failure. */
const firstRetryMs = 15_000;
const jitter = 0.1;

/** One source. It reads the source at intervals and maintains its layer. */
export class SourceRunner {
  readonly config: SourceConfig;
  readonly #options: SourcesOptions;
  readonly #shared: SharedByRunners;
  readonly #name: string;
  readonly #memory = new Map<string, unknown>();
  #validators: Validators | undefined;
  /** True where the last good copy has what is in use. */
  #isKept = false;
  #lastGood: number | undefined;
  #nextRun: number | undefined;
  #run: RunState | undefined;
  #held: SourceReading | undefined;
  /** The scopes that the rows in use name. */
  #scopes: readonly string[] = [];
  /** Scopes that were added and do not have the entries in use yet. */
  readonly #unfilled = new Set<string>();
  #failures = 0;
  #cancel = (): void => {};
  #working: Promise<SourceState> | undefined;
  /** The run after the present one. */
  #waiting: Promise<SourceState> | undefined;
  #isEnded = false;
  readonly #ending = new AbortController();

  constructor(config: SourceConfig, options: SourcesOptions, shared: SharedByRunners) {
    this.#shared = shared;
    this.config = config;
    this.#options = options;
    this.#name = config.name;
  }

  state(): SourceState {
    return {
      name: this.#name,
      kind: this.config.kind,
      place: this.config.path ?? placeOf(this.config.url ?? ""),
      priority: this.config.priority,
      entries: this.#shared.layers.size(this.#name),
      state: this.#stateName(),
      ...(this.#lastGood !== undefined && { lastGood: this.#lastGood }),
      ...(this.#nextRun !== undefined && { nextRun: this.#nextRun }),
      ...(this.#run !== undefined && { run: this.#run }),
    };
  }

  /** Puts the last good copy into the layer. It never throws. */
  async restore(): Promise<void> {
    try {
      const copy = await this.#options.copies?.read(this.#name);
      if (copy === undefined) return;
      await this.#shared.layers.replace(this.#name, copy.entries);
      this.#scopes = [...copy.entries.keys()];
      this.#isKept = true;
      this.#lastGood = copy.at;
      // If the configuration has changed since the copy, the source must be read completely.
      if (copy.fingerprint === this.config.fingerprint) ({ validators: this.#validators } = copy);
    } catch (error) {
      this.#shared.metrics.copyFailed(this.#name);
      this.#options.log.warn({ source: this.#name, error }, "the last good copy of a source cannot be used");
    }
  }

  /** Gives new scopes their entries of this source, from its last good copy or from the source itself. */
  fill(scopes: ReadonlySet<string>): void {
    if (this.#isEnded) return;
    for (const scope of this.#scopes) if (scopes.has(scope)) this.#unfilled.add(scope);
    if (this.#unfilled.size > 0) void this.run();
  }

  /** Starts runs at the interval. The first run begins soon. */
  begin(): void {
    const ms = this.#options.random() * Math.min(this.#isKept ? 5000 : 0, this.config.intervalMs);
    this.#nextRun = this.#options.clock.now() + Math.round(ms);
    this.#cancel = this.#options.after(() => void this.run(), ms);
  }

  /** Stops and waits for everything in progress. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancel();
    this.#ending.abort();
    await this.#working?.catch(() => {});
  }

  /** Runs now, or once more after the run in progress. */
  run(): Promise<SourceState> {
    if (this.#working === undefined) {
      this.#working = this.#runOnce().finally(() => {
        this.#working = undefined;
      });
      return this.#working;
    }
    // A run in progress may have read the source before the change that the caller expects.
    this.#waiting ??= this.#working.then(() => {
      this.#waiting = undefined;
      return this.run();
    });
    return this.#waiting;
  }

  /** Returns the changes that a run would make now. @throws SourceFault */
  async diff(): Promise<SourceDiff> {
    const reading = this.#held ?? (await this.#read(undefined, new Map()));
    const { layers } = this.#shared;
    const changes = await layers.compare(this.#name, reading.entries ?? new Map());
    const reason = guardAgainst(changes, layers.size(this.#name), this.config.guard);
    const { counts, added, changed, removed } = changes;
    const isSame = counts.added + counts.changed + counts.removed === 0;
    const result = reason === undefined ? (isSame ? "unchanged" : "updated") : "held";
    return {
      name: this.#name,
      result,
      ...(reason !== undefined && { reason }),
      changes: counts,
      added,
      changed,
      removed,
    };
  }

  /** Accepts held changes. @returns undefined where none are held. */
  async accept(): Promise<SourceState | undefined> {
    await this.#working;
    if (this.#held === undefined) return undefined;
    const { rows, faults, faultCount: faultyRows } = this.#held;
    const start = this.#options.clock.monotonic();
    const at = this.#options.clock.now();
    const used = await this.#use(this.#held, "AcceptSource");
    this.#options.log.info({ source: this.#name, ...used.changes }, "the held changes of a source were accepted");
    this.#run = {
      ...used,
      at,
      ms: Math.round(this.#options.clock.monotonic() - start),
      rows,
      faultyRows,
      faults: faults.slice(0, mostFaults),
    };
    this.#shared.changed();
    return this.state();
  }

  #stateName(): SourceState["state"] {
    if (this.#run?.result === "failed") return "failing";
    if (this.#held !== undefined) return "held";
    if (this.#run !== undefined) return "working";
    return this.#isKept ? "restored" : "waiting";
  }

  /**
   * Reads all entries of the source.
   *
   * @param known the validators of the last run that was used; undefined requests the whole document.
   * @throws SourceFault when it could not read everything.
   */
  async #readAll(
    known: Validators | undefined,
    memory: Map<string, unknown>,
    signal: AbortSignal,
  ): Promise<SourceReading> {
    const { config } = this;
    const options = this.#options;
    const kind = sourceKinds[config.kind] as SourceKind;
    const map = mapOf(config, kind);
    const reader = new SourceReader(config, known, kind.tokenScheme ?? "", options, this.#shared.pause, signal);
    try {
      const answer = await kind.read({
        config: { ...config, map },
        reader,
        select: options.select,
        checkScope: this.#shared.layers.checkScope,
        signal,
        memory,
        now: options.clock.now(),
        secret: async (which) => {
          const source = config[which];
          return source === undefined ? "" : readSecret(source, options);
        },
      });
      const { validators } = reader;
      if (answer === undefined) return { entries: undefined, validators, rows: 0, faults: [], faultCount: 0 };
      const result =
        "rows" in answer ? await importObjects(answer.rows, map, this.#shared.layers.checkScope) : answer.result;
      const { entries, rows, faults, faultCount } = result;
      const gap = faults.find(({ lines }) => lines !== undefined);
      if (gap !== undefined) throw new SourceFault("content", gap.reason);
      if (entries.length === 0 && faultCount > 0) {
        throw new SourceFault("content", `none of ${rows} rows can be used: ${showFault(faults[0])}`);
      }
      return { entries: byScope(entries), validators, rows, faults, faultCount };
    } catch (error) {
      if (error instanceof ExchangeError) throw new SourceFault("content", error.message);
      throw error;
    }
  }

  #read(known: Validators | undefined, using: Map<string, unknown>): Promise<SourceReading> {
    return this.#shared.limit(async () => {
      const late = new AbortController();
      const seconds = this.config.maxTimeMs / 1000;
      const tooSlow = new SourceFault("too_slow", `it was not read within ${seconds} s (max_time)`);
      const calledOff = this.#options.after(() => late.abort(tooSlow), this.config.maxTimeMs);
      const signal = AbortSignal.any([this.#ending.signal, late.signal]);
      try {
        // Do not wait for a reader that ignores the signal.
        return await Promise.race([this.#readAll(known, using, signal), rejected(signal)]);
      } catch (error) {
        throw late.signal.aborted ? tooSlow : error;
      } finally {
        calledOff();
      }
    });
  }

  async #use(reading: SourceReading, method: string): Promise<Pick<RunState, "result" | "changes" | "missingScopes">> {
    const entries: EntriesByScope = reading.entries ?? new Map();
    const before = this.#scopes;
    this.#scopes = [...entries.keys()];
    const { counts: changes } = await this.#shared.layers.replace(this.#name, entries, method);
    this.#validators = reading.validators;
    this.#held = undefined;
    this.#lastGood = this.#options.clock.now();
    const isSame = changes.added + changes.changed + changes.removed === 0;
    const missing = this.#shared.layers.missing(this.#scopes);
    // Entries of scopes that do not exist cannot be compared.
    if (!isSame || !this.#isKept || missing.length > 0 || before.length !== this.#scopes.length) {
      await this.#keep(entries);
    }
    if (missing.length > 0) {
      this.#options.log.warn(
        { source: this.#name, scopes: missing.slice(0, mostFaults) },
        "rows of a source are of scopes that there are not: they wait for them",
      );
    }
    return { result: isSame ? "unchanged" : "updated", changes, ...this.#missing() };
  }

  #missing(): Pick<RunState, "missingScopes"> {
    const missing = this.#shared.layers.missing(this.#scopes);
    return missing.length === 0 ? {} : { missingScopes: missing.slice(0, mostFaults) };
  }

  async #keep(entries: EntriesByScope): Promise<void> {
    try {
      const { fingerprint } = this.config;
      await this.#options.copies?.write(this.#name, {
        at: this.#options.clock.now(),
        fingerprint,
        validators: this.#validators ?? {},
        entries,
      });
      this.#isKept = true;
    } catch (error) {
      this.#isKept = false;
      this.#shared.metrics.copyFailed(this.#name);
      this.#options.log.warn(
        { source: this.#name, error },
        "the last good copy of a source cannot be kept: it is not used at the next start",
      );
    }
  }

  async #attempt(): Promise<Omit<RunState, "at" | "ms">> {
    const reading = await this.#read(this.#validators, this.#memory);
    const { rows, faults, faultCount: faultyRows } = reading;
    const about = { rows, faults: faults.slice(0, mostFaults), faultyRows };
    if (reading.entries === undefined) {
      // The source has the entries in use again.
      this.#held = undefined;
      this.#lastGood = this.#options.clock.now();
      return { result: "unchanged", ...about, ...this.#missing() };
    }
    if (faultyRows > 0)
      this.#options.log.warn(
        { source: this.#name, faultyRows, first: showFault(faults[0]) },
        "rows of a source are left out",
      );
    const { layers } = this.#shared;
    const changes = await layers.compare(this.#name, reading.entries);
    const reason = guardAgainst(changes, layers.size(this.#name), this.config.guard);
    if (reason === undefined) return { ...(await this.#use(reading, "RunSource")), ...about };
    this.#held = reading;
    this.#memory.clear();
    this.#options.log.warn(
      { source: this.#name, reason },
      `a source changed too much: netgloss source accept ${this.#name} takes it`,
    );
    return { result: "held", reason, changes: changes.counts, ...about };
  }

  async #fill(): Promise<void> {
    if (this.#unfilled.size === 0) return;
    const scopes = new Set(this.#unfilled);
    this.#unfilled.clear();
    try {
      const copy = this.#isKept ? await this.#options.copies?.read(this.#name) : undefined;
      if (copy !== undefined) {
        await this.#shared.layers.replace(this.#name, copy.entries, "RunSource", scopes);
        return;
      }
    } catch (error) {
      this.#shared.metrics.copyFailed(this.#name);
      this.#options.log.warn({ source: this.#name, error }, "the last good copy of a source cannot be used");
    }
    // The next run must read everything, even if nothing has changed.
    this.#validators = undefined;
    this.#memory.clear();
  }

  async #runOnce(): Promise<SourceState> {
    this.#cancel();
    await this.#fill();
    const at = this.#options.clock.now();
    const start = this.#options.clock.monotonic();
    let retryAfterMs: number | undefined;
    try {
      this.#run = { ...(await this.#attempt()), at, ms: Math.round(this.#options.clock.monotonic() - start) };
      this.#failures = 0;
    } catch (error) {
      if (this.#isEnded) return this.state();
      const { reason, code, retry } = this.#explain(error);
      retryAfterMs = retry;
      this.#failures++;
      this.#memory.clear();
      this.#shared.metrics.failed(this.#name, code);
      this.#options.log.warn(
        { source: this.#name, reason, failures: this.#failures },
        "a source cannot be read: its last entries stay",
      );
      const ms = Math.round(this.#options.clock.monotonic() - start);
      this.#run = { result: "failed", reason, code, at, ms, rows: 0, faultyRows: 0, faults: [] };
    }
    this.#shared.metrics.ran(
      this.#name,
      this.#run.result,
      this.#options.clock.monotonic() - start,
      this.#run.faultyRows,
    );
    this.#schedule(retryAfterMs);
    this.#shared.changed();
    return this.state();
  }

  #explain(error: unknown): { reason: string; code: RunFaultCode; retry: number | undefined } {
    if (error instanceof SourceFault) return { reason: error.message, code: error.code, retry: error.retryAfterMs };
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UdmError) return { reason, code: "no_room", retry: undefined };
    this.#options.log.error({ source: this.#name, error }, "a run of a source failed");
    return { reason, code: "other", retry: undefined };
  }

  #schedule(retryAfterMs: number | undefined): void {
    if (this.#isEnded) return;
    const { intervalMs } = this.config;
    const wait = this.#failures === 0 ? intervalMs : new Backoff(firstRetryMs, intervalMs).delay(this.#failures);
    // A server cannot make the wait longer than the interval.
    const ms = Math.max(
      wait * (1 + jitter * (2 * this.#options.random() - 1)),
      Math.min(retryAfterMs ?? 0, intervalMs),
    );
    this.#nextRun = this.#options.clock.now() + Math.round(ms);
    this.#cancel = this.#options.after(() => void this.run(), ms);
  }
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** The most faults of a run, and the most missing scopes, that are shown. */
const mostFaults = 20;
