import { addressKey, formatAddress, keyContains, parseAddress, unmapAddress, type Address } from "../../ip/index.ts";
import type { Enricher, RecordFields } from "../../record/index.ts";
import type { Metrics } from "../../report/index.ts";
import { createAddressSelection } from "../address/sources/address-selection.ts";
import { createListeners, endpointObjects, type AddressSource } from "../address/sources/address-source.ts";
import { addressScope } from "../address/words/address-scope.ts";
import { setWords } from "../address/words/address-words.ts";
import { gatherValues, placeFields } from "../place-fields.ts";
import { createRecentCache, type RecentCache } from "../recent-cache.ts";
import type { App } from "./read-app.ts";
import type { AppHost } from "./read-app-ends.ts";

export interface AppEndsOptions {
  /** Whether applications at private addresses, and at all others, count. */
  readonly privateAddresses: boolean;
  readonly publicAddresses: boolean;
  readonly metrics: Metrics;
}

/** Names applications by the address and port of an end of the flow. */
export interface AppEnds {
  /** Takes what a file says now. */
  use(hosts: readonly AppHost[]): void;
  /** Adds the fields. What the exporter says of the application counts before it. */
  readonly enricher: Enricher;
  /** Makes records of the file's addresses become fields, since ports and metadata are beyond the table of addresses. */
  readonly source: AddressSource;
}

interface Found {
  readonly app: App;
  /** Of the address's key among all: the most specific is first. */
  readonly rank: number;
}

const maxKept = 65_536;
/** Where both ends have an application of equal rank, that of the destination counts. */
const ends = ["flow.dst", "flow.src"] as const;

export function createAppEnds({ privateAddresses, publicAddresses, metrics }: AppEndsOptions): AppEnds {
  const listeners = createListeners();
  let hosts: readonly AppHost[] = [];
  let single = new Map<string, { readonly host: AppHost; readonly rank: number }[]>();
  let wide: { readonly host: AppHost; readonly rank: number }[] = [];
  let selection = createAddressSelection([], []);
  let kept: RecentCache<Found | "none"> = createRecentCache(maxKept);
  const counts = { named: 0, renamed: 0 };
  metrics.counterFrom(
    "netgloss_enrich_app_ends_total",
    "Flows whose application follows from address and port.",
    [],
    () => counts.named,
  );
  metrics.counterFrom(
    "netgloss_enrich_app_renamed_total",
    "Metadata of applications put under another name because the one asked for was in another's way.",
    [],
    () => counts.renamed,
  );

  const isWanted = (a: number, b: number, c: number, d: number): boolean =>
    addressScope(a, b, c, d) === "private" ? privateAddresses : publicAddresses;

  const words = new Int32Array(4);
  const isWantedAddress = (address: Address): boolean => {
    setWords(words, address);
    const [a = 0, b = 0, c = 0, d = 0] = words;
    return isWanted(a, b, c, d);
  };

  const find = (text: string, port: number): Found | undefined => {
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const unmapped = unmapAddress(address);
    if (!isWantedAddress(unmapped)) return undefined;
    const key = addressKey(unmapped);
    const own = single.get(formatAddress(unmapped)) ?? [];
    for (const { host, rank } of [...own, ...wide]) {
      const ports = host.ports.find(({ first, last }) => first <= port && port <= last);
      if (ports !== undefined && keyContains(host.key, key)) return { app: ports.app, rank };
    }
    return undefined;
  };

  const findEnd = (record: RecordFields, end: string): Found | undefined => {
    const address = record.get(`${end}.ip.addr`);
    const port = record.get(`${end}.l4.port.id`);
    if (typeof address !== "string" || typeof port !== "number") return undefined;
    const name = `${address} ${port}`;
    let found = kept.get(name);
    if (found === undefined) {
      found = find(address, port) ?? "none";
      kept.set(name, found);
    }
    return found === "none" ? undefined : found;
  };

  return {
    use(given) {
      hosts = given.filter(({ ports }) => ports.length > 0);
      const ranked = hosts.map((host, rank) => ({ host, rank }));
      const isSingle = ({ host: { key } }: (typeof ranked)[number]): boolean => key.first === key.last;
      single = new Map();
      for (const one of ranked.filter(isSingle)) {
        const { family, first } = one.host.key;
        const text = formatAddress({ family, value: first });
        single.set(text, [...(single.get(text) ?? []), one]);
      }
      wide = ranked.filter((one) => !isSingle(one));
      selection = createAddressSelection(
        hosts.map(({ key }) => key),
        [],
      );
      kept = createRecentCache(maxKept);
      listeners.report(undefined);
    },
    source: {
      objects: endpointObjects,
      find(a, b, c, d, found) {
        if (hosts.length > 0 && isWanted(a, b, c, d) && selection.has(a, b, c, d)) found.needFields();
        return Number.POSITIVE_INFINITY;
      },
      watch: listeners.add,
    },
    enricher: {
      lines: { begin() {}, numbers: [], addresses: [] },
      enrich(record) {
        if (hosts.length === 0 || record.has("app.name")) return;
        const [best] = ends.flatMap((end) => findEnd(record, end) ?? []).toSorted((a, b) => a.rank - b.rank);
        if (best === undefined) return;
        counts.named++;
        const { fields, metadata } = best.app;
        for (const [name, value] of fields) record.set(name, value);
        if (metadata.length > 0) counts.renamed += placeFields(record, gatherValues(metadata)).length;
      },
    },
  };
}
