import { compareSpecificity, type Address, type Key } from "../../base/ip/index.ts";
import type { PublishedState } from "./collector-store.ts";
import { mostChanges } from "../index/snapshots.ts";
import type { SharedIndex, UdmLayer } from "../index/shared-index.ts";
import { yieldToEventLoop, type EntryChange } from "../model/apply-writes.ts";
import type { NewLayerChange } from "../history/history.ts";
import { sameEntry, type UdmEntry } from "../model/entry.ts";
import { UdmError, type AddressRange, type UdmEdit, type UdmIndex } from "../model/udm-store.ts";

/** An entry with its layer; undefined stands for the entries that people write. */
export interface LayeredEntry {
  readonly layer: string | undefined;
  readonly entry: UdmEntry;
  /** True for a global entry that applies after those of a scope, however specific it is. */
  readonly isGlobal?: boolean;
}

/** The changes that a replacement makes to the entries of a layer. */
export interface LayerChanges {
  readonly added: readonly UdmEntry[];
  /** The changed entries in their new form. */
  readonly changed: readonly UdmEntry[];
  readonly removed: readonly UdmEntry[];
  readonly unchanged: number;
}

/** The scopes into which sources may put entries. */
export interface LayersOfScopes {
  /** Returns the layers of each scope. A scope that is removed and added again has new, empty layers. */
  layers(): ReadonlyMap<string, UdmLayers>;
  /** Calls a listener when scopes are added or removed. @returns a function that removes it. */
  watch(listener: () => void): () => void;
}

/** The number of entries that are compared or changed in one turn of the event loop, which takes a few milliseconds. */
const entriesPerYield = 500;
/** The most entries of a layer's change that the history keeps, with their old and new states. */
const mostNoted = 1000;

/**
 * The layers after the entries that people write, either global or of a scope. A look-up uses all of them. The most specific entry comes first; for
 * equal keys, that of a person, then those of the layers in their order. A scope has only layers with entries, because sources are few but scopes
 * may be many.
 */
export class UdmLayers {
  readonly #shared: SharedIndex;
  readonly #published: Pick<PublishedState, "index" | "changed">;
  readonly #alone: <A>(action: () => Promise<A>) => Promise<A>;
  readonly #note: (change: NewLayerChange) => Promise<void>;
  readonly #behind: (address: Address) => readonly LayeredEntry[];
  readonly #showInScope: ((next: readonly UdmLayer[]) => void) | undefined;
  #names: readonly string[] = [];
  #layers: readonly UdmLayer[] = [];

  /**
   * @param published has the entries that people write. Its `changed` is called at each change.
   * @param alone runs an action while nothing else changes the index.
   * @param note records a change in the history, while nothing else changes the index.
   * @param behind returns entries that apply after all of these, such as the global ones after those of a scope.
   * @param showInScope shows the layers of a scope, while nothing else changes the index. If left out, the layers are global.
   */
  constructor(
    shared: SharedIndex,
    published: Pick<PublishedState, "index" | "changed">,
    alone: <A>(action: () => Promise<A>) => Promise<A>,
    note: (change: NewLayerChange) => Promise<void>,
    behind: (address: Address) => readonly LayeredEntry[] = () => [],
    showInScope?: (next: readonly UdmLayer[]) => void,
  ) {
    this.#shared = shared;
    this.#published = published;
    this.#alone = alone;
    this.#note = note;
    this.#behind = behind;
    this.#showInScope = showInScope;
  }

  /** Returns the layers in the order of priority. */
  list(): readonly UdmLayer[] {
    return this.#layers;
  }

