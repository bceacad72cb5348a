import type { Select } from "../exchange/rows/selection.ts";
import type { Clock, Component, Health, Log, Metrics } from "../../base/report/index.ts";
import type { UdmLayers } from "../store/udm-layers.ts";
import { readSourcesFile, SourcesFileError } from "./config/read-sources-file.ts";
import { type LastCopies, createSourceMetrics, type SourceDiff, type SourceState } from "./source-state.ts";
import { SourceRunner } from "./source-runner.ts";
import type { AgentFor } from "./source-reader.ts";
import { type SourceConfig, sourceFaults } from "./source-config.ts";

export interface SourcesOptions {
  /** Path of the file that lists them. */
  readonly path: string;
  readonly readFile: (path: string) => Promise<Uint8Array>;
  readonly layers: UdmLayers;
  readonly copies: LastCopies | undefined;
  readonly agentFor: AgentFor;
  /** Selects the rows of a document by an expression. */
  readonly select: Select;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after: (action: () => void, ms: number) => () => void;
  /** 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** All sources of metadata. */
export interface Sources extends Component {
  /** In the order of their priority. */
  states(): readonly SourceState[];
  /** @returns undefined for an unknown source. */
  run(name: string): Promise<SourceState> | undefined;
  /** @returns undefined for an unknown source. @throws SourceFault */
  diff(name: string): Promise<SourceDiff> | undefined;
  /** @returns undefined for an unknown source; "nothing" when nothing is held. */
  accept(name: string): Promise<SourceState | "nothing"> | undefined;
  /** Reads the file again: what has not changed goes on. A file that cannot be used changes nothing. */
  reload(): Promise<void>;
}

/** Runs at the same time. */
const mostRuns = 3;
const checkName = "sources";

export function createSources(options: SourcesOptions): Sources {
  const { path, layers, log, health, after } = options;
  let runners: readonly SourceRunner[] = [];
  /** Why the file cannot be used. */
  let fault: string | undefined;
  const states = (): readonly SourceState[] => runners.map((runner) => runner.state());
  const metrics = createSourceMetrics(options.metrics, states);
  const turn = createTurns(mostRuns);

  const report = (): void => {
    const bad = states().filter(({ state }) => state === "failing" || state === "held");
    // Readiness is shown to anybody: nothing of what was read.
    const details = bad.map(({ name, state, run }) => {
      const reason = run?.code === undefined ? (run?.reason ?? "") : sourceFaults[run.code];
      return `${name} is ${state}: ${reason}`;
    });
    if (fault !== undefined) details.unshift(fault);
    const isDegraded = details.length > 0;
    health.set({
      name: checkName,
      ready: true,
      degraded: isDegraded,
      ...(isDegraded && { detail: details.join("; ") }),
    });
  };

  const pause = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = after(() => {
        signal.removeEventListener("abort", abort);
        resolve();
      }, ms);
      const abort = (): void => {
        end();
        reject(new Error("the collector is stopping"));
      };
      signal.addEventListener("abort", abort, { once: true });
    });

  /** Makes these the sources; those with the same configuration go on as they are. */
  const use = async (configs: readonly SourceConfig[]): Promise<void> => {
    const kept = (config: SourceConfig): SourceRunner | undefined =>
      runners.find((runner) => runner.config.fingerprint === config.fingerprint);
    const next = configs.map(
      (config) => kept(config) ?? new SourceRunner(config, { ...options, turn, pause, metrics, changed: report }),
    );
    const gone = runners.filter((runner) => !next.includes(runner));
    const added = next.filter((runner) => !runners.includes(runner));
    await Promise.all(gone.map((runner) => runner.end()));
    runners = next;
    layers.setNames(next.map(({ config }) => config.name));
    for (const { config } of added) metrics.known(config.name);
    for (const runner of added) await runner.restore();
    report();
    for (const runner of added) runner.begin();
  };

  const load = async (): Promise<void> => {
    try {
      const configs = readSourcesFile(Buffer.from(await options.readFile(path)).toString("utf8"));
      fault = undefined;
      await use(configs);
      log.info({ path, sources: configs.map(({ name }) => name) }, "sources of metadata");
    } catch (error) {
      fault = `${path}: ${(error as Error).message}`;
      log.error(
        { path, ...(error instanceof SourcesFileError ? { findings: error.findings } : { error }) },
        "the file of sources cannot be used",
      );
      report();
    }
  };

  const find = (name: string): SourceRunner | undefined => runners.find(({ config }) => config.name === name);

  return {
    name: "sources",
    start: load,
    async stop() {
      await Promise.all(runners.map((runner) => runner.end()));
    },
    reload: load,
    states,
    run: (name) => find(name)?.run(),
    diff: (name) => find(name)?.diff(),
    accept(name) {
      const runner = find(name);
      return runner && runner.accept().then((state) => state ?? "nothing");
    },
  };
}

/** Lets this many actions run at a time. */
function createTurns(most: number): <A>(action: () => Promise<A>) => Promise<A> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (action) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await action();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
