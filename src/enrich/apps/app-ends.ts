import { addressKey, keyContains, type Key, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import {
  renderFields,
  type AppText,
  type AppAdditions,
  type Enricher,
  type LineEnricher,
  type RecordFields,
} from "../../record/index.ts";
import { AddressSelection } from "../address/address-source.ts";
import { addressNumber, addressOf, type AddressNumber, addressScope, setWords } from "../address/address-limbs.ts";
import { hashOf } from "../address/address-table.ts";
import { RecentCache } from "../recent-cache.ts";
import { type App, type AppHost, maxRendered } from "./read-apps.ts";
import type { Metrics } from "../../base/report/index.ts";
import { gatherValues, placeFields } from "../place-fields.ts";

/** The application at an end, as fields for records and as text for lines. */
interface FoundApp extends AppText {
  readonly app: App;
  /** The rank of the address's key among all keys; the most specific is first. */
  readonly rank: number;
}

interface RankedHost {
  readonly key: Key;
  readonly ports: readonly { readonly first: number; readonly last: number; readonly found: FoundApp }[];
}

/**
 * The number of recent results to keep, by address and port. An entry has the words of the address, the port, and the position of the
 * result, each + 1.
 */
const kept = 8192;
const keptWords = 6;
const maxHosts = 16_384;
const allPorts = 65_536;
const nowhere: readonly RankedHost[] = [];

/** Finds applications by address and port, and keeps recent results. */
class AppIndex {
  /** A bit for each port at which any address has an application; undefined if none has one. */
  readonly ports: Uint8Array | undefined;
  readonly #isWanted: (a: number, b: number, c: number, d: number) => boolean;
  readonly #all: FoundApp[] = [];
  readonly #single = new Map<AddressNumber, readonly RankedHost[]>();
  readonly #wide: RankedHost[] = [];
  readonly #positions = new Map<FoundApp, number>();
  readonly #listed: AddressSelection;
  readonly #words = new Int32Array(kept * keptWords);
  readonly #byAddress = new RecentCache<readonly RankedHost[], AddressNumber>(maxHosts);

  /**
   * @param hosts the most specific first.
   * @param isWanted reports whether to look up an address of four words.
   */
  constructor(hosts: readonly AppHost[], isWanted: (a: number, b: number, c: number, d: number) => boolean) {
    this.#isWanted = isWanted;
    this.#listed = new AddressSelection(
      hosts.map(({ key }) => key),
      [],
    );
    const bits = new Uint8Array(allPorts / 8);
    hosts.forEach((host, rank) => this.#add(host, rank, bits));
    this.ports = this.#all.length === 0 ? undefined : bits;
  }

  #add({ key, ports }: AppHost, rank: number, bits: Uint8Array): void {
    const ranked = ports.map(({ first, last, app }) => {
      for (let port = first; port <= last; port++) bits[port >> 3] = (bits[port >> 3] as number) | (1 << (port & 7));
      const found = { app, rank, text: renderFields(app.fields), needsFields: app.metadata.length > 0 };
      this.#positions.set(found, this.#all.push(found));
      return { first, last, found };
    });
    const host = { key, ports: ranked };
    if (key.first !== key.last) this.#wide.push(host);
    else {
      const number = key.family === 4 ? Number(key.first) | 0 : key.first;
      this.#single.set(number, [...(this.#single.get(number) ?? []), host]);
    }
  }

  /** @param a to d: the words of the address, IPv4 in its mapped form. */
  find(a: number, b: number, c: number, d: number, port: number): FoundApp | undefined {
    const words = this.#words;
    const at = (hashOf(port, a, b, c, d) & (kept - 1)) * keptWords;
    if (
      words[at + 3] === d &&
      words[at + 4] === port + 1 &&
      words[at + 2] === c &&
      words[at + 1] === b &&
      words[at] === a
    ) {
      return this.#all[(words[at + 5] as number) - 1];
    }
    const found = this.#search(a, b, c, d, port);
    words[at] = a;
    words[at + 1] = b;
    words[at + 2] = c;
    words[at + 3] = d;
    words[at + 4] = port + 1;
    words[at + 5] = found === undefined ? 0 : (this.#positions.get(found) as number);
    return found;
  }

  #search(a: number, b: number, c: number, d: number, port: number): FoundApp | undefined {
    for (const { ports } of this.#hostsOf(a, b, c, d)) {
      const at = ports.find(({ first, last }) => first <= port && port <= last);
      if (at !== undefined) return at.found;
    }
    return undefined;
  }

  #hostsOf(a: number, b: number, c: number, d: number): readonly RankedHost[] {
    // An empty selection would mean all addresses.
    if (this.#all.length === 0 || !this.#isWanted(a, b, c, d) || !this.#listed.has(a, b, c, d)) return nowhere;
    const number = addressNumber(a, b, c, d);
    const known = this.#byAddress.get(number);
    if (known !== undefined) return known;
    const key = addressKey(addressOf(a, b, c, d));
    const found = [...(this.#single.get(number) ?? []), ...this.#wide.filter((host) => keyContains(host.key, key))];
    this.#byAddress.set(number, found);
    return found;
  }
}

/** Names applications by the address and port of an end of the flow. An application that the exporter sends counts before it. */
export class AppEnds implements Enricher, AppAdditions {
  readonly maxLength = maxRendered;
  readonly lines: LineEnricher = { begin() {}, numbers: [], apps: [this], addresses: [] };
  readonly #isWanted: (a: number, b: number, c: number, d: number) => boolean;
  #index: AppIndex;
  readonly #words = new Int32Array(4);
  #named = 0;
  #renamed = 0;

  /** @param scopes true for the kinds of addresses whose applications count: private ones, and all others. */
  constructor(scopes: { readonly private: boolean; readonly public: boolean }, metrics: Metrics) {
    this.#isWanted = (a, b, c, d) => (addressScope(a, b, c, d) === "private" ? scopes.private : scopes.public);
    this.#index = new AppIndex([], this.#isWanted);
    metrics.counterFrom(
      "netgloss_enrich_app_ends_total",
      "Flows whose application follows from address and port.",
      [],
      () => this.#named,
    );
    metrics.counterFrom(
      "netgloss_enrich_app_renamed_total",
      "Metadata of applications put under another name because the one asked for was in another's way.",
      [],
      () => this.#renamed,
    );
  }

  /** Replaces the applications by those of a file that was read. */
  use(hosts: readonly AppHost[]): void {
    this.#index = new AppIndex(hosts, this.#isWanted);
  }

  enrich(record: RecordFields): void {
    if (this.#index.ports === undefined || record.has("app.name")) return;
    const best = better(this.#findEnd(record, "flow.dst"), this.#findEnd(record, "flow.src"));
    if (best === undefined) return;
    const { fields, metadata } = best.app;
    if (fields.length + metadata.length === 0) return;
    this.#named++;
    for (const [name, value] of fields) record.set(name, value);
    if (metadata.length > 0) this.#renamed += placeFields(record, gatherValues(metadata)).size;
  }

  ports(): Uint8Array | undefined {
    return this.#index.ports;
  }

  find(
    from: DataView,
    source: number,
    sourceLength: number,
    sourcePort: number,
    destination: number,
    destinationLength: number,
    destinationPort: number,
  ): FoundApp | undefined {
    return better(
      this.#findIn(from, destination, destinationLength, destinationPort),
      this.#findIn(from, source, sourceLength, sourcePort),
    );
  }

  added(records: number): void {
    this.#named += records;
  }

  #findEnd(record: RecordFields, end: string): FoundApp | undefined {
    const text = record.get(`${end}.ip.addr`);
    const port = record.get(`${end}.l4.port.id`);
    if (typeof text !== "string" || typeof port !== "number") return undefined;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    setWords(this.#words, unmapAddress(address));
    const [a, b, c, d] = this.#words as unknown as readonly [number, number, number, number];
    return this.#index.find(a, b, c, d, port);
  }

  #findIn(from: DataView, at: number, length: number, port: number): FoundApp | undefined {
    if (port < 0) return undefined;
    const index = this.#index;
    return length === 4
      ? index.find(0, 0, 0xffff, from.getInt32(at), port)
      : index.find(from.getInt32(at), from.getInt32(at + 4), from.getInt32(at + 8), from.getInt32(at + 12), port);
  }
}

/** Returns the application of the more specific address, and the destination's if both are equal. */
function better(destination: FoundApp | undefined, source: FoundApp | undefined): FoundApp | undefined {
  if (destination === undefined) return source;
  return source !== undefined && source.rank < destination.rank ? source : destination;
}
