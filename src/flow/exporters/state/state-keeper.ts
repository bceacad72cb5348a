import type { ExporterState, StateChange } from "./exporter-state.ts";
import type { StateStore } from "./state-store.ts";

/** Who decodes and so knows what exporters say: a pipeline here or in another thread. */
export interface StateSource {
  exportState(which: "changed" | "all"): StateChange | Promise<StateChange>;
  importState(states: readonly ExporterState[]): void | Promise<void>;
}

/** Carries state between decoding and the store. */
export interface StateKeeper {
  /** Gives each source what the store knows of its exporters. To be awaited before the first datagram. */
  start(): Promise<void>;
  /** What the store knows of the exporters of one source: for one that takes the place of another. */
  statesFor(source: number): Promise<readonly ExporterState[]>;
  /** Takes all for the last time. The sources must still answer, and take no more datagrams. */
  stop(): Promise<void>;
}

export interface StateKeeperOptions {
  readonly store: Pick<StateStore, "load" | "put">;
  readonly sources: readonly StateSource[];
  /** Which of the sources decodes what an address sends, in canonical text. */
  readonly responsible: (address: string) => number;
  /** Called when a source could not be asked; it is asked again. */
  readonly failed: (error: unknown) => void;
}

/** A change is in the store's hands after so long. */
const everyMs = 500;

export function createStateKeeper({ store, sources, responsible, failed }: StateKeeperOptions): StateKeeper {
  let timer: NodeJS.Timeout | undefined;
  let taking: Promise<void> | undefined;

  const takeAll = async (which: "changed" | "all"): Promise<void> => {
    for (const source of sources) {
      try {
        store.put(await source.exportState(which));
      } catch (error) {
        failed(error);
      }
    }
  };

  const statesFor = async (source: number): Promise<readonly ExporterState[]> => {
    const states = await store.load();
    return states.filter(({ address, relay }) => responsible(relay ?? address) === source);
  };

  return {
    statesFor,
    async start() {
      for (const [i, source] of sources.entries()) await source.importState(await statesFor(i));
      timer = setInterval(() => {
        taking ??= takeAll("changed").finally(() => (taking = undefined));
      }, everyMs);
      timer.unref();
    },
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      await taking;
      await takeAll("all");
    },
  };
}
