import { fromUdmEntry, toUdmEntry, type ExchangeEntry } from "../exchange/import-rows.ts";
import { quote } from "../../base/text/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { scopeNameForm } from "../model/scope.ts";
import type { SourceGuard } from "./source-config.ts";
import type { LayerChanges, LayersOfScopes, UdmLayers } from "../store/udm-layers.ts";

/** Entries by their scope. Global entries are under {@link everywhere}. */
export type EntriesByScope = ReadonlyMap<string, readonly UdmEntry[]>;

/** The name that stands for no scope, which means all addresses. */
const everywhere = "";

/** The numbers of entries that a run changes. */
export interface ChangeCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** The changes that a run makes to the entries of a source. */
export interface SourceChanges {
  readonly counts: ChangeCounts;
  /** The first {@link mostShown} added entries. The other lists have the same limit. */
  readonly added: readonly ExchangeEntry[];
  /** The changed entries in their new form. */
  readonly changed: readonly ExchangeEntry[];
  readonly removed: readonly ExchangeEntry[];
}

const mostShown = 1000;

/** Groups rows by the scope that they name. */
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

/** Yields the entries as rows. */
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
 * Returns the reason why a person must accept changes first, or undefined where that is not needed. The first entries of a source are always accepted.
 *
 * @param before the number of entries that the source has.
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
 * The entries of sources. Each source has a layer after the global entries, and one after those of each scope that its rows name.
 * Entries of a scope that does not exist are left out until it is created.
 */
export class SourceLayers {
  readonly #global: UdmLayers;
  readonly #scopes: LayersOfScopes | undefined;
  #names: readonly string[] = [];
  #ofScopes: ReadonlyMap<string, UdmLayers> = new Map();

  /** @param scopes the scopes; undefined where there are none and rows cannot name one. */
  constructor(global: UdmLayers, scopes: LayersOfScopes | undefined) {
    this.#global = global;
    this.#scopes = scopes;
  }

  /** Returns the reason to refuse rows of a scope; undefined accepts them, even if the scope does not exist yet. */
  readonly checkScope = (scope: string): string | undefined => {
    if (this.#scopes === undefined) return "there are no scopes here: SVC_PROCESSOR_ENRICH_SCOPES_PATH must be set";
    return scopeNameForm.test(scope) ? undefined : `${quote(scope)} is no name of a scope`;
  };

  /** Does the same as {@link UdmLayers.setNames} in all scopes. */
  async setNames(names: readonly string[]): Promise<void> {
    this.#names = names;
    await this.#global.setNames(names);
    for (const layers of this.#ofScopes.values()) await layers.setNames(names);
  }

  /** Updates the list of scopes. @returns the scopes that have no entries of sources yet. */
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

  /** Returns those of the scopes that do not exist. */
  missing(scopes: readonly string[]): readonly string[] {
    return scopes.filter((scope) => scope !== everywhere && !this.#ofScopes.has(scope));
  }

  /** Does the same as {@link UdmLayers.compare} in all scopes. */
  compare(name: string, entries: EntriesByScope): Promise<SourceChanges> {
    return this.#each(name, entries, undefined, (layers, list) => layers.compare(name, list));
  }

  /**
   * Does the same as {@link UdmLayers.replace}, scope by scope. Within a scope, look-ups see either all old entries or all new ones. If a scope fails,
   * the scopes before it keep their new entries.
   *
   * @param only the scopes to replace; undefined means all.
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
