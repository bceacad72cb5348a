import { ExchangeError, toUdmEntry, type ImportFault } from "../exchange/import-rows.ts";
import { importObjects } from "../exchange/export-entries.ts";
import type { ColumnMap } from "../exchange/map/column-map.ts";
import type { Select } from "../exchange/rows/selection.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { LayerChanges, UdmLayers } from "../store/udm-layers.ts";
import { UdmError } from "../model/udm-store.ts";
import { type AgentFor, placeOf, createSourceReader, readSecret, type Validators } from "./source-reader.ts";
import { sourceKinds } from "./kinds/kinds.ts";
import type { SourceKind } from "./kinds/source-kind.ts";
import { type SourceConfig, type SourceGuard, SourceFault, type RunFaultCode } from "./source-config.ts";
import {
  type LastCopies,
  type SourceMetrics,
  countsOf,
  type RunState,
  type SourceDiff,
  type SourceState,
} from "./source-state.ts";

/** What was read of a source. */
interface SourceReading {
  /** Undefined: the same as at the last run that was used. */
  readonly entries: readonly UdmEntry[] | undefined;
  readonly validators: Validators;
  readonly rows: number;
  /** Rows that are left out, the first of them in words. */
  readonly faults: readonly ImportFault[];
  readonly faultCount: number;
}

