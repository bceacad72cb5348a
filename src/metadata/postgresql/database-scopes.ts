import { isDeepStrictEqual } from "node:util";
import type { Key } from "../../base/ip/index.ts";
import { formatProblem } from "../../base/yaml/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import type { UdmChange } from "../history/change.ts";
import type { NewLayerChange } from "../history/history.ts";
import type { ScopeChange, ScopeText } from "../model/scope.ts";
import { UdmError, type UdmCommit, type UdmIndex, type WriteOrigin } from "../model/udm-store.ts";
import { removeScope, setScope, takeBackScope, type PlanEdit, type PlannedEdit } from "../scopes/edit-scopes.ts";
import {
  mostScopes,
  readScopesFile,
  renderScopes,
  scopeText,
  ScopesFileError,
  type ScopeConfig,
} from "../scopes/scopes-file.ts";
import { ShownScopes } from "../scopes/shown-scopes.ts";
import {
  CollectorUdmStore,
  type Batch,
  type Outcome,
  type ScopeHost,
  type UdmPlaces,
  type WithinScope,
} from "../store/collector-store.ts";
import type { LayersOfScopes, UdmLayers } from "../store/udm-layers.ts";
import type { SharedHistory } from "./fetch-commits.ts";

interface DatabaseScopesOptions extends Reporting {
  /** The host of the store that has all entries. */
  readonly host: ScopeHost;
  readonly places: UdmPlaces;
  /** Checks that writes are accepted. @throws UdmError while they are not. */
  readonly checkWritable: () => void;
  readonly load: () => Promise<unknown>;
  /** Commits batches to a scope, while nothing else changes the index. @throws UdmError for all of them. */
  readonly commit: (scope: string, batches: readonly Batch[]) => Promise<readonly Outcome<UdmCommit>[]>;
  /** Commits a change of a definition in the same way. @returns its number; undefined where nothing has changed. */
  readonly define: (
    origin: { readonly author: string; readonly method: string },
    plan: (texts: readonly ScopeText[]) => PlannedEdit | undefined,
  ) => Promise<number | undefined>;
  /** Records a change of a source in the history of a scope. It never throws. */
  readonly noteLayer: (scope: string, change: NewLayerChange) => Promise<void>;
  readonly history: (scope: string, closed: AbortSignal) => SharedHistory;
}

/** Scopes whose definitions and entries are in the database, for all collectors that share it. */
export class DatabaseScopes implements Component, LayersOfScopes {
  readonly name = "scopes";
  readonly #options: DatabaseScopesOptions;
  readonly #shown: ShownScopes;
  #texts: readonly ScopeText[] = [];
  #configs: ReadonlyMap<ScopeText, ScopeConfig> = new Map();
  readonly #stores = new Map<string, ScopeStore>();

  constructor(options: DatabaseScopesOptions) {
    this.#options = options;
    this.#shown = new ShownScopes(options.host, options.metrics, options.log);
  }

  /** Does nothing, because the scopes come with the entries of the main store. */
  async start(): Promise<void> {}

