import type { Metrics, Clock, Log } from "../base/report/index.ts";
import type { DuckDbStore } from "./duckdb/duckdb-store.ts";
import type { EmbeddedExploreConfig } from "./duckdb/duckdb-instance.ts";
import { Booking } from "./booking.ts";
import { Intake } from "./intake.ts";
import { SamplingJudge, type SamplingMemory } from "./sampling/index.ts";
import { columnOf, createRollupFields, ExploreError, exploreColumns, withoutTwins, type Column } from "./column.ts";
import { DuckDbQueries } from "./duckdb/duckdb-queries.ts";
import { OpenedDuckDb } from "./duckdb/open-duckdb.ts";
import type { Partition } from "./duckdb/partition.ts";
import { fieldStatus, type ExploreStatus } from "./status.ts";

const flushMs = 1000;

/** A store of flow records in files, with queries over them. */
export class EmbeddedExplore {
  readonly #config: EmbeddedExploreConfig;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onFault: (fault: string | undefined) => void;
  readonly #judge: SamplingJudge;
  readonly #isRolledUp: (field: string) => boolean;
  readonly #queries: DuckDbQueries;
  readonly #booking: Booking;
  #open: OpenedDuckDb | undefined;
  #opening: Promise<OpenedDuckDb> | undefined;
  #intake: Intake | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  /** The partition that is being sorted or rolled up. */
  #inWork: Partition | undefined;
  /** The partition that is being rolled up. */
  #inRollup: Partition | undefined;
  /** Metadata fields that were added since the last log line about them. */
  #added: string[] = [];
  #judgedAt: number;
  #fault: string | undefined;

