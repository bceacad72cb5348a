import { type Metrics, limitLog, type Clock, type Component, type Log } from "../../base/report/index.ts";
import { type AddressTable, addressTableBytes, createAddressTable } from "./address-table.ts";
import { createWorkspace, createWorkspaceMemory, type Enricher, type Workspace } from "../../record/index.ts";
import type { AddressIndex, AddressRange } from "../../metadata/index.ts";
import type { AddressSource } from "./address-source.ts";
import { createChangeHistory } from "./change-history.ts";
import { createFindAddressText } from "./find-fragment.ts";
import { createLineAddresses, createReadAddress, createRecordAddresses } from "./apply-addresses.ts";
import { quote } from "../../base/text/index.ts";

/** What is counted while addresses are added to lines and records. */
interface AddressCounts {
  readonly matches: () => number;
  readonly renamed: () => number;
  readonly badAddresses: () => number;
}

/** Registers the metrics of enriching by address. */
function registerAddressMetrics(metrics: Metrics, table: AddressTable, counts: AddressCounts): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_udm_${name}_total`, help, [], read);
  count("cache_hits", "Look-ups of an address that the metadata cache answered.", () => table.hits());
  count("cache_misses", "Look-ups of an address that went to the metadata index.", () => table.misses());
  count("cache_evictions", "Addresses dropped from the metadata cache to make room.", () => table.evictions());
  count(
    "matches",
    "Addresses of records that metadata was found for, an exporter's once a datagram.",
    () => table.matches() + counts.matches(),
  );
  count("renamed", "Metadata fields renamed because of a conflict with another name.", counts.renamed);
  count("bad_addresses", "Addresses of records that could not be read, so not looked up.", counts.badAddresses);
  metrics.gaugeFrom(
    "netgloss_enrich_udm_cached_addresses",
    "Addresses in the metadata cache, once for each object that has them.",
    [],
    () => table.size(),
  );
}

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
  /** What else is asked about addresses. */
  readonly sources?: readonly AddressSource[];
  /** Whether records get where their addresses are: `.locality` of source and destination, `flow.locality`. */
  readonly locality?: boolean;
  /** What the locality of addresses is called that metadata call internal; left out: internal. */
  readonly internal?: "internal" | "private";
  /** How long what is known of an address is used before it is looked up again. Zero: for one look-up. */
  readonly ttlMs: number;
  /** Whether a change of the metadata shows at once. Otherwise it shows when what is cached has reached its age. */
  readonly invalidate: boolean;
  /** Most addresses to keep. */
  readonly maxCached: number;
  /** Where its table is to lie, with room for {@link addressTableBytes}. Left out: in one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Follows the store and the sources from `start` to `stop`; records that come before the store's first state go without it. */
export type AddressEnricher = Enricher & Component;

/**
 * Puts user-defined metadata, and what the sources know, on the addresses of lines and records: `flow.src`, `flow.dst`,
 * `flow.export` and `system`, each by its `.ip.addr`. An IPv4-mapped address is looked up as IPv4. {@link AddressText} says what
 * is added; both ways use one table of addresses.
 */
export function createAddressEnricher(options: AddressEnricherOptions): AddressEnricher {
  const { ttlMs, invalidate, maxCached, sources = [], locality = false, internal = "internal", clock } = options;
  const log = limitLog(options.log, clock);
  const workspace = options.workspace ?? createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached)));
  const knowsMore = locality || sources.length > 0;
  const history = createChangeHistory();
  /** The metadata of now; undefined before there is any. */
  let index: AddressIndex | undefined;
  /** Grows with each change that is to show at once. */
  let stamp = 0;
  let unwatch: (() => void)[] = [];

  const isOn = (): boolean => index !== undefined || knowsMore;
  const table = createAddressTable({
    workspace,
    locality,
    maxCached,
    ttlMs,
    lastChange: (a, b, c, d) => history.last(a, b, c, d),
    texts: (store) =>
      createFindAddressText({ index: () => index, sources, locality, internal, view: workspace.view, store }),
  });
  const lines = createLineAddresses(table, workspace, locality, isOn);
  const read = createReadAddress(log);
  const records = createRecordAddresses({
    table,
    read,
    locality,
    renamed({ name, as }) {
      log.warn({ name: quote(name), as: quote(as) }, "a metadata key conflicts with another name of a record");
    },
  });
  registerAddressMetrics(options.metrics, table, {
    matches: () => lines.matches() + records.counts.matches,
    renamed: () => records.counts.renamed,
    badAddresses: () => read.counts.badAddresses,
  });

  const noteChange = (changed: readonly AddressRange[] | undefined): void => {
    stamp++;
    history.note(stamp, changed);
  };

  const setTime = (): void => table.setTime(clock.monotonic(), stamp, isOn());

  return {
    name: "address enricher",
    async start() {
      unwatch = sources.map((source) =>
        source.watch((address) => {
          if (address === undefined) noteChange(undefined);
          else table.forget(address);
        }),
      );
      if (options.watch === undefined) return;
      unwatch.push(
        options.watch((current, changed) => {
          if (current === index) return;
          // What was made before there was any metadata would else stay without it for as long as it is kept.
          if (invalidate || index === undefined) noteChange(index && changed);
          index = current;
        }),
      );
    },
    async stop() {
      for (const end of unwatch) end();
      unwatch = [];
    },
    lines: { begin: setTime, workspace, numbers: [], addresses: [lines] },
    enrich(record, rendered) {
      if (!isOn()) return;
      setTime();
      records.add(record, rendered);
    },
  };
}
