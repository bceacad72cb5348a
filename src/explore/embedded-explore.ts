import type { Metrics, Clock, Log } from "../base/report/index.ts";
import type { DuckDbStore } from "./duckdb/duckdb-store.ts";
import type { Rollups } from "./duckdb/rollups.ts";
import { type Intake, createIntake } from "./intake.ts";
import { type SamplingJudge, createSamplingJudge, type SamplingMemory, type SamplingRates } from "./sampling/index.ts";
import { columnOf, createRollupFields, exploreColumns, withoutTwins, type Column } from "./column.ts";
import { createDuckDbQuestions, type DuckDbQuestions } from "./duckdb/duckdb-questions.ts";
import { openDuckDb, type OpenedDuckDb } from "./duckdb/open-duckdb.ts";
import type { Partition } from "./duckdb/partition.ts";
import { ExploreError } from "./column.ts";
import { fieldStatus, type ExploreStatus } from "./status.ts";

interface Counted {
  readonly intake: () => Intake | undefined;
  readonly store: () => DuckDbStore | undefined;
  readonly rollups: () => Rollups | undefined;
  readonly judge: Pick<SamplingJudge, "factor" | "sampledOut">;
}

function reportMetrics(metrics: Metrics, { intake, store, rollups, judge }: Counted): void {
  metrics.counterFrom("netgloss_explore_rows_total", "Flow records that Explore keeps.", [], () => [
    [{}, intake()?.counts.rows ?? 0],
  ]);
  metrics.counterFrom(
    "netgloss_explore_sampled_out_records_total",
    "Records that Explore does not keep because others stand for them.",
    [],
    () => [[{}, judge.sampledOut]],
  );
  metrics.gaugeFrom("netgloss_explore_sampling", "How many records one that Explore keeps stands for.", [], () => [
    [{}, judge.factor],
  ]);
  metrics.gaugeFrom("netgloss_explore_bytes", "Bytes of Explore's files of records.", [], () => [
    [{}, store()?.bytes() ?? 0],
  ]);
  metrics.gaugeFrom(
    "netgloss_explore_unsorted_files",
    "Complete files of records that Explore has still to sort; none is sorted while records wait to be taken.",
    [],
    () => [[{}, store()?.sorter.waiting ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_sorted_rows_total",
    "Flow records of files that Explore has sorted.",
    [],
    () => [[{}, store()?.sorter.sortedRows ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_sort_failures_total",
    "Files of records that Explore could not sort; they stay as they are and take more room.",
    [],
    () => [[{}, store()?.sorter.failures ?? 0]],
  );
  metrics.gaugeFrom("netgloss_explore_rollup_bytes", "Bytes of Explore's rollups.", [], () => [
    [{}, rollups()?.bytes() ?? 0],
  ]);
  metrics.counterFrom(
    "netgloss_explore_rollup_failures_total",
    "Files of records of which Explore could not make rollups; it tries again.",
    [],
    () => [[{}, rollups()?.failures ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_damaged_files_total",
    "Files of Explore that could not be read and were set aside.",
    [],
    () => [[{}, (store()?.setAside ?? 0) + (rollups()?.setAside ?? 0)]],
  );
}

/** What the embedded store is; plain data. */
export interface EmbeddedExploreConfig {
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  readonly rollups: {
    /** 0: none are made. */
    readonly maxDays: number;
    readonly maxBytes: number;
    /** Fields that they keep besides the usual ones. */
    readonly fields: readonly string[];
  };
  /** Of more records than these, one stands for several. */
  readonly rates: SamplingRates;
  /** What queries may take. */
  readonly memoryBytes: number;
  /** Fields that are kept besides the usual ones. */
  readonly fields: readonly string[];
  /** How many keys of metadata become columns by themselves. */
  readonly maxMetadataFields: number;
  readonly timeoutMs: number;
}

export interface EmbeddedExploreOptions {
  readonly config: EmbeddedExploreConfig;
  /** Shared with those who choose the records that it takes. */
  readonly sampling: SamplingMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Called with the fault of the store, and with undefined when it works again. */
  readonly onFault: (fault: string | undefined) => void;
}

/** A store of flow records in files, and what can be asked of it. */
export interface EmbeddedExplore extends DuckDbQuestions {
  start(): Promise<void>;
  /** Takes whole lines that stand for this many records, each for as many as the others. They are not needed any more when it returns. */
  take(lines: Buffer, records: number): void;
  /** Adapts the sampling to the filled part of the inbox, 0 to 1. */
  lag(backlog: number): void;
  status(): Omit<ExploreStatus, "droppedRows">;
  /** Puts on disk what was taken, so that questions find it; it happens by itself every second. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushMs = 1000;

export function createEmbeddedExplore(options: EmbeddedExploreOptions): EmbeddedExplore {
  const { config, clock, log, metrics, onFault } = options;
  const judge = createSamplingJudge(options.sampling, config.rates);
  const isCalm = (): boolean => judge.isCalm(clock.monotonic());
  const usual = exploreColumns(config.fields);
  const isRolledUp = createRollupFields(config.rollups.fields);
  let open: OpenedDuckDb | undefined;
  let intake: Intake | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ticking: Promise<void> = Promise.resolve();
  /** What is being sorted or rolled up. */
  let inWork: Partition | undefined;
  /** Of that, what is being rolled up. */
  let inRollup: Partition | undefined;
  /** Fields that metadata added since they were logged. */
  let added: string[] = [];
  let judgedAt = clock.monotonic();
  let fault: string | undefined;
  reportMetrics(metrics, {
    intake: () => intake,
    store: () => open?.store,
    rollups: () => open?.rollups,
    judge,
  });

  const setFault = (found: unknown): void => {
    const text = found instanceof Error ? found.message : undefined;
    if (text === fault) return;
    fault = text;
    if (text !== undefined) log.error({ error: found }, "Explore cannot keep records");
    onFault(text);
  };

  const attempt = (work: () => void): void => {
    try {
      work();
      setFault(undefined);
    } catch (error) {
      setFault(error);
    }
  };

  /** Files stay until they are rolled up, and as long as something reads them. */
  const keep = (file: Partition): "age" | "bytes" | undefined => {
    if (file === inRollup) return "bytes";
    return open === undefined || open.rollups.lacks(file) ? "age" : undefined;
  };

  /** Names of metadata become columns. */
  const addColumns = (store: DuckDbStore, names: readonly string[]): readonly Column[] => {
    const columns = store.columns();
    const found = names.map(columnOf).filter((column) => column !== undefined);
    const wanted = withoutTwins([...columns, ...found]);
    added.push(...wanted.slice(columns.length).map(({ field }) => field));
    store.setColumns(wanted);
    return wanted;
  };
  const logAdded = (): void => {
    if (added.length > 0) log.info({ fields: added }, "Explore keeps further fields, which metadata adds");
    added = [];
  };

  /** Sorts and rolls up complete files while new rows arrive: one at a time, the oldest first. */
  const workNext = ({ store, rollups }: OpenedDuckDb): void => {
    if (inWork !== undefined) return;
    const { sorter } = store;
    const unsorted = sorter.next();
    inRollup = unsorted === undefined ? rollups.next(store.partitions()) : undefined;
    inWork = unsorted ?? inRollup;
    if (inWork === undefined) return;
    const work = unsorted === undefined ? rollups.add(inWork) : sorter.sort(inWork);
    void work.finally(() => (inWork = inRollup = undefined));
  };

  const tick = async (): Promise<void> => {
    if (open === undefined || intake === undefined) return;
    const { store, rollups } = open;
    const reader = intake;
    const at = clock.monotonic();
    judge.judgeRate(Math.max(1, at - judgedAt) / 1000);
    judgedAt = at;
    try {
      reader.flush();
      await store.flush();
      logAdded();
      await rollups.tidy();
      workNext(open);
      setFault(undefined);
    } catch (error) {
      setFault(error);
    }
  };
  /** One at a time. */
  const tickAfterLast = (): Promise<void> => {
    ticking = ticking.then(tick);
    return ticking;
  };
  const again = (): void => {
    timer = setTimeout(() => {
      void tickAfterLast().finally(() => {
        if (timer !== undefined) again();
      });
    }, flushMs);
  };

  const opened = (): OpenedDuckDb => {
    if (open === undefined) throw new ExploreError("unavailable", "Explore is not open");
    return open;
  };
  const { directory, timeoutMs } = config;
  const questions = createDuckDbQuestions({ opened, directory, timeoutMs, clock });

  return {
    async start() {
      open = await openDuckDb(usual, isRolledUp, { ...config, isCalm, keep, clock, log });
      const { store } = open;
      intake = createIntake({
        columns: store.columns(),
        maxNames: config.maxMetadataFields,
        onBlock: (block) => attempt(() => store.append(block)),
        onNames: (names) => addColumns(store, names),
      });
      again();
    },
    take: (lines, records) => intake?.take(lines, records),
    lag: (backlog) => judge.adapt(backlog, clock.monotonic()),
    status() {
      const { store, rollups } = opened();
      const partitions = store.partitions();
      const sources = rollups.files().flatMap((file) => file.sources);
      const { maxDays, maxBytes } = config.rollups;
      return {
        enabled: true,
        store: "duckdb",
        ...boundsOf(partitions),
        rows: partitions.reduce((sum, { rows }) => sum + rows, 0),
        bytes: store.bytes(),
        sampling: judge.factor,
        fields: store.columns().map((column) => fieldStatus(column, maxDays > 0 && isRolledUp(column.field))),
        retention: { hours: config.maxHours, bytes: config.maxBytes },
        ...(maxDays > 0 && {
          rollups: {
            ...boundsOf(sources),
            bytes: rollups.bytes(),
            retention: { hours: 24 * maxDays, bytes: maxBytes },
          },
        }),
      };
    },
    ...questions,
    async flush() {
      await tickAfterLast();
    },
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await ticking;
      intake?.flush();
      const last = open;
      open = undefined;
      await last?.close();
    },
  };
}

/** Of files, the time of the oldest and the newest record. */
function boundsOf(files: readonly { readonly from: number | undefined; readonly to: number | undefined }[]): {
  readonly from?: string;
  readonly to?: string;
} {
  const from = Math.min(...files.map((each) => each.from ?? Number.POSITIVE_INFINITY));
  const to = Math.max(...files.map((each) => each.to ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(from) || !Number.isFinite(to)) return {};
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
