import {
  type ExporterState,
  type OptionsState,
  type StateChange,
  type TemplateState,
  readExporterState,
  writeExporterState,
} from "./exporter-state.ts";
import { type Metrics, limitLog, type Clock, type Component, type Log } from "../../../base/report/index.ts";
import { addressOfKey, stateKey } from "../exporter-table.ts";

/**
 * What the collectors of a fleet know of exporters, wherever they keep it. Each writes what its exporters said to it, and reads what they
 * said to others. It never waits: what cannot be written now is written later, or not.
 */
export interface SharedExporters {
  /** Takes a change, as the store of the files does. */
  put(change: StateChange): void;
  /** Exporters that were heard, by `stateKey`, with the time in milliseconds since the epoch. */
  heard(exporters: readonly (readonly [key: string, lastSeen: number])[]): void;
  /**
   * What was said by senders, and by relays of others. The times are those of this clock, whoever wrote them.
   *
   * @throws Error when nobody answers now; whoever asks then goes on as if there were no others.
   */
  find(senders: readonly string[]): Promise<readonly ExporterState[]>;
}

/** What is known of some senders. Plain data, which may be cloned to another thread. */
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

interface SharedMetrics {
  wrote(rows: number): void;
  failed(operation: SharedOperation): void;
  leftOut(): void;
  ignored(): void;
  pruned(rows: number): void;
  asked(exporters: number): void;
  found(rows: number, ms: number): void;
}

