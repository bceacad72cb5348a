import { addressKey, keyContains, type Key, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { renderFields, type AppText, type AppAdditions, type Enricher, type RecordFields } from "../../record/index.ts";
import { createAddressSelection } from "../address/address-source.ts";
import {
  addressNumber,
  addressOf,
  hashOf,
  type AddressNumber,
  addressScope,
  setWords,
} from "../address/address-limbs.ts";
import { createRecentCache } from "../recent-cache.ts";
import { type App, type AppHost, maxRendered } from "./read-apps.ts";
import type { Metrics } from "../../base/report/index.ts";
import { gatherValues, placeFields } from "../place-fields.ts";

/** The application at an end, as records and as lines have it. */
interface FoundApp extends AppText {
  readonly app: App;
  /** Of the address's key among all: the most specific is first. */
  readonly rank: number;
}

/** Finds applications by address and port. It keeps what it found. */
interface AppIndex {
  /** A bit for each port that any address has an application at; undefined when none has. */
  readonly ports: Uint8Array | undefined;
  /** @param a to d: the words of the address, IPv4 in its mapped form. */
  find(a: number, b: number, c: number, d: number, port: number): FoundApp | undefined;
}

interface RankedHost {
  readonly key: Key;
  readonly ports: readonly { readonly first: number; readonly last: number; readonly found: FoundApp }[];
}

/** What was found lately, by address and port: words of the address, port and position of what was found, each one more. */
const kept = 8192;
const keptWords = 6;
const maxHosts = 16_384;
const allPorts = 65_536;
const nowhere: readonly RankedHost[] = [];

/**
 * @param hosts the most specific first.
 * @param isWanted whether an address of four words is to be looked at.
 */
function createAppIndex(
  hosts: readonly AppHost[],
  isWanted: (a: number, b: number, c: number, d: number) => boolean,
): AppIndex {
  const all: FoundApp[] = [];
  const single = new Map<AddressNumber, readonly RankedHost[]>();
  const wide: RankedHost[] = [];
  const bits = new Uint8Array(allPorts / 8);
  const positions = new Map<FoundApp, number>();
  hosts.forEach(({ key, ports }, rank) => {
    const ranked = ports.map(({ first, last, app }) => {
      for (let port = first; port <= last; port++) bits[port >> 3] = (bits[port >> 3] as number) | (1 << (port & 7));
      const found = { app, rank, text: renderFields(app.fields), needsFields: app.metadata.length > 0 };
      positions.set(found, all.push(found));
      return { first, last, found };
    });
    const host = { key, ports: ranked };
    if (key.first !== key.last) wide.push(host);
    else {
      const number = key.family === 4 ? Number(key.first) | 0 : key.first;
      single.set(number, [...(single.get(number) ?? []), host]);
    }
  });
  const listed = createAddressSelection(
    hosts.map(({ key }) => key),
    [],
  );
  const words = new Int32Array(kept * keptWords);
  const byAddress = createRecentCache<readonly RankedHost[], AddressNumber>(maxHosts);

  const hostsOf = (a: number, b: number, c: number, d: number): readonly RankedHost[] => {
    // No selection of nothing: that would be all addresses.
    if (hosts.length === 0 || !isWanted(a, b, c, d) || !listed.has(a, b, c, d)) return nowhere;
    const number = addressNumber(a, b, c, d);
    const known = byAddress.get(number);
    if (known !== undefined) return known;
    const key = addressKey(addressOf(a, b, c, d));
    const found = [...(single.get(number) ?? []), ...wide.filter((host) => keyContains(host.key, key))];
    byAddress.set(number, found);
    return found;
  };

  const search = (a: number, b: number, c: number, d: number, port: number): FoundApp | undefined => {
    for (const { ports } of hostsOf(a, b, c, d)) {
      const at = ports.find(({ first, last }) => first <= port && port <= last);
      if (at !== undefined) return at.found;
    }
    return undefined;
  };

  return {
    ports: all.length === 0 ? undefined : bits,
    find(a, b, c, d, port) {
      const at = (hashOf(port, a, b, c, d) & (kept - 1)) * keptWords;
      if (
        words[at + 3] === d &&
        words[at + 4] === port + 1 &&
        words[at + 2] === c &&
        words[at + 1] === b &&
        words[at] === a
      ) {
        return all[(words[at + 5] as number) - 1];
      }
      const found = search(a, b, c, d, port);
      words[at] = a;
      words[at + 1] = b;
      words[at + 2] = c;
      words[at + 3] = d;
      words[at + 4] = port + 1;
      words[at + 5] = found === undefined ? 0 : (positions.get(found) as number);
      return found;
    },
  };
}

interface AppEndsOptions {
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
}

export function createAppEnds({ privateAddresses, publicAddresses, metrics }: AppEndsOptions): AppEnds {
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
  let index = createAppIndex([], isWanted);

  const words = new Int32Array(4);
  const findEnd = (record: RecordFields, end: string): FoundApp | undefined => {
    const text = record.get(`${end}.ip.addr`);
    const port = record.get(`${end}.l4.port.id`);
    if (typeof text !== "string" || typeof port !== "number") return undefined;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    setWords(words, unmapAddress(address));
    const [a, b, c, d] = words as unknown as readonly [number, number, number, number];
    return index.find(a, b, c, d, port);
  };

  const findIn = (from: DataView, at: number, length: number, port: number): FoundApp | undefined => {
    if (port < 0) return undefined;
    return length === 4
      ? index.find(0, 0, 0xffff, from.getInt32(at), port)
      : index.find(from.getInt32(at), from.getInt32(at + 4), from.getInt32(at + 8), from.getInt32(at + 12), port);
  };

  const additions: AppAdditions = {
    maxLength: maxRendered,
    ports: () => index.ports,
    find: (from, source, sourceLength, sourcePort, destination, destinationLength, destinationPort) =>
      better(
        findIn(from, destination, destinationLength, destinationPort),
        findIn(from, source, sourceLength, sourcePort),
      ),
    added: (records) => void (counts.named += records),
  };

  return {
    use(hosts) {
      index = createAppIndex(hosts, isWanted);
    },
    enricher: {
      lines: { begin() {}, numbers: [], apps: [additions], addresses: [] },
      enrich(record) {
        if (index.ports === undefined || record.has("app.name")) return;
        const best = better(findEnd(record, "flow.dst"), findEnd(record, "flow.src"));
        if (best === undefined) return;
        const { fields, metadata } = best.app;
        if (fields.length + metadata.length === 0) return;
        counts.named++;
        for (const [name, value] of fields) record.set(name, value);
        if (metadata.length > 0) counts.renamed += placeFields(record, gatherValues(metadata)).length;
      },
    },
  };
}

/** What the more specific address has; where both are equal, the destination's. */
function better(destination: FoundApp | undefined, source: FoundApp | undefined): FoundApp | undefined {
  if (destination === undefined) return source;
  return source !== undefined && source.rank < destination.rank ? source : destination;
}
