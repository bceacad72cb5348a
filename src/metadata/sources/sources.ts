import type { Component } from "../../base/report/index.ts";
import { readSourcesFile, SourcesFileError } from "./config/read-sources-file.ts";
import { SourceMetrics, type SourceDiff, type SourceState } from "./source-state.ts";
import { type SharedByRunners, SourceRunner, type SourcesOptions } from "./source-runner.ts";
import { type SourceConfig, sourceFaults } from "./source-config.ts";
import { SourceLayers } from "./source-layers.ts";

/** The most runs at the same time. */
const mostRuns = 3;
const checkName = "sources";

/** All sources of metadata. */
export class Sources implements Component {
  readonly #options: SourcesOptions;
  #runners: readonly SourceRunner[] = [];
  /** The reason why the file cannot be used. */
  #fault: string | undefined;
  readonly #metrics: SourceMetrics;
  readonly #shared: SharedByRunners;
  readonly #layers: SourceLayers;
  #endWatch = (): void => {};
  /** The queue of changes to the lists of sources and scopes. */
  #working: Promise<void> = Promise.resolve();
  readonly name = "sources";

  constructor(options: SourcesOptions) {
    this.#options = options;
    this.#layers = new SourceLayers(options.layers, options.scopes);
    this.#metrics = new SourceMetrics(options.metrics, () => this.states());
    this.#shared = {
      limit: createLimit(mostRuns),
      pause: (ms, signal) => this.#pause(ms, signal),
      metrics: this.#metrics,
      layers: this.#layers,
      changed: () => this.#report(),
    };
  }

  async start(): Promise<void> {
    this.#endWatch();
    this.#endWatch = this.#options.scopes?.watch(() => void this.#inTurn(() => this.#followScopes())) ?? this.#endWatch;
    try {
      const configs = readSourcesFile(Buffer.from(await this.#options.io.read(this.#options.path)).toString("utf8"));
      this.#fault = undefined;
      await this.#inTurn(() => this.#use(configs));
      this.#options.log.info(
        { path: this.#options.path, sources: configs.map(({ name }) => name) },
        "sources of metadata",
      );
    } catch (error) {
      this.#fault = `${this.#options.path}: ${(error as Error).message}`;
      this.#options.log.error(
        { path: this.#options.path, ...(error instanceof SourcesFileError ? { findings: error.findings } : { error }) },
        "the file of sources cannot be used",
      );
      this.#report();
    }
  }

  async stop(): Promise<void> {
    this.#endWatch();
    await this.#working;
    await Promise.all(this.#runners.map((runner) => runner.end()));
  }

  /** Reads the file again. Unchanged sources go on. An invalid file changes nothing. */
  reload(): Promise<void> {
    return this.start();
  }

  /** Returns the states in the order of priority. */
  states(): readonly SourceState[] {
    return this.#runners.map((runner) => runner.state());
  }

  /** Runs a source. @returns undefined for an unknown source. */
  run(name: string): Promise<SourceState> | undefined {
    return this.#find(name)?.run();
  }

  /** Returns the changes that a run would make. @returns undefined for an unknown source. @throws SourceFault */
  diff(name: string): Promise<SourceDiff> | undefined {
    return this.#find(name)?.diff();
  }

  /** Accepts held changes. @returns undefined for an unknown source; "nothing" where nothing is held. */
  accept(name: string): Promise<SourceState | "nothing"> | undefined {
    const runner = this.#find(name);
    return runner && runner.accept().then((state) => state ?? "nothing");
  }

  #report(): void {
    const bad = this.states().filter(({ state }) => state === "failing" || state === "held");
    // Anybody can see the readiness, so it must show nothing of the answers.
    const details = bad.map(({ name, state, run }) => {
      const reason = run?.code === undefined ? (run?.reason ?? "") : sourceFaults[run.code];
      return `${name} is ${state}: ${reason}`;
    });
    if (this.#fault !== undefined) details.unshift(this.#fault);
    const isDegraded = details.length > 0;
    this.#options.health.set({
      name: checkName,
      ready: true,
      degraded: isDegraded,
      ...(isDegraded && { detail: details.join("; ") }),
    });
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = this.#options.after(() => {
        signal.removeEventListener("abort", abort);
        resolve();
      }, ms);
      const abort = (): void => {
        end();
        reject(new Error("the collector is stopping"));
      };
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    const work = this.#working.then(action);
    this.#working = work.catch((error: unknown) => {
      this.#options.log.error({ error }, "sources do not follow which scopes there are");
    });
    return work;
  }

  async #followScopes(): Promise<void> {
    const fresh = await this.#layers.findScopes();
    if (fresh.size > 0) for (const runner of this.#runners) runner.fill(fresh);
  }

  /** Puts these sources in use. Sources with an unchanged configuration go on. */
  async #use(configs: readonly SourceConfig[]): Promise<void> {
    const kept = (config: SourceConfig): SourceRunner | undefined =>
      this.#runners.find((runner) => runner.config.fingerprint === config.fingerprint);
    const next = configs.map((config) => kept(config) ?? new SourceRunner(config, this.#options, this.#shared));
    const gone = this.#runners.filter((runner) => !next.includes(runner));
    const added = next.filter((runner) => !this.#runners.includes(runner));
    await Promise.all(gone.map((runner) => runner.end()));
    this.#runners = next;
    await this.#layers.setNames(next.map(({ config }) => config.name));
    await this.#followScopes();
    for (const { config } of added) this.#metrics.known(config.name);
    for (const runner of added) await runner.restore();
    this.#report();
    for (const runner of added) runner.begin();
  }

  #find(name: string): SourceRunner | undefined {
    return this.#runners.find(({ config }) => config.name === name);
  }
}

/** Returns a function that runs at most this many actions at the same time. */
function createLimit(most: number): <A>(action: () => Promise<A>) => Promise<A> {
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
