import type { Enricher, LineEnricher, RecordFields, RenderedFields, Workspace } from "../../record/index.ts";
import { createWorkspace, createWorkspaceMemory } from "../../record/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import type { AddressIndex, AddressRange } from "../../metadata/index.ts";
import { AddressTable, addressTableBytes } from "./address-table.ts";
import type { AddressSource } from "./address-source.ts";
import { ChangeHistory } from "./change-history.ts";
import { RecordAddresses } from "./apply-addresses.ts";
import { noScopes, ScopeChooser } from "./choose-scope.ts";

/**
 * Calls the listener with what is known now, if anything is, and with another object after each change, together with where
 * that may differ from what was given before; undefined: anywhere.
 *
 * @returns a function that ends it.
 */
export type WatchAddresses = (listener: (index: AddressIndex, changed?: readonly AddressRange[]) => void) => () => void;

export interface AddressEnricherOptions {
  /** The metadata; undefined when there is none. */
  readonly watch?: WatchAddresses | undefined;
  /** Further sources to ask about addresses. */
  readonly sources?: readonly AddressSource[];
  /** True if records get the locality of their addresses: `.locality` of source and destination, `flow.locality`. */
  readonly locality?: boolean;
  /** The locality of addresses that metadata call internal; left out: internal. */
  readonly internal?: "internal" | "private";
  /** Milliseconds for which what is known of an address is used before it is looked up again. Zero: for one look-up. */
  readonly ttlMs: number;
  /** True if a change of the metadata shows at once. Otherwise it shows when what is cached has reached its age. */
  readonly invalidate: boolean;
  /** Most addresses to keep. */
  readonly maxCached: number;
  /** The workspace that holds its table, with room for {@link addressTableBytes}. Left out: one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** In more scopes than this an address is not looked for in each. */
const mostForgotten = 64;

/**
 * Puts user-defined metadata, and what the sources know, on the addresses of lines and records: `flow.src`, `flow.dst`,
 * `flow.export` and `system`, each by its `.ip.addr`. An IPv4-mapped address is looked up as IPv4. {@link Fragment} says what
 * is added; both ways use one table of addresses.
 *
 * Follows the store and the sources from `start` to `stop`; records that come before the store's first state go without it.
 */
export class AddressEnricher implements Enricher, Component {
  readonly name = "address enricher";
  readonly lines: LineEnricher;
  readonly #watch: WatchAddresses | undefined;
  readonly #sources: readonly AddressSource[];
  readonly #invalidate: boolean;
  readonly #knowsMore: boolean;
  readonly #clock: Clock;
  readonly #history = new ChangeHistory();
  readonly #table: AddressTable;
  readonly #records: RecordAddresses;
  /** The metadata of now; undefined before there is any. */
  #index: AddressIndex | undefined;
  #scopes = noScopes;
  /** Grows with each change that is to show at once. */
  #stamp = 0;
  #unwatch: (() => void)[] = [];

  constructor(options: AddressEnricherOptions) {
    const { watch, ttlMs, invalidate, maxCached, sources = [], locality = false, internal = "internal" } = options;
    const workspace = options.workspace ?? createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached)));
    this.#watch = watch;
    this.#sources = sources;
    this.#invalidate = invalidate;
    this.#knowsMore = locality || sources.length > 0;
    this.#clock = options.clock;
    const known = { index: () => this.#index, scopes: () => this.#scopes, sources, locality, internal };
    this.#table = new AddressTable(workspace, known, this.#history, maxCached, ttlMs);
    this.#records = new RecordAddresses(this.#table, locality, limitLog(options.log, options.clock));
    this.lines = { begin: () => this.#setTime(), workspace, numbers: [], addresses: [this.#table] };
    registerMetrics(options.metrics, this.#table, this.#records);
  }

  async start(): Promise<void> {
    this.#unwatch = this.#sources.map((source) =>
      source.watch((address) => {
        const scopes = this.#scopes.numbers();
        if (address === undefined) this.#noteChange(undefined);
        else if (scopes.length <= mostForgotten) this.#table.forget(address, scopes);
        else this.#noteChange([{ family: address.family, first: address.value, last: address.value }]);
      }),
    );
    if (this.#watch === undefined) return;
    const end = this.#watch((current, changed) => {
      if (current === this.#index) return;
      // Fragments made before there was any metadata would otherwise stay without it for as long as they are kept.
      if (this.#invalidate || this.#index === undefined) this.#noteChange(this.#index && changed);
      this.#index = current;
      this.#takeScopes(current);
    });
    this.#unwatch.push(end);
  }

  async stop(): Promise<void> {
    for (const end of this.#unwatch) end();
    this.#unwatch = [];
  }

  enrich(record: RecordFields, rendered?: RenderedFields[]): void {
    if (!this.#isOn()) return;
    this.#setTime();
    this.#records.add(record, rendered);
  }

  /** Does the same for addresses that are in a scope, whatever the record says. @param scope its name. */
  enrichIn(scope: string, record: RecordFields, rendered?: RenderedFields[]): void {
    if (!this.#isOn()) return;
    this.#setTime();
    this.#records.add(record, rendered, this.#scopes.numberOf(scope));
  }

  /** A number may be another scope's now, so that nothing that was made stays. */
  #takeScopes(index: AddressIndex): void {
    const list = index.scopes?.();
    if (list === undefined || list === this.#scopes.list) return;
    this.#scopes = new ScopeChooser(list);
    this.#noteChange(undefined);
  }

  #isOn(): boolean {
    return this.#index !== undefined || this.#knowsMore;
  }

  #setTime(): void {
    this.#table.setTime(this.#clock.monotonic(), this.#stamp, this.#isOn());
  }

  #noteChange(changed: readonly AddressRange[] | undefined): void {
    this.#stamp++;
    this.#history.note(this.#stamp, changed);
  }
}

function registerMetrics(metrics: Metrics, table: AddressTable, records: RecordAddresses): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_udm_${name}_total`, help, [], read);
  count("cache_hits", "Look-ups of an address that the metadata cache answered.", () => table.hits());
  count("cache_misses", "Look-ups of an address that went to the metadata index.", () => table.misses());
  count("cache_evictions", "Addresses dropped from the metadata cache to make room.", () => table.evictions());
  count(
    "matches",
    "Addresses of records that metadata was found for, an exporter's once a datagram.",
    () => table.matches() + records.matches,
  );
  count("renamed", "Metadata fields renamed because of a conflict with another name.", () => records.renamed);
  count("bad_addresses", "Addresses of records that could not be read, so not looked up.", () => records.badAddresses);
  metrics.gaugeFrom(
    "netgloss_enrich_udm_cached_addresses",
    "Addresses in the metadata cache, once for each object that has them.",
    [],
    () => table.size(),
  );
}