/** @param exporters those held here. @param unwritten those of them that are to be written. */
function createSharedMetrics(metrics: Metrics, exporters: () => number, unwritten: () => number): SharedMetrics {
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
  const writes = counter("writes", "States of exporters written for the fleet.");
  const leftOut = counter("left_out", "States of exporters not shared because they are too large.");
  const ignored = counter("ignored", "States of exporters in the database of the fleet that cannot be read.");
  const pruned = counter("pruned", "States of silent exporters removed from the database of the fleet.");
  const asked = counter("asked", "Times the fleet was asked about an exporter.");
  const found = counter("found", "States of exporters that the database of the fleet had.");
  const failures = metrics.counter("netgloss_flow_shared_failures_total", "Failures to share the state of exporters.", {
    operation: operations,
  });
  const seconds = metrics.histogram(
    "netgloss_flow_shared_find_seconds",
    "Time until the database of the fleet answered about exporters.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  );
  for (const each of [writes, leftOut, ignored, pruned, asked, found]) each.add(0);
  return {
    wrote: (rows) => writes.add(rows),
    failed: (operation) => failures.add(1, { operation }),
    leftOut: () => leftOut.add(),
    ignored: () => ignored.add(),
    pruned: (rows) => pruned.add(rows),
    asked: (exporters_) => asked.add(exporters_),
    found(rows, ms) {
      found.add(rows);
      seconds.observe(ms / 1000);
    },
  };
}

/** A row is of one exporter as one collector knows it, so that no two write the same. */
export interface StateRowKey {
  /** Whose datagrams said it, in canonical text. */
  readonly sender: string;
  /** About whom: the sender, or one that it names as a relay. */
  readonly exporter: string;
}

export interface StateRow extends StateRowKey {
  readonly text: string;
  /** How long ago the text was made. */
  readonly madeMsAgo: number;
  /** How long ago the exporter was heard. */
  readonly silentMs: number;
  /** The time when the text was made by the clock of who made it: its times are of that clock. Milliseconds since the epoch. */
  readonly clock: number;
}

/** What some collector wrote. */
export interface FoundState extends StateRowKey {
  readonly text: string;
  /** How long ago the text was made, by the clock of the table. */
  readonly ageMs: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** The table that collectors of a fleet share. Ages are by its own clock. All that answer later may fail with an Error. */
export interface SharedStateTable {
  /** Whether it can be asked now. */
  isThere(): boolean;
  /** Calls the listener when it can be asked again. @returns what ends that. */
  watch(listener: () => void): () => void;
  /** Writes rows of this collector, in place of its earlier ones. */
  write(rows: readonly StateRow[]): Promise<void>;
  /** Says how long exporters of this collector are silent. @returns those that have no row. */
  touch(rows: readonly (StateRowKey & { readonly silentMs: number })[]): Promise<readonly StateRowKey[]>;
  /** Removes rows of this collector. */
  remove(keys: readonly StateRowKey[]): Promise<void>;
  /**
   * The rows of all collectors for some senders whose exporters are silent for no longer than this: of each exporter the few of those that
   * heard it last.
   */
  find(senders: readonly string[], maxSilentMs: number): Promise<readonly FoundState[]>;
  /** Removes rows of all collectors whose exporters are silent for longer. @returns how many. */
  prune(silentMs: number): Promise<number>;
}

export interface SharedStoreOptions {
  readonly table: SharedStateTable;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after: (action: () => void, ms: number) => () => void;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly limits?: Partial<SharedLimits>;
}

/** What may be written at once and held in memory. */
interface SharedLimits {
  readonly rowBytes: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  /** Of all texts that are held here to be written again. */
  readonly heldBytes: number;
}

const defaults: SharedLimits = {
  rowBytes: 1024 * 1024,
  batchRows: 100,
  batchBytes: 1024 * 1024,
  heldBytes: 128 * 1024 * 1024,
};
/** The least pause between batches; also ten times as long as a batch took, because the database has other work. */
const minGapMs = 200;
const gapPerWrite = 10;
const maxGapMs = 10_000;
const retryMs = 5000;
/** How often an exporter is written that changes all the time. */
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

/** Writes what exporters say to a table that all collectors of a fleet share, in batches, and reads what they said to others. */
export function createSharedStore(options: SharedStoreOptions): SharedExporters & Component {
  const { table, after, random, metrics, clock } = options;
  const limits: SharedLimits = { ...defaults, ...options.limits };
  const log = limitLog(options.log, clock);
  const held = new Map<string, Held>();
  const heardOf = new Map<string, number>();
  let forgotten = new Map<string, StateRowKey>();
  let heldBytes = 0;
  let openFinds = 0;
  let isRunning = false;
  let cancelNext = (): void => {};
  let cancelPrune = (): void => {};
  let working: Promise<void> | undefined;

  const dirty = (): number => [...held.values()].filter(({ isDirty }) => isDirty).length;
  const counts = createSharedMetrics(metrics, () => held.size, dirty);
  const fail = (operation: SharedOperation, error: unknown): void => {
    counts.failed(operation);
    if (table.isThere()) log.warn({ operation, error }, "the state of exporters could not be shared with the fleet");
  };

  const drop = (name: string): Held | undefined => {
    const old = held.get(name);
    if (old !== undefined) heldBytes -= old.text.length;
    held.delete(name);
    return old;
  };
  const keep = (state: ExporterState): void => {
    const name = stateKey(state.address, state.relay);
    const old = drop(name);
    const text = shareable(state, limits.rowBytes);
    if (text === undefined || heldBytes + text.length > limits.heldBytes) {
      counts.leftOut();
      log.warn({ exporter: state.address }, "the state of an exporter is too large to share with the fleet");
      return;
    }
    heldBytes += text.length;
    forgotten.delete(name);
    const key = { sender: state.relay ?? state.address, exporter: state.address };
    const { lastSeen } = state;
    held.set(name, { key, text, lastSeen, madeAt: clock.now(), isDirty: true, notBefore: old?.notBefore ?? 0 });
  };

  /** What is to be written next: no more than fits into a batch. */
  const nextBatch = (): readonly Held[] => {
    const batch: Held[] = [];
    let bytes = 0;
    const since = clock.now() - freshMs;
    const now = clock.monotonic();
    for (const one of held.values()) {
      if (!one.isDirty || one.lastSeen < since || one.notBefore > now) continue;
      if (batch.length > 0 && (batch.length >= limits.batchRows || bytes + one.text.length > limits.batchBytes)) break;
      batch.push(one);
      bytes += one.text.length;
    }
    return batch;
  };
  const writeNext = async (): Promise<void> => {
    const batch = nextBatch();
    if (batch.length === 0) return;
    const now = clock.now();
    const rows = batch.map(({ key, text, lastSeen, madeAt }) => {
      return {
        ...key,
        text,
        madeMsAgo: Math.max(0, now - madeAt),
        silentMs: Math.max(0, now - lastSeen),
        clock: madeAt,
      };
    });
    for (const one of batch) one.isDirty = false;
    try {
      await table.write(rows);
      counts.wrote(batch.length);
      for (const one of batch) one.notBefore = clock.monotonic() + rowGapMs;
    } catch (error) {
      for (const one of batch) one.isDirty = true;
      throw error;
    }
  };
  const touchNext = async (): Promise<void> => {
    const now = clock.now();
    const names = [...heardOf].slice(0, touchRows);
    for (const [name] of names) heardOf.delete(name);
    const touched = names.flatMap(([name, lastSeen]) => {
      const one = held.get(name);
      return one === undefined || one.isDirty ? [] : [{ ...one.key, silentMs: Math.max(0, now - lastSeen) }];
    });
    if (touched.length === 0) return;
    for (const { sender, exporter } of await table.touch(touched)) {
      const one = held.get(stateKey(exporter, sender === exporter ? undefined : sender));
      if (one !== undefined) one.isDirty = true;
    }
  };
  const removeNext = async (): Promise<void> => {
    if (forgotten.size === 0) return;
    const gone = forgotten;
    forgotten = new Map();
    await table.remove([...gone.values()]);
  };

  const work = async (): Promise<number> => {
    if (!table.isThere()) return retryMs;
    const began = clock.monotonic();
    const steps: readonly (readonly [SharedOperation, () => Promise<void>])[] = [
      ["write", writeNext],
      ["touch", touchNext],
      ["remove", removeNext],
    ];
    for (const [operation, step] of steps) {
      try {
        await step();
      } catch (error) {
        fail(operation, error);
        return retryMs * (0.5 + random());
      }
    }
    const took = clock.monotonic() - began;
    return Math.min(maxGapMs, Math.max(minGapMs, took * gapPerWrite));
  };
  const schedule = (ms: number): void => {
    cancelNext();
    if (!isRunning) return;
    cancelNext = after(() => {
      working = work().then(
        (gap) => schedule(gap),
        (error: unknown) => fail("write", error),
      );
    }, ms);
  };
  const prune = async (): Promise<void> => {
    try {
      if (table.isThere()) counts.pruned(await table.prune(pruneAfterMs));
    } catch (error) {
      fail("prune", error);
    }
    schedulePrune();
  };
  function schedulePrune(): void {
    if (isRunning) cancelPrune = after(() => void prune(), pruneEveryMs * (0.5 + random()));
  }

  const readFound = ({ text, ageMs, silentMs, clock: writerClock }: FoundState): readonly ExporterState[] => {
    const state = readText(text);
    if (state === undefined) {
      counts.ignored();
      return [];
    }
    const now = clock.now();
    return [{ ...shiftTimes(state, now - ageMs - writerClock), lastSeen: now - silentMs }];
  };

  let endWatch = (): void => {};
  return {
    name: "shared state of exporters",
    async start() {
      isRunning = true;
      endWatch = table.watch(() => {
        // It may be another server, which lacks the last rows.
        for (const one of held.values()) one.isDirty = true;
        schedule(minGapMs * (1 + random()));
      });
      schedule(minGapMs);
      schedulePrune();
      return Promise.resolve();
    },
    async stop() {
      isRunning = false;
      endWatch();
      cancelNext();
      cancelPrune();
      await working;
      if (table.isThere() && dirty() > 0) await writeNext().catch((error: unknown) => fail("write", error));
    },
    put({ changed, forgotten: gone }) {
      for (const name of gone) {
        const address = addressOfKey(name);
        drop(name);
        forgotten.set(name, { exporter: address, sender: name === address ? address : name.slice(address.length + 1) });
      }
      for (const state of changed) keep(state);
    },
    heard(exporters) {
      for (const [name, lastSeen] of exporters) {
        const one = held.get(name);
        if (one === undefined) continue;
        one.lastSeen = lastSeen;
        heardOf.set(name, lastSeen);
      }
    },
    async find(senders) {
      counts.asked(senders.length);
      if (!table.isThere() || openFinds >= maxOpenFinds) {
        counts.failed("find");
        throw new Error("the database of the fleet does not answer or is busy");
      }
      openFinds++;
      const began = clock.monotonic();
      try {
        const found = await table.find(senders, freshMs);
        counts.found(found.length, clock.monotonic() - began);
        return found.flatMap(readFound);
      } catch (error) {
        fail("find", error);
        throw error;
      } finally {
        openFinds--;
      }
    },
  };
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
