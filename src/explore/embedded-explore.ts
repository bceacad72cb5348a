import { join } from "node:path";
import type { Clock, Log, Metrics } from "../report/index.ts";
import { nearName, quote } from "../text/index.ts";
import { columnOf, exploreColumns, type Column } from "./columns/column.ts";
import { createDuckDbEngine } from "./duckdb/duckdb-engine.ts";
import { openDuckDbStore, type DuckDbStore, type Partition } from "./duckdb/duckdb-store.ts";
import { writeParquet } from "./duckdb/write-parquet.ts";
import { loadDuckDb, type DuckDb } from "./duckdb/load-duckdb.ts";
import { ExploreError } from "./explore-error.ts";
import type { FlowsAnswer } from "./query/flows-answer.ts";
import { createIntake, type Intake } from "./intake/intake.ts";
import { createSampler } from "./intake/sampler.ts";
import type { AnswerTable } from "./query/answer-table.ts";
import type { ExploreAnswer } from "./query/answer.ts";
import type { ExploreQuery, FlowsQuery, TimeRange } from "./query/explore-query.ts";
import type { PlainValue } from "./query/query-engine.ts";
import { createQueryGate } from "./query/query-gate.ts";
import { flowsStatement } from "./query/query-sql.ts";
import { recordOf } from "./query/record-of.ts";
import { runQuery } from "./query/run-query.ts";
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
  /** Is told what is wrong with the store, and undefined when it works. */
  readonly onFault: (fault: string | undefined) => void;
}

/** A store of flow records in files, and what can be asked of it. */
export interface EmbeddedExplore {
  start(): Promise<void>;
  /** Takes whole lines. They are not needed any more when it returns. */
  take(lines: Buffer): void;
  /** Is told how full the inbox is, 0 to 1. */
  lag(backlog: number): void;
  status(): Omit<ExploreStatus, "droppedRows">;
  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
  /** A table as a file of Parquet. */
  parquet(table: AnswerTable): Promise<Uint8Array>;
  /** Puts on disk what was taken, so that questions find it; it happens by itself every second. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushMs = 1000;
/** How long names of metadata are gathered before the columns change. */
const settleTicks = 3;
const maxRunning = 2;
const maxWaiting = 16;
const queryThreads = 2;

export function createEmbeddedExplore(options: EmbeddedExploreOptions): EmbeddedExplore {
  const { config, clock, random, log, metrics, onFault } = options;
  const sampler = createSampler(random, config.maxRate);
  const gate = createQueryGate(maxRunning, maxWaiting);
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
    const known = new Set(columns.map(({ field }) => field));
    const added = names
      .filter((name) => !known.has(name))
      .map(columnOf)
      .filter((column) => column !== undefined);
    if (added.length === 0 || settled < settleTicks) return;
    const wanted = [...columns, ...added];
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
  const again = (): void => {
    timer = setTimeout(() => {
      ticking = tick().finally(() => {
        if (timer !== undefined) again();
      });
    }, flushMs);
  };

  const opened = (): { store: DuckDbStore; duckDb: DuckDb } => {
    if (store === undefined || duckDb === undefined) throw new ExploreError("unavailable", "Explore is not open");
    return { store, duckDb };
  };
  const engineOf = (partitions: readonly Partition[]) => {
    const open = opened();
    const columns = new Map(open.store.columns().map((column) => [column.field, column]));
    return createDuckDbEngine({
      ...open,
      partitions,
      timeoutMs: config.timeoutMs,
      columnOf: (field) => columns.get(field) ?? unknownField(field, columns.keys()),
    });
  };
  /** The oldest comes first. */
  const partitionsOf = ({ from, to }: TimeRange): readonly Partition[] => {
    const all = opened().store.partitions();
    const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
    return within.length > 0 ? within : all.slice(-1);
  };
  const samplingOf = (partitions: readonly Partition[]): number =>
    partitions.reduce((most, { maxWeight }) => Math.max(most, maxWeight), 1);
  const isComplete = ({ from }: TimeRange): boolean => {
    const oldest = opened()
      .store.partitions()
      .find((each) => each.from !== undefined)?.from;
    return oldest !== undefined && oldest <= from;
  };

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
    query: (query, signal) =>
      gate.run(signal, async () => {
        const begun = clock.monotonic();
        const range = query.compare ? { from: 2 * query.from - query.to, to: query.to } : query;
        const partitions = partitionsOf(range);
        const answer = await runQuery(query, engineOf(partitions), signal);
        return {
          ...answer,
          sampling: samplingOf(partitions),
          complete: isComplete(query),
          store: "duckdb",
          elapsedMs: Math.round(clock.monotonic() - begun),
        };
      }),
    flows: (query, signal) =>
      gate.run(signal, async () => {
        const partitions = partitionsOf(query);
        const records: Readonly<Record<string, PlainValue>>[] = [];
        for (const partition of partitions.toReversed()) {
          const engine = engineOf([partition]);
          const columns =
            query.fields.length > 0
              ? query.fields.map((field) => engine.source.columnOf(field))
              : opened().store.columns();
          const limit = query.limit - records.length;
          if (limit === 0) break;
          const statement = flowsStatement({ ...query, source: engine.source }, columns, limit);
          for (const row of await engine.rows(statement, signal)) {
            records.push(
              recordOf(
                columns,
                row.map((value, i) => engine.plain(columns[i] as Column, value)),
              ),
            );
          }
        }
        return { records, sampling: samplingOf(partitions), complete: isComplete(query) };
      }),
    async parquet(table) {
      const connection = await opened().store.connect();
      try {
        return await writeParquet(connection, join(config.directory, "tmp"), table);
      } finally {
        connection.closeSync();
      }
    },
    async flush() {
      await ticking;
      ticking = tick();
      await ticking;
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

function unknownField(field: string, known: Iterable<string>): never {
  const near = nearName(field, known);
  const hint =
    near === undefined ? ": SVC_EXPLORE_FIELDS adds fields" : `: did you mean ${near}? SVC_EXPLORE_FIELDS adds fields`;
  throw new ExploreError("invalid_argument", `Explore does not keep the field ${quote(field)}${hint}`);
}

interface Counted {
  readonly intake: () => Intake | undefined;
  readonly store: () => DuckDbStore | undefined;
  readonly factor: () => number;
}

function reportMetrics(metrics: Metrics, { intake, store, factor }: Counted): void {
  metrics.counterFrom("netgloss_explore_rows_total", "Flow records that Explore keeps.", [], () => [
    [{}, intake()?.counts.rows ?? 0],
  ]);
  metrics.counterFrom(
    "netgloss_explore_sampled_out_records_total",
    "Records that Explore does not keep because others stand for them.",
    [],
    () => [[{}, intake()?.counts.sampledOut ?? 0]],
  );
  metrics.gaugeFrom("netgloss_explore_sampling", "How many records one that Explore keeps stands for.", [], () => [
    [{}, factor()],
  ]);
  metrics.gaugeFrom("netgloss_explore_bytes", "Bytes of Explore's files.", [], () => [[{}, store()?.bytes() ?? 0]]);
  metrics.counterFrom(
    "netgloss_explore_damaged_files_total",
    "Files of Explore that could not be read and were set aside.",
    [],
    () => [[{}, store()?.setAside ?? 0]],
  );
}