  async stop(): Promise<void> {
    for (const store of this.#stores.values()) await store.stop();
  }

  /** Does nothing, because the main store reads the scopes again with all entries. */
  async reload(): Promise<void> {}

  /** Returns the store of a scope; undefined where the scope does not exist. */
  store(name: string): CollectorUdmStore | undefined {
    return this.#stores.get(name);
  }

  /** Returns the states of the named scopes. A state does not change while the caller holds it. */
  states(names: readonly string[]): readonly UdmIndex[] {
    return names.flatMap((name) => this.#shown.states(name));
  }

  layers(): ReadonlyMap<string, UdmLayers> {
    return new Map(Array.from(this.#stores, ([name, { layers }]) => [name, layers]));
  }

  watch(listener: () => void): () => void {
    return this.#shown.watchers.add(listener);
  }

  /** Returns the scopes in the order in which they are tried, each with the number of its entries. */
  list(): readonly (ScopeText & { readonly count: number })[] {
    return this.#texts.map((text) => ({ ...text, count: this.index(text.name)?.size ?? 0 }));
  }

  /**
   * Creates a scope, or changes the scope of this name.
   *
   * @param before the scope before which it is tried. If empty, an existing scope keeps its place and a new scope comes last.
   * @returns the number of the change; undefined where nothing has changed.
   * @throws UdmError and changes nothing.
   */
  async set(scope: Omit<ScopeText, "entries">, before: string, origin: WriteOrigin): Promise<number | undefined> {
    const text = canonical(scope);
    return this.#edit("SetScope", origin, (scopes) => setScope(scopes, text, before));
  }

  /** Deletes a scope. Its entries stay in the database. Returns and throws as {@link set}. @throws UdmError `not_found` */
  remove(name: string, origin: WriteOrigin): Promise<number | undefined> {
    return this.#edit("DeleteScope", origin, (scopes) => removeScope(scopes, name));
  }

  /** Undoes a change of a scope; a trial only checks that this is possible. Returns as {@link set}. @throws UdmError `failed_precondition` */
  async takeBack(change: ScopeChange, origin: WriteOrigin, isTrial: boolean): Promise<number | undefined> {
    const plan: PlanEdit = (scopes) => takeBackScope(scopes, change);
    if (!isTrial) return this.#edit("UndoChange", origin, plan);
    plan(this.#texts);
    return undefined;
  }

  /** Returns the scopes in the order in which they are tried. */
  texts(): readonly ScopeText[] {
    return this.#texts;
  }

  /** Returns the entries of a scope; undefined where the scope does not exist. */
  index(scope: string): UdmIndex | undefined {
    return this.#stores.get(scope)?.state();
  }

  /** Sets the scopes. New scopes have their entries in `states`. Nothing else may change the index meanwhile. */
  define(texts: readonly ScopeText[], states: ReadonlyMap<string, UdmIndex>): void {
    const names = new Set(texts.map(({ name }) => name));
    for (const [name, store] of this.#stores) {
      if (names.has(name)) continue;
      this.#stores.delete(name);
      void store.stop();
    }
    this.#configs = this.#read(texts);
    this.#shown.define([...this.#configs.values()], (name) => this.#stores.has(name));
    this.#texts = texts;
    for (const name of names) {
      const index = states.get(name);
      if (this.#stores.has(name) || index === undefined) continue;
      const store = this.#open(name);
      this.#stores.set(name, store);
      store.show(index);
    }
    this.#shown.watchers.notify();
  }

  /** Replaces the shown entries of an existing scope. Nothing else may change the index meanwhile. */
  show(scope: string, index: UdmIndex): void {
    this.#stores.get(scope)?.show(index);
  }

  /** Notifies the watchers of a scope of a change. */
  notify(scope: string, change: UdmChange): void {
    this.#stores.get(scope)?.history.notify(change);
  }

  async #edit(method: string, origin: WriteOrigin, plan: PlanEdit): Promise<number | undefined> {
    const { host, checkWritable, define, log } = this.#options;
    checkWritable();
    const { user, author = "", peer } = origin;
    let scope: string | undefined;
    return host.alone(async () => {
      const number = await define({ author: user ?? author, method }, (texts) => {
        const planned = plan(texts);
        scope = (planned.change.after ?? planned.change.before)?.name;
        if (planned.scopes.length > mostScopes && planned.scopes.length > texts.length) throw tooManyScopes();
        return isDeepStrictEqual(planned.scopes, texts) ? undefined : planned;
      });
      if (number !== undefined) log.info({ method, scope, user, peer, change: number }, "the scopes are changed");
      return number;
    });
  }

  /** Parses definitions. Most are unchanged and need not be parsed again. */
  #read(texts: readonly ScopeText[]): ReadonlyMap<ScopeText, ScopeConfig> {
    const before = this.#configs;
    const changed = texts.filter((text) => !before.has(text));
    const configs = readTexts(changed).values();
    return new Map(texts.map((text) => [text, before.get(text) ?? (configs.next().value as ScopeConfig)]));
  }

  #open(scope: string): ScopeStore {
    // A new scope of the same name may exist by now, while a source still works with this one.
    const isThere = (): boolean => this.#stores.get(scope) === store;
    const store: ScopeStore = new ScopeStore(scope, this.#options, {
      publish: (index) => (isThere() ? this.#shown.publish(scope, index) : undefined),
      showLayers: (layers) => (isThere() ? this.#shown.showLayers(scope, layers) : undefined),
      behind: (address) => (this.#shown.inherits(scope) ? this.#options.host.covering(address) : []),
    });
    return store;
  }
}

/** The entries of one scope in the database. */
class ScopeStore extends CollectorUdmStore {
  readonly history: SharedHistory;
  readonly places: UdmPlaces;
  readonly #scope: string;
  readonly #options: DatabaseScopesOptions;
  readonly #closing = new AbortController();

  constructor(scope: string, options: DatabaseScopesOptions, within: WithinScope) {
    const { clock, log, metrics, health, host } = options;
    super({ clock, log, metrics, health, owned: true, within: { host, ...within } });
    this.#scope = scope;
    this.#options = options;
    this.history = options.history(scope, this.#closing.signal);
    const { file } = options.places;
    this.places = { file, linesOf: async (keys: readonly Key[]) => keys.map(() => undefined) };
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#closing.abort();
    await this.queue.idle();
  }

  async load(): Promise<UdmIndex> {
    await this.#options.load();
    return this.current();
  }

  current(): UdmIndex {
    const index = this.#closing.signal.aborted ? undefined : this.state();
    if (index === undefined) throw new UdmError("unavailable", `scope ${this.#scope} is gone`);
    return index;
  }

  /** Returns the state; undefined before there is one. */
  state(): UdmIndex | undefined {
    return this.published.index();
  }

  show(index: UdmIndex): void {
    this.published.makeCurrent(index);
  }

  protected checkWritable(): void {
    this.#options.checkWritable();
  }

  protected commitGroup(batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]> {
    return this.#options.commit(this.#scope, batches);
  }

  /** Does nothing, because the main store makes the trial. */
  protected async tryWrite(): Promise<void> {}

  protected noteLayer(change: NewLayerChange): Promise<void> {
    return this.#options.noteLayer(this.#scope, change);
  }

  protected async noteScope(): Promise<undefined> {}
}

function tooManyScopes(): UdmError {
  return new UdmError("invalid_argument", `there may be ${mostScopes} scopes at most`);
}

/** Returns a scope in canonical form, by the rules of the file of scopes. @throws UdmError `invalid_argument` with all findings. */
function canonical(scope: Omit<ScopeText, "entries">): ScopeText {
  try {
    return scopeText(readTexts([scope])[0] as ScopeConfig);
  } catch (error) {
    if (!(error instanceof ScopesFileError)) throw error;
    const descriptions = error.findings.filter(({ severity }) => severity === "error").map(formatProblem);
    const violations = descriptions.map((description) => ({ index: 0, field: "scope", description }));
    throw new UdmError("invalid_argument", descriptions.join("; "), violations);
  }
}

/** Parses definitions. @throws ScopesFileError */
function readTexts(texts: readonly ScopeText[]): readonly ScopeConfig[] {
  return texts.length === 0 ? [] : readScopesFile("scopes", Buffer.from(renderScopes(texts, "")));
}
