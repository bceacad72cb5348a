import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  findLeftOvers,
  isMissing,
  makeFolder,
  nodeFileIo,
  readSettled,
  replaceFile,
  resolveTarget,
  temporaryPath,
  WatchedFile,
  type FileIo,
  type FileStamp,
} from "../../base/file/index.ts";
import { formatProblem } from "../../base/yaml/index.ts";
import {
  logWith,
  renamedMetrics,
  type Component,
  type Health,
  type Log,
  type Metrics,
  type Reporting,
} from "../../base/report/index.ts";
import type { ScopeChange, ScopeText } from "../model/scope.ts";
import { UdmError, type UdmIndex, type WriteOrigin } from "../model/udm-store.ts";
import type { CollectorUdmStore, ScopeHost, UdmFileStoreOptions, WithinScope } from "../store/collector-store.ts";
import { UdmLayers, type LayersOfScopes } from "../store/udm-layers.ts";
import { UdmFileStore } from "../store/udm-file-store.ts";
import { removeScope, setScope, takeBackScope, type PlanEdit } from "./edit-scopes.ts";
import { readScopesFile, renderScopes, scopeText, ScopesFileError, type ScopeConfig } from "./scopes-file.ts";
import { ShownScopes } from "./shown-scopes.ts";

/** Name of the readiness check. */
const checkName = "scopes";
const pollMs = 60_000;
/** The most scopes that a check names. */
const maxShown = 3;
/** The number of files of entries that are read at the same time. */
const readAtOnce = 16;

const withoutEntries = { disabled: "the scope has no file of entries: name one as entries in the file of scopes" };

/** A scope in force. */
interface RunningScope {
  readonly config: ScopeConfig;
  /** Undefined where the scope has no file of entries. */
  readonly store: UdmFileStore | undefined;
  /** The entries that sources add. */
  readonly layers: UdmLayers;
}

/** The file of scopes as an edit finds it. */
interface FoundFile {
  readonly scopes: readonly ScopeText[];
  /** Undefined where there is no file. */
  readonly stamp: FileStamp | undefined;
  /** True where a save of the same scopes would write the same bytes. */
  readonly isOurs: boolean;
}

export interface ScopesOptions extends Reporting {
  /** The file of scopes. */
  readonly path: string;
  /** The store of all other entries. Its index also holds the entries of scopes. */
  readonly metadata: Pick<CollectorUdmStore, "scopes" | "places">;
  /** Options for reading the files of entries, and whether {@link Scopes.store} accepts writes. */
  readonly entries: Pick<UdmFileStoreOptions, "owned" | "refreshMs" | "stateDirectory" | "historyBytes" | "limitName">;
  readonly io?: FileIo;
}

/**
 * Follows the file of scopes and the files of their entries. If the file of scopes is invalid, nothing changes. If a file of entries is invalid,
 * its scope keeps the entries that it had.
 */
export class Scopes implements Component, LayersOfScopes {
  readonly name = "scopes";
  readonly #options: ScopesOptions;
  readonly #log: Log;
  readonly #file: WatchedFile;
  #running: ReadonlyMap<string, RunningScope> = new Map();
  /** The fault of each scope that has one. */
  readonly #faults = new Map<string, string>();
  readonly #shown: ShownScopes;
  #fileFault: string | undefined;
  #applied: Promise<void> = Promise.resolve();
  #failures = 0;
  #edited: Promise<unknown> = Promise.resolve();
  #temporaries = 0;
  readonly #metrics: Metrics;

