import { fromUdmEntry, toUdmEntry, type ExchangeEntry } from "../exchange/import-rows.ts";
import { quote } from "../../base/text/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { scopeNameForm } from "../model/scope.ts";
import type { SourceGuard } from "./source-config.ts";
import type { LayerChanges, LayersOfScopes, UdmLayers } from "../store/udm-layers.ts";

/** Entries by the scope that they are in; under {@link everywhere} the global ones. */
export type EntriesByScope = ReadonlyMap<string, readonly UdmEntry[]>;

/** Stands in place of the name of a scope for all addresses. */
const everywhere = "";

/** Counts the entries that a run changes. */
export interface ChangeCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** The changes that would make the entries of a source others. */
export interface SourceChanges {
  readonly counts: ChangeCounts;
  /** The first {@link mostShown}, as of those that are changed and removed. */
  readonly added: readonly ExchangeEntry[];
  /** As they become. */
  readonly changed: readonly ExchangeEntry[];
  readonly removed: readonly ExchangeEntry[];
}

const mostShown = 1000;

/** Puts rows together by the scope that they name. */
export function byScope(entries: readonly ExchangeEntry[]): EntriesByScope {
  const found = new Map<string, UdmEntry[]>();
  for (const entry of entries) {
    const scope = entry.scope ?? everywhere;
    const list = found.get(scope) ?? [];
    found.set(scope, list);
    list.push(toUdmEntry(entry));
  }
  return found;
}

/** The same entries as rows. */
export function* rowsOf(entries: EntriesByScope): Iterable<ExchangeEntry> {
  for (const [scope, list] of entries) for (const entry of list) yield withScope(scope, entry);
}

export function countOf(entries: EntriesByScope): number {
  let count = 0;
  for (const list of entries.values()) count += list.length;
  return count;
}

function withScope(scope: string, entry: UdmEntry): ExchangeEntry {
  return scope === everywhere ? fromUdmEntry(entry) : { ...fromUdmEntry(entry), scope };
}

/**
 * Says why changes must wait for a person's yes; undefined: they need not. The first entries of a source are always taken.
 *
 * @param before how many entries the source has.
 */
export function guardAgainst(
  { counts: { added, changed, removed } }: SourceChanges,
  before: number,
  { maxShrink, maxChange, maxEntries }: SourceGuard,
): string | undefined {
  const after = before + added - removed;
  if (after > maxEntries) return `${after} entries are more than max_entries (${maxEntries})`;
  if (before === 0) return undefined;
  const percent = (part: number): string => `${Math.round(100 * part)} %`;
  const shrink = (before - after) / before;
  if (shrink > maxShrink) {
    return `${after} entries in place of ${before} are ${percent(shrink)} fewer: more than max_shrink (${percent(maxShrink)})`;
  }
  const change = (changed + removed) / before;
  if (change > maxChange) {
    return `${changed + removed} of ${before} entries change or go, ${percent(change)}: more than max_change (${percent(maxChange)})`;
  }
  return undefined;
}

/**
 * What sources add, each in a layer of its own: behind the global entries, and behind those of each scope of which it says something. What it
 * says of a scope that there is not is left out until there is one.
 */
export class SourceLayers {
  readonly #global: UdmLayers;
  readonly #scopes: LayersOfScopes | undefined;
  #names: readonly string[] = [];
  #ofScopes: ReadonlyMap<string, UdmLayers> = new Map();

  /** @param scopes undefined: there are none, and rows cannot name one. */
  constructor(global: UdmLayers, scopes: LayersOfScopes | undefined) {
    this.#global = global;
    this.#scopes = scopes;
  }

  /** Says why rows of a scope are not taken; undefined: they are, there need not be such a scope yet. */
  readonly checkScope = (scope: string): string | undefined => {
    if (this.#scopes === undefined) return "there are no scopes here: SVC_PROCESSOR_ENRICH_SCOPES_PATH must be set";
    return scopeNameForm.test(scope) ? undefined : `${quote(scope)} is no name of a scope`;
  };

  /** As {@link UdmLayers.setNames}, of all scopes. */
  async setNames(names: readonly string[]): Promise<void> {
    this.#names = names;
    await this.#global.setNames(names);
    for (const layers of this.#ofScopes.values()) await layers.setNames(names);
  }

  /** Looks which scopes there are. @returns those in which there is nothing of sources yet. */
  async findScopes(): Promise<ReadonlySet<string>> {
    const found: ReadonlyMap<string, UdmLayers> = this.#scopes?.layers() ?? new Map();
    const fresh = new Set<string>();
    for (const [scope, layers] of found) {
      if (this.#ofScopes.get(scope) === layers) continue;
      fresh.add(scope);
      await layers.setNames(this.#names);
    }
    this.#ofScopes = found;
    return fresh;
  }

  /** Returns the number of entries of a source that are in use. */
  size(name: string): number {
    let size = 0;
    for (const [, layers] of this.#all()) size += sizeIn(layers, name);
    return size;
  }

  /** Returns which of these scopes there are not. */
  missing(scopes: readonly string[]): readonly string[] {
    return scopes.filter((scope) => scope !== everywhere && !this.#ofScopes.has(scope));
  }

  /** As {@link UdmLayers.compare}, of all scopes. */
  compare(name: string, entries: EntriesByScope): Promise<SourceChanges> {
    return this.#each(name, entries, undefined, (layers, list) => layers.compare(name, list));
  }

  /**
   * As {@link UdmLayers.replace}, scope by scope: look-ups in one see all of its old entries, then all of its new ones. One that fails leaves
   * those before it done.
   *
   * @param only the scopes of which this is; undefined: all.
   */
  replace(name: string, entries: EntriesByScope, method?: string, only?: ReadonlySet<string>): Promise<SourceChanges> {
    return this.#each(name, entries, only, (layers, list) => layers.replace(name, list, method));
  }

  *#all(): Iterable<readonly [scope: string, layers: UdmLayers]> {
    yield [everywhere, this.#global];
    yield* this.#ofScopes;
  }

  async #each(
    name: string,
    entries: EntriesByScope,
    only: ReadonlySet<string> | undefined,
    work: (layers: UdmLayers, entries: readonly UdmEntry[]) => Promise<LayerChanges>,
  ): Promise<SourceChanges> {
    const sum = { added: 0, changed: 0, removed: 0, unchanged: 0 };
    const shown: Record<"added" | "changed" | "removed", ExchangeEntry[]> = { added: [], changed: [], removed: [] };
    for (const [scope, layers] of this.#all()) {
      if (only?.has(scope) === false) continue;
      const list = entries.get(scope) ?? [];
      if (list.length === 0 && sizeIn(layers, name) === 0) continue;
      const changes = await work(layers, list);
      sum.unchanged += changes.unchanged;
      for (const what of ["added", "changed", "removed"] as const) {
        const room = mostShown - shown[what].length;
        for (const entry of changes[what].slice(0, room)) shown[what].push(withScope(scope, entry));
        sum[what] += changes[what].length;
      }
    }
    return { counts: sum, ...shown };
  }
}

function sizeIn(layers: UdmLayers, name: string): number {
  return layers.list().find((layer) => layer.name === name)?.index.size ?? 0;
}
