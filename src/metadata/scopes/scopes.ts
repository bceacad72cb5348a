import { isMissing, WatchedFile, type FileIo } from "../../base/file/index.ts";
import { type Component, type Health, type Log, type Metrics, type Reporting } from "../../base/report/index.ts";
import { mostScopes } from "../index/scope-table.ts";
import type { PublishedScope } from "../index/shared-index.ts";
import type { ScopeDefinition } from "../model/scope.ts";
import type { AddressRange, UdmIndex } from "../model/udm-store.ts";
import type { CollectorUdmStore, UdmFileStoreOptions } from "../store/collector-store.ts";
import { UdmFileStore } from "../store/udm-file-store.ts";
import { readScopesFile, type ScopeConfig } from "./scopes-file.ts";

/** Name of the readiness check. */
const checkName = "scopes";
const pollMs = 60_000;
/** Scopes that a check names. */
const maxShown = 3;
/** Files of entries that are read side by side. */
const readAtOnce = 16;

const withoutEntries = { disabled: "the scope has no file of entries: name one as entries in the file of scopes" };

/** A scope in force. */
interface RunningScope {
  readonly config: ScopeConfig;
  readonly number: number;
  /** Undefined: it has no file of entries. */
  readonly store: UdmFileStore | undefined;
}

export interface ScopesOptions extends Reporting {
  /** The file of scopes. */
  readonly path: string;
  /** The store of all other entries, in whose index those of scopes are. */
  readonly metadata: Pick<CollectorUdmStore, "scopes">;
  /** How the files of entries are read, and whether writes are taken, which {@link Scopes.store} is for. */
  readonly entries: Pick<UdmFileStoreOptions, "owned" | "refreshMs" | "stateDirectory" | "historyBytes" | "limitName">;
  readonly io?: FileIo;
}

/**
 * Follows the file of scopes, and the files of their entries. A file of scopes that cannot be used changes nothing; a file of entries leaves
 * those that the scope had.
 */
export class Scopes implements Component {
  readonly name = "scopes";
  readonly #options: ScopesOptions;
  readonly #log: Log;
  readonly #file: WatchedFile;
  #running: ReadonlyMap<string, RunningScope> = new Map();
  /** What each scope with a fault fails at. */
  readonly #faults = new Map<string, string>();
  readonly #indexes = new Map<number, UdmIndex>();
  #fileFault: string | undefined;
  #lastNumber = 0;
  #applied: Promise<void> = Promise.resolve();
  #failures = 0;
  readonly #metrics: Metrics;

