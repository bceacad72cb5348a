import {
  type ExporterState,
  type OptionsState,
  type StateChange,
  type TemplateState,
  readExporterState,
  writeExporterState,
} from "./exporter-state.ts";
import {
  type Metrics,
  limitLog,
  type Clock,
  type Component,
  type Log,
  type Reporting,
} from "../../../base/report/index.ts";
import { runAfter } from "../../../base/file/index.ts";
import { addressOfKey, stateKey } from "../exporter-table.ts";

/** The answer about some senders. Plain data, which may be cloned to another thread. */
export interface SharedAnswer {
  /** Their addresses: those that nothing is known of, too. */
  readonly asked: readonly string[];
  readonly states: readonly ExporterState[];
}

/** The same with all its times later: who wrote it has another clock. */
export function shiftTimes(state: ExporterState, ms: number): ExporterState {
  const { firstSeen, lastSeen, templates, options } = state;
  const moved = ({ definedAt, ...template }: TemplateState): TemplateState => ({
    ...template,
    definedAt: definedAt + ms,
  });
  const said = ({ changedAt, ...rest }: OptionsState): OptionsState => {
    return changedAt === undefined || changedAt === 0 ? rest : { ...rest, changedAt: changedAt + ms };
  };
  return {
    ...state,
    firstSeen: firstSeen + ms,
    lastSeen: lastSeen + ms,
    templates: templates.map(moved),
    options: options.map(said),
  };
}

const operations = ["write", "touch", "remove", "find", "prune"] as const;
type SharedOperation = (typeof operations)[number];

