import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../../report/index.ts";
import { addressOfKey, stateKey } from "../relays.ts";
import type { ExporterState } from "./exporter-state.ts";
import { shiftTimes, type SharedExporters } from "./shared-exporters.ts";
import { createSharedMetrics, type SharedOperation } from "./shared-metrics.ts";
import type { FoundState, SharedStateTable, StateRowKey } from "./shared-table.ts";
import { readExporterState, writeExporterState } from "./state-text.ts";

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
export interface SharedLimits {
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
