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
 * Calls the listener with the current state, if there is any, and with another object after each change. `changed` has the ranges that
 * may differ; undefined means any address.
 *
 * @returns a function that ends the calls.
 */
export type WatchAddresses = (listener: (index: AddressIndex, changed?: readonly AddressRange[]) => void) => () => void;

export interface AddressEnricherOptions {
  /** The metadata; undefined if there is none. */
  readonly watch?: WatchAddresses | undefined;
  /** Further sources of facts about addresses. */
  readonly sources?: readonly AddressSource[];
  /** True if records get the locality of their addresses: `.locality` of source and destination, and `flow.locality`. */
  readonly locality?: boolean;
  /** The name of the locality of addresses that metadata calls internal; `internal` if left out. */
  readonly internal?: "internal" | "private";
  /** The time in ms for which facts about an address are used before the next look-up. 0 means one look-up only. */
  readonly ttlMs: number;
  /** True if a change of the metadata shows at once. Otherwise it shows when the cached facts expire. */
  readonly invalidate: boolean;
  /** The most addresses to keep. */
  readonly maxCached: number;
  /** The workspace for its table, with room for {@link addressTableBytes}. If left out, it has one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The most scopes in which a changed address is searched for one by one. */
const mostForgotten = 64;

/**
 * Adds user-defined metadata and the facts of the sources to the addresses of lines and records: `flow.src`, `flow.dst`, `flow.export`
 * and `system`, each by its `.ip.addr`. An IPv4-mapped address is looked up as IPv4. {@link Fragment} lists the fields; both ways use
 * one table of addresses.
 *
 * It follows the store and the sources from `start` to `stop`. Records that come before the store's first state get no metadata.
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
  /** The current metadata; undefined before there is any. */
  #index: AddressIndex | undefined;
  #scopes = noScopes;
  /** Grows with each change that must show at once. */
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
      // Without this, fragments made before the first metadata would lack it for as long as they are kept.
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

  /** Does the same for addresses in a given scope, in place of the scope by the record. @param scope its name. */
  enrichIn(scope: string, record: RecordFields, rendered?: RenderedFields[]): void {
    if (!this.#isOn()) return;
    this.#setTime();
    this.#records.add(record, rendered, this.#scopes.numberOf(scope));
  }

  /** Takes the scopes of new metadata. A number may now mean another scope, so all fragments are dropped. */
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