  constructor(options: ScopesOptions) {
    const { path, io, log, metrics } = options;
    this.#options = options;
    this.#log = log;
    this.#file = new WatchedFile(
      path,
      pollMs,
      {
        take: (bytes) => this.#take(readScopesFile(path, bytes, options.metadata.places.file)),
        failed: (error) => this.#failed(error),
      },
      io,
    );
    this.#metrics = sharedMetrics(metrics);
    this.#shown = new ShownScopes(options.metadata.scopes, metrics, log);
    metrics.counterFrom(
      "netgloss_udm_scope_failures_total",
      "Times the file of scopes, or one of their entries, could not be used.",
      [],
      () => this.#failures,
    );
  }

  async start(): Promise<void> {
    await this.#file.start();
    await this.#applied;
  }

  async stop(): Promise<void> {
    await this.#edited;
    await this.#file.stop();
    await this.#applied;
    for (const { store } of this.#running.values()) await store?.stop();
  }

  /** Returns the store of a scope, or the reason why it has none. Returns undefined where the scope does not exist. */
  store(name: string): UdmFileStore | { readonly disabled: string } | undefined {
    const scope = this.#running.get(name);
    return scope && (scope.store ?? withoutEntries);
  }

  /** Returns the states of those of the named scopes that have entries. A state does not change while the caller holds it. */
  states(names: readonly string[]): readonly UdmIndex[] {
    return names.flatMap((name) => this.#shown.states(name));
  }

  layers(): ReadonlyMap<string, UdmLayers> {
    return new Map(Array.from(this.#running, ([name, { layers }]) => [name, layers]));
  }

  watch(listener: () => void): () => void {
    return this.#shown.watchers.add(listener);
  }

  /** Returns the scopes in the order in which they are tried, each with the number of its entries. */
  list(): readonly (ScopeText & { readonly count: number })[] {
    return Array.from(this.#running.values(), ({ config }) => ({
      ...scopeText(config),
      count: this.#shown.index(config.name)?.size ?? 0,
    }));
  }

  /**
   * Creates a scope, or changes the scope of this name. A new scope keeps its entries in `scopes/<name>.yml` beside the file of scopes, so a caller
   * of the API cannot choose another file.
   *
   * @param before the scope before which it is tried. If empty, an existing scope keeps its place and a new scope comes last.
   * @returns the number of the change; undefined where the history does not keep it.
   * @throws UdmError and changes nothing.
   */
  set(scope: Omit<ScopeText, "entries">, before: string, origin: WriteOrigin): Promise<number | undefined> {
    return this.#edit("SetScope", origin, (scopes) => {
      const known = scopes.find(({ name }) => name === scope.name);
      const entries = known?.entries ?? join(this.#folder(), "scopes", `${scope.name}.yml`);
      return setScope(scopes, { ...scope, entries }, before);
    });
  }

  /** Deletes a scope. The file of its entries stays. Returns and throws as {@link set}. @throws UdmError `not_found` */
  remove(name: string, origin: WriteOrigin): Promise<number | undefined> {
    return this.#edit("DeleteScope", origin, (scopes) => removeScope(scopes, name));
  }

  /** Undoes a change of a scope; a trial only checks that this is possible. Returns as {@link set}. @throws UdmError `failed_precondition` */
  takeBack(change: ScopeChange, origin: WriteOrigin, isTrial: boolean): Promise<number | undefined> {
    return this.#edit("UndoChange", origin, (scopes) => takeBackScope(scopes, change), isTrial);
  }

  #folder(): string {
    return dirname(resolve(this.#options.path));
  }

  /** Runs edits one after the other. Each edit starts from the file as the edit before it left it. */
  #edit(method: string, origin: WriteOrigin, plan: PlanEdit, isTrial = false): Promise<number | undefined> {
    const work = this.#edited.then(async () => {
      const found = await this.#find();
      const { scopes: planned, change: asked } = plan(found.scopes);
      // Reading the rendered text gives addresses in canonical form and drops empty parts.
      const scopes = this.#read(renderScopes(planned, this.#folder()));
      if (isTrial || isDeepStrictEqual(scopes, found.scopes)) return undefined;
      const change = { ...asked, after: asked.after && scopes.find(({ name }) => name === asked.after?.name) };
      await this.#save(renderScopes(scopes, this.#folder()), found, change.after?.entries);
      await this.#file.reload(false);
      await this.#applied;
      if (this.#fileFault !== undefined) throw new UdmError("unavailable", this.#fileFault);
      const { scopes: host } = this.#options.metadata;
      const author = origin.user ?? origin.author ?? "";
      const number = await host.alone(() => host.note({ author, method, changes: [], scope: change }));
      const { user, peer } = origin;
      const scope = (change.after ?? change.before)?.name;
      this.#log.info({ method, scope, user, peer, change: number }, "the file of scopes is written");
      return number;
    });
    this.#edited = work.catch(() => {});
    return work;
  }

  /** Reads the file of scopes. @throws UdmError when the file is invalid, so that an unfinished edit by hand is not overwritten. */
  async #find(): Promise<FoundFile> {
    const { path, io = nodeFileIo, metadata } = this.#options;
    try {
      const { bytes, state } = await readSettled(io, path, await io.state(path));
      const scopes = readScopesFile(path, bytes, metadata.places.file).map(scopeText);
      const isOurs = Buffer.from(renderScopes(scopes, this.#folder())).equals(bytes);
      return { scopes, stamp: state, isOurs };
    } catch (error) {
      if (isMissing(error)) return { scopes: [], stamp: undefined, isOurs: true };
      const code = error instanceof ScopesFileError ? "failed_precondition" : "unavailable";
      const why = error instanceof Error ? error.message : String(error);
      throw new UdmError(code, `the file of scopes cannot be used as it is: ${why}`, [], { cause: error });
    }
  }

  /** Parses scopes by the rules of the file. @throws UdmError `invalid_argument` with all findings. */
  #read(text: string): readonly ScopeText[] {
    const { path, metadata } = this.#options;
    try {
      return readScopesFile(path, Buffer.from(text), metadata.places.file).map(scopeText);
    } catch (error) {
      if (!(error instanceof ScopesFileError)) throw error;
      const descriptions = error.findings.filter(({ severity }) => severity === "error").map(formatProblem);
      throw new UdmError(
        "invalid_argument",
        descriptions.join("; "),
        descriptions.map((description) => ({ index: 0, field: "scope", description })),
      );
    }
  }

  /** Saves the file of scopes. @param entries the file of entries, whose folder is created. @throws UdmError `unavailable` */
  async #save(text: string, { stamp, isOurs }: FoundFile, entries: string | undefined): Promise<void> {
    const { path, io = nodeFileIo, clock } = this.#options;
    try {
      if (entries !== undefined) await makeFolder(dirname(entries));
      const target = await resolveTarget(io, path);
      if (this.#temporaries === 0) await this.#removeLeftOvers(target);
      const now = new Date(clock.now()).toISOString().replaceAll(/[-:]/g, "");
      const temporary = (): string => temporaryPath(target, Math.floor(clock.now()).toString(36), this.#temporaries++);
      const plan = {
        target,
        temporary: temporary(),
        asidePath: temporary(),
        expected: stamp,
        originalPath: isOurs ? undefined : `${target}.orig`,
        editedPath: `${target}.edited-${now}`,
        imagePath: undefined,
        isInPlace: false,
      };
      const { kept } = await replaceFile(io, plan, () => [Buffer.from(text)]);
      for (const { path: at } of kept)
        this.#log.info({ path: at }, "kept the file of scopes as it was written by hand");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new UdmError("unavailable", `the file of scopes cannot be saved: ${why}`, [], { cause: error });
    }
  }

  /** Removes the temporary files of interrupted saves. */
  async #removeLeftOvers(target: string): Promise<void> {
    const { io = nodeFileIo } = this.#options;
    try {
      for (const path of await findLeftOvers(io, target)) await io.unlink(path);
    } catch (error) {
      this.#log.warn({ error }, "cannot remove temporary files in the folder of the file of scopes");
    }
  }

  /** Reads the file of scopes and the files of entries again. */
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
    // The watcher of all enrichment files reports a missing file.
    if (isMissing(error)) return;
    this.#failures++;
    this.#fileFault = error instanceof Error ? error.message : String(error);
    this.#log.error({ path, error }, "the file of scopes cannot be used: the scopes stay as they were");
    this.#report();
  }

  /** Puts these scopes in force: first all definitions, then the entries of new scopes. */
  async #apply(configs: readonly ScopeConfig[]): Promise<void> {
    const before = this.#running;
    const next = new Map<string, RunningScope>();
    for (const config of configs) {
      const known = before.get(config.name);
      const isSame = known?.config.entries === config.entries;
      next.set(config.name, known !== undefined && isSame ? { ...known, config } : this.#open(config));
    }
    await this.#options.metadata.scopes.alone(async () => {
      this.#shown.define(configs, (name) => next.get(name)?.layers === before.get(name)?.layers);
      this.#running = next;
    });
    for (const { config, store } of before.values()) {
      if (store === next.get(config.name)?.store) continue;
      this.#faults.delete(config.name);
      await store?.stop();
    }
    await inTurns(
      [...next.values()].filter(({ config, store }) => store !== before.get(config.name)?.store),
      // If another process holds a file, that is a fault of its scope only, and it is reported as one.
      async ({ store }) => store?.start().catch(() => {}),
    );
    this.#log.info({ path: this.#options.path, scopes: next.size }, "the file of scopes is read");
    this.#report();
    this.#shown.watchers.notify();
  }

  #open(config: ScopeConfig): RunningScope {
    const { name, entries } = config;
    const { metadata, entries: reading, io, clock, log, health } = this.#options;
    const { scopes: host } = metadata;
    // The scope may have been removed while its file was read.
    const isRunning = (layers: UdmLayers): boolean => this.#running.get(name)?.layers === layers;
    const within: WithinScope = {
      publish: (index) => (isRunning(layers) ? this.#shown.publish(name, index) : undefined),
      showLayers: (next) => (isRunning(layers) ? this.#shown.showLayers(name, next) : undefined),
      behind: (address) => (this.#shown.inherits(name) ? host.covering(address) : []),
    };
    const store =
      entries === undefined
        ? undefined
        : new UdmFileStore({
            clock,
            log: logWith({ scope: name }, log),
            metrics: this.#metrics,
            health: this.#healthOf(name, health),
            ...(io !== undefined && { io }),
            ...reading,
            path: entries,
            within: { host, ...within },
          });
    const layers: UdmLayers = store?.layers ?? layersAlone(host, within);
    return { config, store, layers };
  }

  /** Returns a view of the health of one scope. One check combines the reports of all scopes. */
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
}

/** Returns the layers of a scope without a file of entries. */
function layersAlone(host: ScopeHost, { behind, showLayers }: WithinScope): UdmLayers {
  const nobody = { index: () => undefined, changed() {} };
  return new UdmLayers(host.shared, nobody, host.alone, async () => {}, behind, showLayers);
}

/** Returns metrics that the stores of all scopes share, under their own names. Callback metrics, which describe a single store, are left out. */
function sharedMetrics(metrics: Metrics): Metrics {
  const own = renamedMetrics(
    metrics,
    (name) => name.replace("netgloss_udm_", "netgloss_udm_scope_"),
    (help) => `In all scopes: ${help}`,
  );
  const made = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    if (!made.has(name)) made.set(name, make());
    return made.get(name) as T;
  };
  return {
    ...own,
    counter: (name, help, labels) => once(name, () => own.counter(name, help, labels)),
    histogram: (name, help, buckets, labels) => once(name, () => own.histogram(name, help, buckets, labels)),
    gauge: (name, help, labels) => once(name, () => own.gauge(name, help, labels)),
    counterFrom() {},
    gaugeFrom() {},
  };
}

/** Works on the items in order, a limited number at a time. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: readAtOnce }, worker));
}