interface ReadSourceOptions {
  readonly agentFor: AgentFor;
  readonly select: Select;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Reads all entries of a source.
 *
 * @param known of the last run that was used; undefined: the whole is wanted.
 * @throws SourceFault when not all could be read.
 */
async function readSource(
  config: SourceConfig,
  known: Validators | undefined,
  memory: Map<string, unknown>,
  options: ReadSourceOptions,
  signal: AbortSignal,
): Promise<SourceReading> {
  const kind = sourceKinds[config.kind] as SourceKind;
  const map = mapOf(config, kind);
  const reader = createSourceReader({ ...options, config, known, signal, tokenScheme: kind.tokenScheme ?? "" });
  try {
    const answer = await kind.read({
      config: { ...config, map },
      reader,
      select: options.select,
      signal,
      memory,
      now: options.clock.now(),
      secret: async (which) => {
        const place = config[which];
        return place === undefined ? "" : readSecret(place, options.env);
      },
    });
    const { validators } = reader;
    if (answer === undefined) return { entries: undefined, validators, rows: 0, faults: [], faultCount: 0 };
    const result = "rows" in answer ? await importObjects(answer.rows, map) : answer.result;
    const { entries, rows, faults, faultCount } = result;
    const gap = faults.find(({ lines }) => lines !== undefined);
    if (gap !== undefined) throw new SourceFault("content", gap.reason);
    if (entries.length === 0 && faultCount > 0) {
      throw new SourceFault("content", `none of ${rows} rows can be used: ${showFault(faults[0])}`);
    }
    return { entries: entries.map(toUdmEntry), validators, rows, faults, faultCount };
  } catch (error) {
    if (error instanceof ExchangeError) throw new SourceFault("content", error.message);
    throw error;
  }
}

/** The map of the source, else that of its kind, with the source's own defaults. */
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

/**
 * Why changes must wait for a person's yes; undefined: they need not. The first entries of a source are always taken.
 *
 * @param before how many entries the source has.
 */
function guardAgainst(
  { added, changed, removed }: LayerChanges,
  before: number,
  { maxShrink, maxChange, maxEntries }: SourceGuard,
): string | undefined {
  const after = before + added.length - removed.length;
  if (after > maxEntries) return `${after} entries are more than max_entries (${maxEntries})`;
  if (before === 0) return undefined;
  const percent = (part: number): string => `${Math.round(100 * part)} %`;
  const shrink = (before - after) / before;
  if (shrink > maxShrink) {
    return `${after} entries in place of ${before} are ${percent(shrink)} fewer: more than max_shrink (${percent(maxShrink)})`;
  }
  const change = (changed.length + removed.length) / before;
  if (change > maxChange) {
    return `${changed.length + removed.length} of ${before} entries change or go, ${percent(change)}: more than max_change (${percent(maxChange)})`;
  }
  return undefined;
}

/** One source: reads it again and again, and keeps its layer. */
export interface SourceRunner {
  readonly config: SourceConfig;
  /** Puts the last good copy into the layer. Never throws. */
  restore(): Promise<void>;
  /** Begins to run by the interval; the first time soon. */
  begin(): void;
  /** Ends all that is under way. */
  end(): Promise<void>;
  /** Runs now, or once more after the run under way. */
  run(): Promise<SourceState>;
  /** What a run would change now. @throws SourceFault */
  diff(): Promise<SourceDiff>;
  /** Takes what is held. @returns undefined when nothing is. */
  accept(): Promise<SourceState | undefined>;
  state(): SourceState;
}

export interface SourceRunnerOptions extends ReadSourceOptions {
  readonly layers: UdmLayers;
  /** Undefined: copies are not kept. */
  readonly copies: LastCopies | undefined;
  /** Waits for one of few places, for as long as an action takes. */
  readonly turn: <A>(action: () => Promise<A>) => Promise<A>;
  readonly after: (action: () => void, ms: number) => () => void;
  /** 0 to 1. */
  readonly random: () => number;
  readonly metrics: SourceMetrics;
  readonly log: Log;
  /** Called after each run. */
  readonly changed: () => void;
}

/** After a failure it is tried again sooner than the interval, then less and less often. */
const firstRetryMs = 15_000;
const jitter = 0.1;

export function createSourceRunner(config: SourceConfig, options: SourceRunnerOptions): SourceRunner {
  const { layers, copies, turn, after, random, metrics, clock, changed } = options;
  const { name } = config;
  const log = options.log;
  const memory = new Map<string, unknown>();
  let validators: Validators | undefined;
  let isRestored = false;
  let lastGood: number | undefined;
  let nextRun: number | undefined;
  let run: RunState | undefined;
  let held: SourceReading | undefined;
  let failures = 0;
  let cancel = (): void => {};
  let working: Promise<SourceState> | undefined;
  /** The run after that. */
  let waiting: Promise<SourceState> | undefined;
  let isEnded = false;
  const ending = new AbortController();

  const size = (): number => layers.list().find((layer) => layer.name === name)?.index.size ?? 0;

  const stateName = (): SourceState["state"] => {
    if (run?.result === "failed") return "failing";
    if (held !== undefined) return "held";
    if (run !== undefined) return "working";
    return isRestored ? "restored" : "waiting";
  };

  const state = (): SourceState => ({
    name,
    kind: config.kind,
    place: config.path ?? placeOf(config.url ?? ""),
    priority: config.priority,
    entries: size(),
    state: stateName(),
    ...(lastGood !== undefined && { lastGood }),
    ...(nextRun !== undefined && { nextRun }),
    ...(run !== undefined && { run }),
  });

  const read = (known: Validators | undefined, using: Map<string, unknown>): Promise<SourceReading> =>
    turn(async () => {
      const late = new AbortController();
      const seconds = config.maxTimeMs / 1000;
      const tooSlow = new SourceFault("too_slow", `it was not read within ${seconds} s (max_time)`);
      const calledOff = after(() => late.abort(tooSlow), config.maxTimeMs);
      const signal = AbortSignal.any([ending.signal, late.signal]);
      try {
        // What does not look at the signal is not waited for.
        return await Promise.race([readSource(config, known, using, options, signal), rejected(signal)]);
      } catch (error) {
        throw late.signal.aborted ? tooSlow : error;
      } finally {
        calledOff();
      }
    });

  const use = async (reading: SourceReading, method: string): Promise<Pick<RunState, "result" | "changes">> => {
    const entries = reading.entries ?? [];
    const changes = countsOf(await layers.replace(name, entries, method));
    validators = reading.validators;
    held = undefined;
    lastGood = clock.now();
    const isSame = changes.added + changes.changed + changes.removed === 0;
    if (!isSame || !isRestored) await keep(entries);
    return { result: isSame ? "unchanged" : "updated", changes };
  };

  const keep = async (entries: readonly UdmEntry[]): Promise<void> => {
    try {
      const { fingerprint } = config;
      await copies?.write(name, { at: clock.now(), fingerprint, validators: validators ?? {}, entries });
      isRestored = true;
    } catch (error) {
      metrics.copyFailed(name);
      log.warn(
        { source: name, error },
        "the last good copy of a source cannot be kept: it is not used at the next start",
      );
    }
  };

  const attempt = async (): Promise<Omit<RunState, "at" | "ms">> => {
    const reading = await read(validators, memory);
    const { rows, faults, faultCount: faultyRows } = reading;
    const about = { rows, faults: faults.slice(0, mostFaults), faultyRows };
    if (reading.entries === undefined) {
      // It says again what is in use.
      held = undefined;
      lastGood = clock.now();
      return { result: "unchanged", ...about };
    }
    if (faultyRows > 0)
      log.warn({ source: name, faultyRows, first: showFault(faults[0]) }, "rows of a source are left out");
    const changes = await layers.compare(name, reading.entries);
    const reason = guardAgainst(changes, size(), config.guard);
    if (reason === undefined) return { ...(await use(reading, "RunSource")), ...about };
    held = reading;
    memory.clear();
    log.warn({ source: name, reason }, `a source changed too much: netgloss source accept ${name} takes it`);
    return { result: "held", reason, changes: countsOf(changes), ...about };
  };

  const runOnce = async (): Promise<SourceState> => {
    cancel();
    const at = clock.now();
    const start = clock.monotonic();
    let retryAfterMs: number | undefined;
    try {
      run = { ...(await attempt()), at, ms: Math.round(clock.monotonic() - start) };
      failures = 0;
    } catch (error) {
      if (isEnded) return state();
      const { reason, code, retry } = explain(error);
      retryAfterMs = retry;
      failures++;
      memory.clear();
      metrics.failed(name, code);
      log.warn({ source: name, reason, failures }, "a source cannot be read: its last entries stay");
      const ms = Math.round(clock.monotonic() - start);
      run = { result: "failed", reason, code, at, ms, rows: 0, faultyRows: 0, faults: [] };
    }
    metrics.ran(name, run.result, clock.monotonic() - start, run.faultyRows);
    schedule(retryAfterMs);
    changed();
    return state();
  };

  const explain = (error: unknown): { reason: string; code: RunFaultCode; retry: number | undefined } => {
    if (error instanceof SourceFault) return { reason: error.message, code: error.code, retry: error.retryAfterMs };
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UdmError) return { reason, code: "no_room", retry: undefined };
    log.error({ source: name, error }, "a run of a source failed");
    return { reason, code: "other", retry: undefined };
  };