  /**
   * Sets the layers, in the order of priority. An existing layer that is named keeps its entries. A layer that is not named
   * is removed with its entries, which is a change in the history.
   */
  async setNames(names: readonly string[]): Promise<void> {
    const gone = await this.#alone(async () => {
      this.#names = names;
      const before = this.#layers;
      const next = names.flatMap((name) => before.find((layer) => layer.name === name) ?? this.#newLayer(name));
      if (next.length !== before.length || next.some((layer, i) => layer !== before[i])) this.#publish(next, undefined);
      return before.filter((layer) => !next.includes(layer));
    });
    for (const layer of gone) await this.#noteGone(layer);
  }

  /** Returns the changes that {@link replace} would make. It yields to the event loop. @throws UdmError `not_found` for an unknown layer. */
  async compare(name: string, entries: readonly UdmEntry[]): Promise<LayerChanges> {
    const index = this.#find(name)?.index;
    // The first load of a layer.
    if (index === undefined || index.size === 0) return { added: entries, changed: [], removed: [], unchanged: 0 };
    const added: UdmEntry[] = [];
    const changed: UdmEntry[] = [];
    const keys = new Set<string>();
    for (const [i, entry] of entries.entries()) {
      if (i % entriesPerYield === entriesPerYield - 1) await yieldToEventLoop();
      keys.add(entry.key.text);
      const before = index.get(entry.key);
      if (before === undefined) added.push(entry);
      else if (!sameEntry(before, entry)) changed.push(entry);
    }
    const removed: UdmEntry[] = [];
    // If no entry is missing, as in most runs, the index need not be read.
    if (index.size + added.length > keys.size) {
      let read = 0;
      for (const entry of index.entries()) {
        if (++read % entriesPerYield === 0) await yieldToEventLoop();
        if (!keys.has(entry.key.text)) removed.push(entry);
      }
    }
    return { added, changed, removed, unchanged: keys.size - added.length - changed.length };
  }

  /**
   * Replaces the entries of a layer. Look-ups go on meanwhile; they see either all old entries or all new ones. Only one call
   * for a layer may run at a time.
   *
   * @param method the method of the change in the history, whose author is the layer's name. If undefined, the history does not record it: the
   *   entries existed before a restart.
   * @throws UdmError `not_found` for an unknown layer, `resource_exhausted` without room. The layer does not change then.
   */
  async replace(name: string, entries: readonly UdmEntry[], method?: string): Promise<LayerChanges> {
    const layer = this.#find(name);
    const changes = await this.compare(name, entries);
    const { added, changed, removed } = changes;
    const count = added.length + changed.length + removed.length;
    if (count === 0) return changes;
    const index = await this.#apply(layer, changes);
    const keys: Key[] | undefined =
      count > mostChanges ? undefined : [...added, ...changed, ...removed].map((entry) => entry.key);
    await this.#alone(async () => {
      // The layer may have been removed meanwhile.
      if (this.#find(name) !== layer) throw noLayer(name);
      const isKept = this.#showInScope === undefined || index.size > 0;
      const next = this.#names.flatMap((of) => {
        if (of === name) return isKept ? [{ name, places: layer?.places, index }] : [];
        return this.#layers.find((one) => one.name === of) ?? [];
      });
      this.#publish(next, keys);
    });
    if (method !== undefined) await this.#noteChanges(name, layer?.index, changes, method);
    return changes;
  }

  /** Returns every entry of all layers that covers the address. The most specific comes first; equal keys keep the order of the layers. */
  covering(address: Address): readonly LayeredEntry[] {
    const of = (layer: string | undefined, index: UdmIndex): LayeredEntry[] =>
      index.covering(address).map((entry) => ({ layer, entry }));
    const people = this.#published.index();
    const all = people === undefined ? [] : of(undefined, people);
    for (const { name, index } of this.#layers) all.push(...of(name, index));
    all.sort((a, b) => compareSpecificity(a.entry.key, b.entry.key));
    for (const one of this.#behind(address)) all.push({ ...one, isGlobal: true });
    return all;
  }

  /** Finds a layer. @returns undefined for a layer of a scope without entries. @throws UdmError `not_found` */
  #find(name: string): UdmLayer | undefined {
    if (!this.#names.includes(name)) throw noLayer(name);
    return this.#layers.find((one) => one.name === name);
  }

  #newLayer(name: string): readonly UdmLayer[] {
    if (this.#showInScope !== undefined) return [];
    return [{ name, index: this.#shared.empty(), places: this.#shared.layerPlaces() }];
  }

  #publish(next: readonly UdmLayer[], changed: readonly AddressRange[] | undefined): void {
    if (this.#showInScope !== undefined) {
      this.#showInScope(next);
      this.#layers = next;
      return;
    }
    this.#layers = next;
    this.#shared.publishLayers(next, changed);
    this.#published.changed(changed);
  }

  async #apply(layer: UdmLayer | undefined, { added, changed, removed }: LayerChanges): Promise<UdmIndex> {
    const put = (edit: UdmEdit, entry: UdmEntry): void => edit.put(entry, entry.fileOnly?.yaml ?? "");
    const steps = [
      ...inParts(removed, (edit, entry) => void edit.delete(entry.key)),
      ...inParts(changed, put),
      ...inParts(added, (edit, entry) => {
        put(edit, entry);
        layer?.places?.add(entry.key);
      }),
    ];
    const edit = await this.#alone(async () => (layer?.index ?? this.#shared.empty()).edit());
    try {
      for (const step of steps) {
        await this.#alone(async () => step(edit));
        await yieldToEventLoop();
      }
      return await this.#alone(async () => edit.done());
    } catch (error) {
      await this.#alone(async () => edit.drop());
      throw error;
    }
  }

  #noteChanges(
    name: string,
    index: UdmIndex | undefined,
    { added, changed, removed }: LayerChanges,
    method: string,
  ): Promise<void> {
    const before = (entry: UdmEntry): UdmEntry | undefined => index?.get(entry.key);
    const changes = [
      ...removed.slice(0, mostNoted).map((entry) => ({ before: entry, after: undefined })),
      ...changed.slice(0, mostNoted).map((entry) => ({ before: before(entry), after: entry })),
      ...added.slice(0, mostNoted).map((entry) => ({ before: undefined, after: entry })),
    ].slice(0, mostNoted);
    const entries = added.length + changed.length + removed.length;
    return this.#alone(() => this.#note({ author: name, method, layer: name, entries, changes }));
  }

  async #noteGone(layer: UdmLayer): Promise<void> {
    const { index } = layer;
    if (index.size === 0) return;
    const changes: EntryChange[] = [];
    for (const entry of index.entries()) {
      if (changes.push({ before: entry, after: undefined }) === mostNoted) break;
    }
    const { name } = layer;
    await this.#alone(() =>
      this.#note({ author: name, method: "RemoveSource", layer: name, entries: index.size, changes }),
    );
  }
}

function inParts(
  entries: readonly UdmEntry[],
  change: (edit: UdmEdit, entry: UdmEntry) => void,
): ((edit: UdmEdit) => void)[] {
  return Array.from({ length: Math.ceil(entries.length / entriesPerYield) }, (_, part) => (edit: UdmEdit) => {
    const start = part * entriesPerYield;
    for (const entry of entries.slice(start, start + entriesPerYield)) change(edit, entry);
  });
}

function noLayer(name: string): UdmError {
  return new UdmError("not_found", `there is no layer ${name}`);
}