/** @param exporters those held here. @param unwritten those of them that are to be written. */
function createSharedMetrics(metrics: Metrics, exporters: () => number, unwritten: () => number) {
  metrics.gaugeFrom(
    "netgloss_flow_shared_exporters",
    "Exporters whose state is shared by this collector.",
    [],
    exporters,
  );
  metrics.gaugeFrom(
    "netgloss_flow_shared_unwritten_exporters",
    "Exporters whose state is still to be written for the fleet.",
    [],
    unwritten,
  );
  const counter = (name: string, help: string) => metrics.counter(`netgloss_flow_shared_${name}_total`, help);
  const counts = {
    writes: counter("writes", "States of exporters written for the fleet."),
    leftOut: counter("left_out", "States of exporters not shared because they are too large."),
    ignored: counter("ignored", "States of exporters in the database of the fleet that cannot be read."),
    pruned: counter("pruned", "States of silent exporters removed from the database of the fleet."),
    asked: counter("asked", "Times the fleet was asked about an exporter."),
    found: counter("found", "States of exporters that the database of the fleet had."),
  };
  for (const each of Object.values(counts)) each.add(0);
  return {
    ...counts,
    failures: metrics.counter("netgloss_flow_shared_failures_total", "Failures to share the state of exporters.", {
      operation: operations,
    }),
    seconds: metrics.histogram(
      "netgloss_flow_shared_find_seconds",
      "Time until the database of the fleet answered about exporters.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    ),
  };
}

/** Holds what one exporter said to one collector: so no two write the same row. */
export interface StateRow {
  /** The exporter whose datagrams said it, in canonical text. */
  readonly sender: string;
  /** About whom: the sender, or one that it names as a relay. */
  readonly exporter: string;
  readonly text: string;
  /** The age of the text. */
  readonly ageMs: number;
  /** The time since the exporter was heard. */
  readonly silentMs: number;
  /** The time when the text was made by the clock of who made it: its times are of that clock. Milliseconds since the epoch. */
  readonly clock: number;
}

type StateRowKey = Pick<StateRow, "sender" | "exporter">;

/** The table that collectors of a fleet share. Ages are by its own clock. All that answer later may fail with an Error. */
export interface SharedStateTable {
  /** Returns whether it can be asked now. */
  isThere(): boolean;
  /** Calls the listener when it can be asked again. @returns what ends that. */
  watch(listener: () => void): () => void;
  /** Writes rows of this collector, instead of its earlier ones. */
  write(rows: readonly StateRow[]): Promise<void>;
  /** Says how long exporters of this collector are silent. @returns those that have no row. */
  touch(rows: readonly Omit<StateRow, "text" | "ageMs" | "clock">[]): Promise<readonly StateRowKey[]>;
  /** Removes rows of this collector. */
  remove(keys: readonly StateRowKey[]): Promise<void>;
  /**
   * The rows of all collectors for some senders whose exporters are silent for no longer than this: of each exporter the few of those that
   * heard it last.
   */
  find(senders: readonly string[], maxSilentMs: number): Promise<readonly StateRow[]>;
  /** Removes rows of all collectors whose exporters are silent for longer. @returns how many. */
  prune(silentMs: number): Promise<number>;
}

/** Limits of what may be written at once and held in memory. */
const defaults = {
  rowBytes: 1024 * 1024,
  batchRows: 100,
  batchBytes: 1024 * 1024,
  /** The size of all texts that are held here to be written again. */
  heldBytes: 128 * 1024 * 1024,
};
type SharedLimits = Readonly<typeof defaults>;

/** The least pause between batches; also ten times as long as a batch took, because the database has other work. */
const minGapMs = 200;
const gapPerWrite = 10;
const maxGapMs = 10_000;
const retryMs = 5000;
/** The interval at which an exporter is written that changes all the time. */
const rowGapMs = 1000;
const touchRows = 1000;
/** An exporter that was silent for longer is of no use to others. */
const freshMs = 30 * 60_000;
const pruneAfterMs = 60 * 60_000;
const pruneEveryMs = 10 * 60_000;
const maxOpenFinds = 16;

interface Held {
  readonly key: StateRowKey;
  text: string;
  lastSeen: number;
  /** The writer's clock when the text was made. */
  madeAt: number;
  isDirty: boolean;
  /** Not written again before, by the monotonic clock. */
  notBefore: number;
}

/**
 * Writes what exporters say to a table that all collectors of a fleet share, in batches, and reads what they said to others. It never waits:
 * what cannot be written now is written later, or not.
 */
export class SharedStore implements Component {
  readonly name = "shared state of exporters";
  readonly #table: SharedStateTable;
  readonly #after: typeof runAfter;
  readonly #random: () => number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: SharedLimits;
  readonly #counts: ReturnType<typeof createSharedMetrics>;
  readonly #held = new Map<string, Held>();
  readonly #heardOf = new Map<string, number>();
  #forgotten = new Map<string, StateRowKey>();
  #heldBytes = 0;
  #openFinds = 0;
  #isRunning = false;
  #cancelNext = (): void => {};
  #cancelPrune = (): void => {};
  #endWatch = (): void => {};
  #working: Promise<void> | undefined;

  /** @param after runs an action once after a time, without keeping the process alive. Returns what calls it off. */
  constructor(
    table: SharedStateTable,
    { log, metrics, clock }: Pick<Reporting, "log" | "metrics" | "clock">,
    after = runAfter,
    random = Math.random,
    limits: Partial<SharedLimits> = {},
  ) {
    this.#table = table;
    this.#after = after;
    this.#random = random;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#limits = { ...defaults, ...limits };
    this.#counts = createSharedMetrics(
      metrics,
      () => this.#held.size,
      () => this.#unwritten(),
    );
  }

  start(): Promise<void> {
    this.#isRunning = true;
    this.#endWatch = this.#table.watch(() => {
      // It may be another server, which lacks the last rows.
      for (const one of this.#held.values()) one.isDirty = true;
      this.#schedule(minGapMs * (1 + this.#random()));
    });
    this.#schedule(minGapMs);
    this.#schedulePrune();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#endWatch();
    this.#cancelNext();
    this.#cancelPrune();
    await this.#working;
    if (this.#table.isThere() && this.#unwritten() > 0)
      await this.#writeNext().catch((error: unknown) => this.#fail("write", error));
  }

  /** Takes a change, as the store of the files does. */
  put({ changed, forgotten }: StateChange): void {
    for (const name of forgotten) {
      const exporter = addressOfKey(name);
      this.#drop(name);
      const sender = name === exporter ? exporter : name.slice(exporter.length + 1);
      this.#forgotten.set(name, { exporter, sender });
    }
    for (const state of changed) this.#keep(state);
  }

  /** Exporters that were heard, by `stateKey`, with the time in milliseconds since the epoch. */
  heard(exporters: readonly (readonly [key: string, lastSeen: number])[]): void {
    for (const [name, lastSeen] of exporters) {
      const one = this.#held.get(name);
      if (one === undefined) continue;
      one.lastSeen = lastSeen;
      this.#heardOf.set(name, lastSeen);
    }
  }

  /**
   * Finds what was said by senders, and by relays of others. The times are those of this clock, whoever wrote them.
   *
   * @throws Error when nobody answers now; whoever asks then goes on as if there were no others.
   */
  async find(senders: readonly string[]): Promise<readonly ExporterState[]> {
    this.#counts.asked.add(senders.length);
    if (!this.#table.isThere() || this.#openFinds >= maxOpenFinds) {
      this.#counts.failures.add(1, { operation: "find" });
      throw new Error("the database of the fleet does not answer or is busy");
    }
    this.#openFinds++;
    const began = this.#clock.monotonic();
    try {
      const found = await this.#table.find(senders, freshMs);
      this.#counts.found.add(found.length);
      this.#counts.seconds.observe((this.#clock.monotonic() - began) / 1000);
      return found.flatMap((row) => this.#readFound(row));
    } catch (error) {
      this.#fail("find", error);
      throw error;
    } finally {
      this.#openFinds--;
    }
  }

  #unwritten(): number {
    return [...this.#held.values()].filter(({ isDirty }) => isDirty).length;
  }

  #fail(operation: SharedOperation, error: unknown): void {
    this.#counts.failures.add(1, { operation });
    if (this.#table.isThere())
      this.#log.warn({ operation, error }, "the state of exporters could not be shared with the fleet");
  }

  #drop(name: string): Held | undefined {
    const old = this.#held.get(name);
    if (old !== undefined) this.#heldBytes -= old.text.length;
    this.#held.delete(name);
    return old;
  }

  #keep(state: ExporterState): void {
    const { address, relay, lastSeen } = state;
    const name = stateKey(address, relay);
    const old = this.#drop(name);
    const text = shareable(state, this.#limits.rowBytes);
    if (text === undefined || this.#heldBytes + text.length > this.#limits.heldBytes) {
      this.#counts.leftOut.add();
      this.#log.warn({ exporter: address }, "the state of an exporter is too large to share with the fleet");
      return;
    }
    this.#heldBytes += text.length;
    this.#forgotten.delete(name);
    const key = { sender: relay ?? address, exporter: address };
    const madeAt = this.#clock.now();
    this.#held.set(name, { key, text, lastSeen, madeAt, isDirty: true, notBefore: old?.notBefore ?? 0 });
  }

  /** Returns what is to be written next: no more than fits into a batch. */
  #nextBatch(): readonly Held[] {
    const { batchRows, batchBytes } = this.#limits;
    const batch: Held[] = [];
    let bytes = 0;
    const since = this.#clock.now() - freshMs;
    const now = this.#clock.monotonic();
    for (const one of this.#held.values()) {
      if (!one.isDirty || one.lastSeen < since || one.notBefore > now) continue;
      if (batch.length > 0 && (batch.length >= batchRows || bytes + one.text.length > batchBytes)) break;
      batch.push(one);
      bytes += one.text.length;
    }
    return batch;
  }

  async #writeNext(): Promise<void> {
    const batch = this.#nextBatch();
    if (batch.length === 0) return;
    const now = this.#clock.now();
    const ago = (time: number): number => Math.max(0, now - time);
    const rows = batch.map(({ key, text, lastSeen, madeAt }) => {
      return { ...key, text, ageMs: ago(madeAt), silentMs: ago(lastSeen), clock: madeAt };
    });
    for (const one of batch) one.isDirty = false;
    try {
      await this.#table.write(rows);
      this.#counts.writes.add(batch.length);
      for (const one of batch) one.notBefore = this.#clock.monotonic() + rowGapMs;
    } catch (error) {
      for (const one of batch) one.isDirty = true;
      throw error;
    }
  }

  async #touchNext(): Promise<void> {
    const now = this.#clock.now();
    const names = [...this.#heardOf].slice(0, touchRows);
    for (const [name] of names) this.#heardOf.delete(name);
    const touched = names.flatMap(([name, lastSeen]) => {
      const one = this.#held.get(name);
      return one === undefined || one.isDirty ? [] : [{ ...one.key, silentMs: Math.max(0, now - lastSeen) }];
    });
    if (touched.length === 0) return;
    for (const { sender, exporter } of await this.#table.touch(touched)) {
      const one = this.#held.get(stateKey(exporter, sender === exporter ? undefined : sender));
      if (one !== undefined) one.isDirty = true;
    }
  }

  async #removeNext(): Promise<void> {
    if (this.#forgotten.size === 0) return;
    const gone = this.#forgotten;
    this.#forgotten = new Map();
    await this.#table.remove([...gone.values()]);
  }

  /** @returns after how many milliseconds to go on. */
  async #work(): Promise<number> {
    if (!this.#table.isThere()) return retryMs;
    const began = this.#clock.monotonic();
    const steps: readonly (readonly [SharedOperation, () => Promise<void>])[] = [
      ["write", () => this.#writeNext()],
      ["touch", () => this.#touchNext()],
      ["remove", () => this.#removeNext()],
    ];
    for (const [operation, step] of steps) {
      try {
        await step();
      } catch (error) {
        this.#fail(operation, error);
        return retryMs * (0.5 + this.#random());
      }
    }
    const took = this.#clock.monotonic() - began;
    return Math.min(maxGapMs, Math.max(minGapMs, took * gapPerWrite));
  }

  #schedule(ms: number): void {
    this.#cancelNext();
    if (!this.#isRunning) return;
    this.#cancelNext = this.#after(() => {
      this.#working = this.#work().then(
        (gap) => this.#schedule(gap),
        (error: unknown) => this.#fail("write", error),
      );
    }, ms);
  }

  async #prune(): Promise<void> {
    try {
      if (this.#table.isThere()) this.#counts.pruned.add(await this.#table.prune(pruneAfterMs));
    } catch (error) {
      this.#fail("prune", error);
    }
    this.#schedulePrune();
  }

  #schedulePrune(): void {
    if (this.#isRunning)
      this.#cancelPrune = this.#after(() => void this.#prune(), pruneEveryMs * (0.5 + this.#random()));
  }

  #readFound({ text, ageMs, silentMs, clock }: StateRow): readonly ExporterState[] {
    const state = readText(text);
    if (state === undefined) {
      this.#counts.ignored.add();
      return [];
    }
    const now = this.#clock.now();
    return [{ ...shiftTimes(state, now - ageMs - clock), lastSeen: now - silentMs }];
  }
}

/** The text of a state that fits into a row: without names when they are too many. */
function shareable(state: ExporterState, maxBytes: number): string | undefined {
  const text = writeExporterState(state);
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const unnamed = { netifs: [], apps: [], vrfs: [], rds: [], domainName: null };
  const options = state.options.map((said) => ({ ...said, names: unnamed }));
  const shorter = writeExporterState({ ...state, options });
  return Buffer.byteLength(shorter) <= maxBytes ? shorter : undefined;
}

function readText(text: string): ExporterState | undefined {
  try {
    return readExporterState(JSON.parse(text));
  } catch {
    return undefined;
  }
}