  const schedule = (retryAfterMs: number | undefined): void => {
    if (isEnded) return;
    const { intervalMs } = config;
    const wait = failures === 0 ? intervalMs : Math.min(intervalMs, firstRetryMs * 2 ** Math.min(failures - 1, 20));
    // A server does not make a source rarer than its interval.
    const ms = Math.max(wait * (1 + jitter * (2 * random() - 1)), Math.min(retryAfterMs ?? 0, intervalMs));
    nextRun = clock.now() + Math.round(ms);
    cancel = after(() => void runner.run(), ms);
  };

  const runner: SourceRunner = {
    config,
    async restore() {
      try {
        const copy = await copies?.read(name);
        if (copy === undefined) return;
        await layers.replace(name, copy.entries);
        isRestored = true;
        lastGood = copy.at;
        // What is read by other rules must be read whole.
        if (copy.fingerprint === config.fingerprint) ({ validators } = copy);
      } catch (error) {
        metrics.copyFailed(name);
        log.warn({ source: name, error }, "the last good copy of a source cannot be used");
      }
    },
    begin() {
      const ms = random() * Math.min(isRestored ? 5000 : 0, config.intervalMs);
      nextRun = clock.now() + Math.round(ms);
      cancel = after(() => void runner.run(), ms);
    },
    async end() {
      isEnded = true;
      cancel();
      ending.abort();
      await working?.catch(() => {});
    },
    run() {
      if (working === undefined) {
        working = runOnce().finally(() => {
          working = undefined;
        });
        return working;
      }
      // What is under way may have read before what its caller knows of.
      waiting ??= working.then(() => {
        waiting = undefined;
        return runner.run();
      });
      return waiting;
    },
    async diff() {
      const reading = held ?? (await read(undefined, new Map()));
      const changes = await layers.compare(name, reading.entries ?? []);
      const reason = guardAgainst(changes, size(), config.guard);
      const counts = countsOf(changes);
      const isSame = counts.added + counts.changed + counts.removed === 0;
      const result = reason === undefined ? (isSame ? "unchanged" : "updated") : "held";
      const { added, removed, changed: becoming } = changes;
      return {
        name,
        result,
        ...(reason !== undefined && { reason }),
        changes: counts,
        added: added.slice(0, mostShown),
        changed: becoming.slice(0, mostShown),
        removed: removed.slice(0, mostShown),
      };
    },
    async accept() {
      await working;
      if (held === undefined) return undefined;
      const { rows, faults, faultCount: faultyRows } = held;
      const start = clock.monotonic();
      const at = clock.now();
      const used = await use(held, "AcceptSource");
      log.info({ source: name, ...used.changes }, "the held changes of a source were accepted");
      run = {
        ...used,
        at,
        ms: Math.round(clock.monotonic() - start),
        rows,
        faultyRows,
        faults: faults.slice(0, mostFaults),
      };
      changed();
      return state();
    },
    state,
  };
  return runner;
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** Faults of a run that are shown, and entries of a diff. */
const mostFaults = 20;
const mostShown = 1000;
