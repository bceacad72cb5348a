import type { Clock, Log, Metrics } from "../report/index.ts";
import { columnOf, exploreColumns, withoutTwins } from "./columns/column.ts";
import { createDuckDbQuestions, type DuckDbQuestions } from "./duckdb/duckdb-questions.ts";
import { reportMetrics } from "./explore-metrics.ts";
import { openDuckDbStore, type DuckDbStore } from "./duckdb/duckdb-store.ts";
import { loadDuckDb, type DuckDb } from "./duckdb/load-duckdb.ts";
import { ExploreError } from "./explore-error.ts";
import { createIntake, type Intake } from "./intake/intake.ts";
import { createSampler } from "./intake/sampler.ts";
import { fieldStatus, type ExploreStatus } from "./status.ts";

/** What the embedded store is; plain data. */
export interface EmbeddedExploreConfig {
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  /** Records a second that are kept; of more, one stands for several. 0: no bound. */
  readonly maxRate: number;
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
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Called with the fault of the store, and with undefined when it works again. */
  readonly onFault: (fault: string | undefined) => void;
}

/** A store of flow records in files, and what can be asked of it. */
export interface EmbeddedExplore extends DuckDbQuestions {
  start(): Promise<void>;
  /** Takes whole lines. They are not needed any more when it returns. */
  take(lines: Buffer): void;
  /** Adapts the sampling to the filled part of the inbox, 0 to 1. */
  lag(backlog: number): void;
  status(): Omit<ExploreStatus, "droppedRows">;
  /** Puts on disk what was taken, so that questions find it; it happens by itself every second. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushMs = 1000;
/** How long names of metadata are gathered before the columns change. */
const settleTicks = 3;
const queryThreads = 2;

export function createEmbeddedExplore(options: EmbeddedExploreOptions): EmbeddedExplore {
  const { config, clock, random, log, metrics, onFault } = options;
  const sampler = createSampler(random, config.maxRate);
  const usual = exploreColumns(config.fields);
  let duckDb: DuckDb | undefined;
  let store: DuckDbStore | undefined;
  let intake: Intake | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ticking: Promise<void> = Promise.resolve();
  let namesSeen = 0;
  let settled = 0;
  let judgedAt = clock.monotonic();
  let fault: string | undefined;
  reportMetrics(metrics, { intake: () => intake, store: () => store, factor: () => sampler.factor });

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

  /** Names of metadata become columns once no more of them come. */
  const learnNames = async (open: DuckDbStore, reader: Intake): Promise<void> => {
    const names = reader.newNames();
    settled = names.length === namesSeen ? settled + 1 : 0;
    namesSeen = names.length;
    const columns = open.columns();
    const found = names.map(columnOf).filter((column) => column !== undefined);
    const wanted = withoutTwins([...columns, ...found]);
    const added = wanted.slice(columns.length);
    if (added.length === 0 || settled < settleTicks) return;
    await open.setColumns(wanted, () => {
      reader.flush();
      reader.setColumns(wanted);
    });
    log.info({ fields: added.map(({ field }) => field) }, "Explore keeps further fields, which metadata adds");
  };

  const tick = async (): Promise<void> => {
    if (store === undefined || intake === undefined) return;
    const open = store;
    const reader = intake;
    const at = clock.monotonic();
    sampler.judgeRate(Math.max(1, at - judgedAt) / 1000);
    judgedAt = at;
    try {
      reader.flush();
      open.flush();
      await learnNames(open, reader);
      await open.tidy();
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

  const opened = (): { store: DuckDbStore; duckDb: DuckDb } => {
    if (store === undefined || duckDb === undefined) throw new ExploreError("unavailable", "Explore is not open");
    return { store, duckDb };
  };
  const { directory, timeoutMs } = config;
  const questions = createDuckDbQuestions({ opened, directory, timeoutMs, clock });

  return {
    async start() {
      duckDb = await loadDuckDb();
      store = await openDuckDbStore(usual, {
        ...config,
        duckDb,
        threads: queryThreads,
        clock,
        log,
      });
      const open = store;
      intake = createIntake({
        columns: store.columns(),
        maxNames: config.maxMetadataFields,
        sampler,
        onBlock: (block) => attempt(() => open.append(block)),
      });
      again();
    },
    take: (lines) => intake?.take(lines),
    lag: (backlog) => sampler.adapt(backlog, clock.monotonic()),
    status() {
      const open = opened().store;
      const partitions = open.partitions();
      const from = partitions.find((each) => each.from !== undefined)?.from;
      const to = partitions.findLast((each) => each.to !== undefined)?.to;
      return {
        enabled: true,
        store: "duckdb",
        ...(from !== undefined && { from: new Date(from).toISOString() }),
        ...(to !== undefined && { to: new Date(to).toISOString() }),
        rows: partitions.reduce((sum, { rows }) => sum + rows, 0),
        bytes: open.bytes(),
        sampling: sampler.factor,
        fields: open.columns().map(fieldStatus),
        retention: { hours: config.maxHours, bytes: config.maxBytes },
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
      const open = store;
      store = undefined;
      await open?.close();
    },
  };
}
