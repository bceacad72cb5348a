import { addressKey, keyContains, type Key } from "../../base/ip/index.ts";
import { renderFields, type AppText } from "../../record/index.ts";
import { createAddressSelection } from "../address/sources/address-selection.ts";
import { addressNumber, addressOf, hashOf, type AddressNumber } from "../address/words/address-words.ts";
import { createRecentCache } from "../recent-cache.ts";
import type { App } from "./read-app.ts";
import type { AppHost } from "./read-app-ends.ts";

/** The application at an end, as records and as lines have it. */
export interface FoundApp extends AppText {
  readonly app: App;
  /** Of the address's key among all: the most specific is first. */
  readonly rank: number;
}

/** Finds applications by address and port. It keeps what it found. */
export interface AppIndex {
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
export function createAppIndex(
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
