import type { ExporterState, StateReport } from "./exporter-state.ts";
import type { SharedAnswer, SharedExporters } from "./shared-exporters.ts";
import type { StateStore } from "./state-store.ts";

/** Who decodes and so knows what exporters say: a pipeline here or in another thread. */
export interface StateSource {
  exportState(which: "changed" | "all"): StateReport | Promise<StateReport>;
  importState(states: readonly ExporterState[]): void | Promise<void>;
  importShared(answer: SharedAnswer): void | Promise<void>;
}

/** Carries state between decoding and what keeps it: files of this collector, the database of its fleet. */
export interface StateKeeper {
  /** Gives each source what the store knows of its exporters. To be awaited before the first datagram. */
  start(): Promise<void>;
  /** What the store knows of the exporters of one source: for one that takes the place of another. */
  statesFor(source: number): Promise<readonly ExporterState[]>;
  /** Takes all for the last time. The sources must still answer, and take no more datagrams. */
  stop(): Promise<void>;
}

export interface StateKeeperOptions {
  /** Left out: nothing is kept over a restart. */
  readonly store?: Pick<StateStore, "load" | "put"> | undefined;
  /** Left out: there are no other collectors. */
  readonly shared?: SharedExporters | undefined;
  readonly sources: readonly StateSource[];
  /** Which of the sources decodes what an address sends, in canonical text. */
  readonly responsible: (address: string) => number;
  /** Called when a source could not be asked; it is asked again. */
  readonly failed: (error: unknown) => void;
}

/** How soon the store has a change. */
const keepEveryMs = 500;
/** Where exporters are shared somebody may wait for it, or for an answer. */
const shareEveryMs = 200;

export function createStateKeeper({ store, shared, sources, responsible, failed }: StateKeeperOptions): StateKeeper {
  let timer: NodeJS.Timeout | undefined;
  let taking: Promise<void> | undefined;

  const ask = async (source: StateSource, asked: readonly string[]): Promise<void> => {
    // Nobody answers: what is held is decoded by what is known here.
    const states = (await shared?.find(asked).catch(() => [])) ?? [];
    try {
      await source.importShared({ asked, states });
    } catch (error) {
      failed(error);
    }
  };
  const take = async (source: StateSource, which: "changed" | "all"): Promise<void> => {
    const report = await source.exportState(which);
    store?.put(report);
    // When all ends nothing is new to the others.
    if (which === "all") return;
    shared?.put(report);
    shared?.heard(report.heard);
    if (report.asked.length > 0) void ask(source, report.asked);
  };
  const takeAll = async (which: "changed" | "all"): Promise<void> => {
    for (const source of sources) await take(source, which).catch(failed);
  };

  const statesFor = async (source: number): Promise<readonly ExporterState[]> => {
    const states = (await store?.load()) ?? [];
    return states.filter(({ address, relay }) => responsible(relay ?? address) === source);
  };

  return {
    statesFor,
    async start() {
      for (const [i, source] of sources.entries()) {
        const states = await statesFor(i);
        await source.importState(states);
        shared?.put({ changed: states, forgotten: [] });
      }
      timer = setInterval(
        () => {
          taking ??= takeAll("changed").finally(() => (taking = undefined));
        },
        shared === undefined ? keepEveryMs : shareEveryMs,
      );
      timer.unref();
    },
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      await taking;
      if (shared !== undefined) await takeAll("changed");
      await takeAll("all");
    },
  };
}