  /**
   * @param sampling shared with the threads that choose records for it.
   * @param onFault receives the fault of the store, and undefined when it works again.
   */
  constructor(
    config: EmbeddedExploreConfig,
    sampling: SamplingMemory,
    { clock, log, metrics }: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
    onFault: (fault: string | undefined) => void,
  ) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#onFault = onFault;
    this.#judge = new SamplingJudge(sampling, config.rates);
    this.#isRolledUp = createRollupFields(config.rollups.fields);
    this.#queries = new DuckDbQueries(() => this.#opened(), config, clock);
    this.#judgedAt = clock.monotonic();
    this.#booking = new Booking(metrics);
    this.#reportMetrics(metrics);
  }

  async start(): Promise<void> {
    const { fields, maxMetadataFields } = this.#config;
    const keep = (file: Partition): "age" | "bytes" | undefined => this.#keep(file);
    this.#opening = OpenedDuckDb.open(exploreColumns(fields), this.#isRolledUp, keep, {
      config: this.#config,
      isCalm: () => this.#judge.isCalm(this.#clock.monotonic()),
      clock: this.#clock,
      log: this.#log,
    });
    this.#open = await this.#opening;
    const { store } = this.#open;
    this.#intake = new Intake(
      store.columns(),
      maxMetadataFields,
      (block) => {
        try {
          store.append(this.#booking.book(block));
          this.#setFault(undefined);
        } catch (error) {
          this.#setFault(error);
        }
      },
      (names) => this.#addColumns(store, names),
    );
    this.#again();
  }

  /** Takes whole lines that stand for this many records, each for equally many. It does not use the lines after it returns. */
  take(lines: Buffer, records: number): void {
    this.#intake?.take(lines, records);
  }

  /** Reports whether lines can be taken. While a file with further columns is begun, only a limited number of rows can wait for it. */
  hasRoom(): boolean {
    return this.#open?.store.hasRoom() ?? true;
  }

  /** Adapts the sampling to the filled part of the inbox, 0 to 1. */
  lag(backlog: number): void {
    this.#judge.adapt(backlog, this.#clock.monotonic());
  }

  status(): Omit<ExploreStatus, "droppedRows"> {
    const { store, rollups } = this.#opened();
    const partitions = store.partitions();
    const sources = rollups.files().flatMap((file) => file.sources);
    const { maxDays, maxBytes } = this.#config.rollups;
    return {
      enabled: true,
      store: "duckdb",
      ...boundsOf(partitions),
      rows: partitions.reduce((sum, { rows }) => sum + rows, 0),
      bytes: store.bytes(),
      sampling: this.#judge.factor,
      fields: store.columns().map((column) => fieldStatus(column, maxDays > 0 && this.#isRolledUp(column.field))),
      retention: { hours: this.#config.maxHours, bytes: this.#config.maxBytes },
      ...(maxDays > 0 && {
        rollups: {
          ...boundsOf(sources),
          bytes: rollups.bytes(),
          retention: { hours: 24 * maxDays, bytes: maxBytes },
        },
      }),
    };
  }

  /** Answers a query. @throws ExploreError */
  query(...asked: Parameters<DuckDbQueries["query"]>): ReturnType<DuckDbQueries["query"]> {
    return this.#queries.query(...asked);
  }

  /** Returns single records. @throws ExploreError */
  flows(...asked: Parameters<DuckDbQueries["flows"]>): ReturnType<DuckDbQueries["flows"]> {
    return this.#queries.flows(...asked);
  }

  /** Writes a table as a Parquet file. */
  parquet(...asked: Parameters<DuckDbQueries["parquet"]>): ReturnType<DuckDbQueries["parquet"]> {
    return this.#queries.parquet(...asked);
  }

  /** Writes taken records to disk, so that queries find them. A timer also does so each second. */
  flush(): Promise<void> {
    return this.#tickAfterLast(true);
  }

  /** Stops the store and its queries. When it resolves, no DuckDB call is running. */
  async stop(): Promise<void> {
    await this.#opening?.catch(() => {});
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#ticking;
    this.#intake?.flush();
    const last = this.#open;
    this.#open = undefined;
    await last?.close();
  }

  #opened(): OpenedDuckDb {
    if (this.#open === undefined) throw new ExploreError("unavailable", "Explore is not open");
    return this.#open;
  }

  #again(): void {
    this.#timer = setTimeout(() => {
      void this.#tickAfterLast(false).finally(() => {
        if (this.#timer !== undefined) this.#again();
      });
    }, flushMs);
  }

  /** Runs one tick at a time. */
  #tickAfterLast(isAsked: boolean): Promise<void> {
    this.#ticking = this.#ticking.then(() => this.#tick(isAsked));
    return this.#ticking;
  }

  async #tick(isAsked: boolean): Promise<void> {
    if (this.#open === undefined || this.#intake === undefined) return;
    const open = this.#open;
    const intake = this.#intake;
    const at = this.#clock.monotonic();
    this.#judge.judgeRate(Math.max(1, at - this.#judgedAt) / 1000);
    this.#judgedAt = at;
    try {
      const canWait = !isAsked && open.store.isGathering();
      if (!canWait) intake.flush();
      await open.store.flush(canWait);
      if (this.#added.length > 0) {
        this.#log.info({ fields: this.#added }, "Explore keeps further fields, which metadata adds");
      }
      this.#added = [];
      await open.rollups.tidy();
      this.#workNext(open);
      this.#setFault(undefined);
    } catch (error) {
      this.#setFault(error);
    }
  }

  /** Sorts and rolls up complete files while new rows arrive: one at a time, oldest first. */
  #workNext({ store, rollups }: OpenedDuckDb): void {
    if (this.#inWork !== undefined) return;
    const { sorter } = store;
    const unsorted = sorter.next();
    this.#inRollup = unsorted === undefined ? rollups.next(store.partitions()) : undefined;
    this.#inWork = unsorted ?? this.#inRollup;
    if (this.#inWork === undefined) return;
    const work = unsorted === undefined ? rollups.add(this.#inWork) : sorter.sort(this.#inWork);
    void work.finally(() => (this.#inWork = this.#inRollup = undefined));
  }

  /** Returns which files stay until they are rolled up, and while something reads them. */
  #keep(file: Partition): "age" | "bytes" | undefined {
    if (file === this.#inRollup) return "bytes";
    return this.#open === undefined || this.#open.rollups.lacks(file) ? "age" : undefined;
  }

  /** Turns names of metadata keys into columns. */
  #addColumns(store: DuckDbStore, names: readonly string[]): readonly Column[] {
    const columns = store.columns();
    const found = names.map(columnOf).filter((column) => column !== undefined);
    const wanted = withoutTwins([...columns, ...found]);
    this.#added.push(...wanted.slice(columns.length).map(({ field }) => field));
    store.setColumns(wanted);
    return wanted;
  }

  #setFault(found: unknown): void {
    const text = found instanceof Error ? found.message : undefined;
    if (text === this.#fault) return;
    this.#fault = text;
    if (text !== undefined) this.#log.error({ error: found }, "Explore cannot keep records");
    this.#onFault(text);
  }

  #reportMetrics(metrics: Metrics): void {
    metrics.counterFrom("netgloss_explore_rows_total", "Flow records that Explore keeps.", [], () => [
      [{}, this.#intake?.rows ?? 0],
    ]);
    metrics.counterFrom(
      "netgloss_explore_cut_records_total",
      "Records that lack fields in Explore, because their line was cut off there, or a field is no JSON.",
      [],
      () => [[{}, this.#intake?.cutRecords ?? 0]],
    );
    metrics.counterFrom(
      "netgloss_explore_sampled_out_records_total",
      "Records that Explore does not keep because others stand for them.",
      [],
      () => [[{}, this.#judge.sampledOut]],
    );
    metrics.gaugeFrom("netgloss_explore_sampling", "How many records one that Explore keeps stands for.", [], () => [
      [{}, this.#judge.factor],
    ]);
    metrics.gaugeFrom("netgloss_explore_bytes", "Bytes of Explore's files of records.", [], () => [
      [{}, this.#open?.store.bytes() ?? 0],
    ]);
    metrics.gaugeFrom(
      "netgloss_explore_unsorted_files",
      "Complete files of records that Explore has still to sort; none is sorted while records wait to be taken.",
      [],
      () => [[{}, this.#open?.store.sorter.waiting ?? 0]],
    );
    metrics.counterFrom(
      "netgloss_explore_sorted_rows_total",
      "Flow records of files that Explore has sorted.",
      [],
      () => [[{}, this.#open?.store.sorter.sortedRows ?? 0]],
    );
    metrics.counterFrom(
      "netgloss_explore_sort_failures_total",
      "Files of records that Explore could not sort; they stay as they are and take more room.",
      [],
      () => [[{}, this.#open?.store.sorter.failures ?? 0]],
    );
    metrics.gaugeFrom("netgloss_explore_rollup_bytes", "Bytes of Explore's rollups.", [], () => [
      [{}, this.#open?.rollups.bytes() ?? 0],
    ]);
    metrics.counterFrom(
      "netgloss_explore_rollup_failures_total",
      "Files of records of which Explore could not make rollups; it tries again.",
      [],
      () => [[{}, this.#open?.rollups.failures ?? 0]],
    );
    metrics.counterFrom(
      "netgloss_explore_damaged_files_total",
      "Files of Explore that could not be read and were set aside.",
      [],
      () => [[{}, (this.#open?.store.setAside ?? 0) + (this.#open?.rollups.setAside ?? 0)]],
    );
  }
}

/** Returns the times of the oldest and the newest record of files. */
function boundsOf(files: readonly { readonly from: number | undefined; readonly to: number | undefined }[]): {
  readonly from?: string;
  readonly to?: string;
} {
  const from = Math.min(...files.map((each) => each.from ?? Number.POSITIVE_INFINITY));
  const to = Math.max(...files.map((each) => each.to ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(from) || !Number.isFinite(to)) return {};
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
