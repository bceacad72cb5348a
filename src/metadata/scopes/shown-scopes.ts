import type { Log, Metrics } from "../../base/report/index.ts";
import { mostScopes } from "../index/scope-table.ts";
import type { PublishedScope, UdmLayer } from "../index/shared-index.ts";
import { Watchers } from "../model/apply-writes.ts";
import type { ScopeDefinition, ScopeMatch } from "../model/scope.ts";
import type { AddressRange, UdmIndex } from "../model/udm-store.ts";
import type { ScopeHost } from "../store/collector-store.ts";

/** A scope without its entries. */
interface ShownScope {
  readonly name: string;
  readonly match: readonly ScopeMatch[];
  /** True where global entries apply after the scope's own entries. */
  readonly inherit: boolean;
}

/**
 * The scopes that look-ups see. The entries of each scope, with those that sources add, have the scope's number in the common index. Nothing else may
 * change the index meanwhile.
 */
export class ShownScopes {
  readonly #host: Pick<ScopeHost, "publish">;
  readonly #indexes = new Map<string, UdmIndex>();
  readonly #layers = new Map<string, readonly UdmLayer[]>();
  /** The listeners that are called when scopes are added or removed. */
  readonly watchers: Watchers<[]>;
  #shown: ReadonlyMap<string, { readonly number: number; readonly inherits: boolean }> = new Map();
  #lastNumber = 0;

  constructor(host: Pick<ScopeHost, "publish">, metrics: Metrics, log: Log) {
    this.#host = host;
    this.watchers = new Watchers(log, "a listener to scopes failed");
    metrics.gaugeFrom("netgloss_udm_scopes", "Scopes in use.", [], () => this.#shown.size);
    metrics.gaugeFrom("netgloss_udm_scope_entries", "Metadata entries of all scopes in use.", [], () =>
      [...this.#indexes.values()].reduce((sum, { size }) => sum + size, 0),
    );
  }

  /** Returns the number of a scope, or undefined where it does not exist. A scope that is removed and added again gets a new number. */
  numberOf(name: string): number | undefined {
    return this.#shown.get(name)?.number;
  }

  inherits(name: string): boolean {
    return this.#shown.get(name)?.inherits === true;
  }

  /** Returns the entries of a scope; undefined where it has none yet. */
  index(name: string): UdmIndex | undefined {
    return this.#indexes.get(name);
  }

  /** Returns all states of a scope: its own entries, and those that sources add. */
  states(name: string): readonly UdmIndex[] {
    const own = this.#indexes.get(name);
    return [...(own === undefined ? [] : [own]), ...this.#layersOf(name)];
  }

  /** Sets the scopes, in the order in which they are tried. @param keeps returns true where a scope keeps the entries that it shows. */
  define(scopes: readonly ShownScope[], keeps: (name: string) => boolean): void {
    const used = new Set(Array.from(this.#shown.values(), ({ number }) => number));
    const changes = new Map<number, PublishedScope | undefined>();
    for (const number of used) changes.set(number, undefined);
    const next = new Map<string, { readonly number: number; readonly inherits: boolean }>();
    const definitions: ScopeDefinition[] = [];
    const kept = new Set<string>();
    for (const { name, match, inherit } of scopes) {
      const number = this.#shown.get(name)?.number ?? this.#freeNumber(used);
      if (keeps(name)) kept.add(name);
      const shown = kept.has(name)
        ? { index: this.#indexes.get(name), layers: this.#layersOf(name) }
        : { index: undefined };
      changes.set(number, { ...shown, inherits: inherit });
      definitions.push({ name, number, match });
      next.set(name, { number, inherits: inherit });
    }
    this.#host.publish(changes, Buffer.from(JSON.stringify(definitions)));
    for (const states of [this.#indexes, this.#layers]) {
      for (const name of states.keys()) if (!kept.has(name)) states.delete(name);
    }
    this.#shown = next;
  }

  /** Replaces the entries that a scope shows. @returns the addresses at which they differ, as {@link ScopeHost.publish} does. */
  publish(name: string, index: UdmIndex): readonly AddressRange[] | undefined {
    const shown = this.#shown.get(name);
    if (shown === undefined) return undefined;
    const next = { index, layers: this.#layersOf(name), inherits: shown.inherits };
    const ranges = this.#host.publish(new Map([[shown.number, next]]));
    this.#indexes.set(name, index);
    return ranges;
  }

  /** Replaces the layers that a scope shows. */
  showLayers(name: string, layers: readonly UdmLayer[]): void {
    const shown = this.#shown.get(name);
    if (shown === undefined) return;
    const next = { index: this.#indexes.get(name), layers: layers.map(({ index }) => index), inherits: shown.inherits };
    this.#host.publish(new Map([[shown.number, next]]));
    this.#layers.set(name, layers);
  }

  #layersOf(name: string): readonly UdmIndex[] {
    return (this.#layers.get(name) ?? []).map(({ index }) => index);
  }

  #freeNumber(used: Set<number>): number {
    // A number is reused as late as possible.
    do this.#lastNumber = (this.#lastNumber % mostScopes) + 1;
    while (used.has(this.#lastNumber));
    used.add(this.#lastNumber);
    return this.#lastNumber;
  }
}