  constructor(options: ScopesOptions) {
    const { path, io, log, metrics } = options;
    this.#options = options;
    this.#log = log;
    this.#file = new WatchedFile(
      path,
      pollMs,
      {
        take: (bytes) => this.#take(readScopesFile(path, bytes)),
        failed: (error) => this.#failed(error),
      },
      io,
    );
    this.#metrics = sharedMetrics(metrics);
    this.#registerMetrics(metrics);
  }

  async start(): Promise<void> {
    await this.#file.start();
    await this.#applied;
  }

  async stop(): Promise<void> {
    await this.#file.stop();
    await this.#applied;
    for (const { store } of this.#running.values()) await store?.stop();
  }

  /** Returns the store of a scope, or why it has none; undefined: there is no such scope. */
  store(name: string): UdmFileStore | { readonly disabled: string } | undefined {
    const scope = this.#running.get(name);
    return scope && (scope.store ?? withoutEntries);
  }

  /** Reads the file of scopes again, and those of entries. */
  async reload(): Promise<void> {
    const before = this.#running;
    await this.#file.reload(true);
    await this.#applied;
    await inTurns(
      [...this.#running.values()].filter((scope) => before.get(scope.config.name)?.store === scope.store),
      async ({ store }) => void (await store?.load().catch(() => {})),
    );
  }

  #take(configs: readonly ScopeConfig[]): void {
    this.#fileFault = undefined;
    this.#applied = this.#applyAfter(this.#applied, configs);
  }

  async #applyAfter(before: Promise<void>, configs: readonly ScopeConfig[]): Promise<void> {
    await before;
    try {
      await this.#apply(configs);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { path } = this.#options;
    // Whoever watches all files of enrichment reports a missing one.
    if (isMissing(error)) return;
    this.#failures++;
    this.#fileFault = error instanceof Error ? error.message : String(error);
    this.#log.error({ path, error }, "the file of scopes cannot be used: the scopes stay as they were");
    this.#report();
  }

  /** Makes these the scopes: their definitions at once, then the entries of those that are new. */
  async #apply(configs: readonly ScopeConfig[]): Promise<void> {
    const { host, before } = { host: this.#options.metadata.scopes, before: this.#running };
    const used = new Set(Array.from(before.values(), ({ number }) => number));
    const next = new Map<string, RunningScope>();
    const changes = new Map<number, PublishedScope | undefined>();
    for (const config of configs) {
      const known = before.get(config.name);
      const number = known?.number ?? this.#freeNumber(used);
      const store = known?.config.entries === config.entries ? known?.store : this.#open(config, number);
      next.set(config.name, { config, number, store });
      if (store !== known?.store) this.#indexes.delete(number);
      changes.set(number, { index: this.#indexes.get(number), inherits: config.inherit });
    }
    const gone = [...before.values()].filter(({ config, store }) => store !== next.get(config.name)?.store);
    for (const { config, number } of before.values()) {
      if (next.has(config.name)) continue;
      changes.set(number, undefined);
      this.#indexes.delete(number);
    }
    this.#running = next;
    await host.alone(async () => void host.publish(changes, definitionsOf(next.values())));
    for (const { config, store } of gone) {
      this.#faults.delete(config.name);
      await store?.stop();
    }
    await inTurns(
      [...next.values()].filter(({ config, store }) => store !== before.get(config.name)?.store),
      async ({ store }) => store?.start(),
    );
    this.#log.info({ path: this.#options.path, scopes: next.size }, "the file of scopes is read");
    this.#report();
  }

  #freeNumber(used: Set<number>): number {
    // Numbers come again as late as possible.
    do this.#lastNumber = (this.#lastNumber % mostScopes) + 1;
    while (used.has(this.#lastNumber));
    used.add(this.#lastNumber);
    return this.#lastNumber;
  }

  #open({ name, entries }: ScopeConfig, number: number): UdmFileStore | undefined {
    if (entries === undefined) return undefined;
    const { metadata, entries: reading, io, clock, log, health } = this.#options;
    return new UdmFileStore({
      clock,
      log,
      metrics: this.#metrics,
      health: this.#healthOf(name, health),
      ...(io !== undefined && { io }),
      ...reading,
      path: entries,
      within: {
        host: metadata.scopes,
        publish: (index) => this.#publish(name, number, index),
        behind: (address) =>
          this.#running.get(name)?.config.inherit === true ? metadata.scopes.covering(address) : [],
      },
    });
  }

  #publish(name: string, number: number, index: UdmIndex): readonly AddressRange[] | undefined {
    const running = this.#running.get(name);
    // It may have gone while its file was read.
    if (running?.number !== number) return undefined;
    const published = { index, inherits: running.config.inherit };
    const ranges = this.#options.metadata.scopes.publish(new Map([[number, published]]));
    this.#indexes.set(number, index);
    return ranges;
  }

  /** One check has what all scopes report. */
  #healthOf(name: string, health: Health): Health {
    return {
      ...health,
      set: ({ ready, degraded = false, detail }) => {
        if (ready && !degraded) this.#faults.delete(name);
        else {
          this.#failures++;
          this.#faults.set(name, `${name}: ${detail ?? "its entries cannot be used"}`);
        }
        this.#report();
      },
    };
  }

  #report(): void {
    const faults = [...(this.#fileFault === undefined ? [] : [this.#fileFault]), ...this.#faults.values()];
    const more = faults.length > maxShown ? `; and ${faults.length - maxShown} more` : "";
    const detail = faults.length > 0 ? `${faults.slice(0, maxShown).join("; ")}${more}` : undefined;
    this.#options.health.set({
      name: checkName,
      ready: true,
      degraded: faults.length > 0,
      ...(detail !== undefined && { detail }),
    });
  }

  #registerMetrics(metrics: Metrics): void {
    metrics.gaugeFrom("netgloss_udm_scopes", "Scopes in use.", [], () => this.#running.size);
    metrics.gaugeFrom("netgloss_udm_scope_entries", "Metadata entries of all scopes in use.", [], () =>
      [...this.#indexes.values()].reduce((sum, { size }) => sum + size, 0),
    );
    metrics.counterFrom(
      "netgloss_udm_scope_failures_total",
      "Times the file of scopes, or one of their entries, could not be used.",
      [],
      () => this.#failures,
    );
  }
}

/** Metrics that the stores of all scopes count together, under names of their own. What would be read of one store alone is left out. */
function sharedMetrics(metrics: Metrics): Metrics {
  const made = new Map<string, unknown>();
  const once = <T>(name: string, make: (own: string) => T): T => {
    const own = name.replace("netgloss_udm_", "netgloss_udm_scope_");
    if (!made.has(own)) made.set(own, make(own));
    return made.get(own) as T;
  };
  return {
    ...metrics,
    counter: (name, help, labels) => once(name, (own) => metrics.counter(own, ofScopes(help), labels)),
    histogram: (name, help, buckets, labels) =>
      once(name, (own) => metrics.histogram(own, ofScopes(help), buckets, labels)),
    gauge: (name, help, labels) => once(name, (own) => metrics.gauge(own, ofScopes(help), labels)),
    counterFrom() {},
    gaugeFrom() {},
  };
}

function ofScopes(help: string): string {
  return `In all scopes: ${help}`;
}

/** The definitions as the index has them, in their order. */
function definitionsOf(scopes: Iterable<RunningScope>): Uint8Array {
  const definitions = Array.from(scopes, ({ config: { name, match }, number }): ScopeDefinition => ({
    name,
    number,
    match,
  }));
  return Buffer.from(JSON.stringify(definitions));
}

/** Works on some at a time, in their order. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: readAtOnce }, worker));
}
