import { formatAddress } from "../../ip/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../report/index.ts";
import { createWatchedFile, type FileIo } from "../../file/index.ts";
import { addressScope } from "../address/address-scope.ts";
import { addressOf } from "../address/address-words.ts";
import {
  createListeners,
  endpointObjects,
  type AddressFacts,
  type AddressSource,
  type SharedFacts,
} from "../address/address-source.ts";
import type { Wanted } from "./data-reader.ts";
import { autonomousSystem, geoFields, wantedOfPlaces, wantedOfSystems, type GeoValue } from "./geo-facts.ts";
import { readDatabase, type Database } from "./read-database.ts";

export interface MmdbOptions {
  /** The database of autonomous systems; undefined for none. */
  readonly asn?: { readonly path: string } | undefined;
  /** That of places. */
  readonly geoip?:
    | { readonly path: string; readonly values: readonly GeoValue[]; readonly language: string }
    | undefined;
  /** How often to look whether a file has changed, in milliseconds. */
  readonly pollMs: number;
  readonly io?: Pick<FileIo, "state" | "read">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A source that has files to watch. */
export interface MmdbSource extends AddressSource, Component {
  /** Reads the files again, changed or not. */
  reload(): Promise<void>;
}

interface Loaded {
  readonly name: "asn" | "geoip";
  readonly wanted: Wanted;
  readonly facts: (data: unknown) => AddressFacts | undefined;
  readonly path: string;
  database: Database | undefined;
  /** What was made of data, by where it lies in the database; undefined: nothing of use. */
  readonly known: Map<number, AddressFacts | undefined>;
  readonly counts: { lookups: number; misses: number; errors: number; loads: number; loadFailures: number };
}

type AddressWords = readonly [a: number, b: number, c: number, d: number];

/** Data of a database of which more is kept than what was asked for last. */
const maxKnown = 16_384;

/**
 * Autonomous systems and places by MaxMind databases, for public addresses: a database says nothing of others. A file that
 * is missing or broken at the start is waited for; one that breaks later leaves what was read before.
 */
export function createMmdbSource(options: MmdbOptions): MmdbSource {
  const { asn, geoip, pollMs, io, clock } = options;
  const log = limitLog(options.log, clock);
  const listeners = createListeners();
  const loaded: Loaded[] = [];
  let sharedCount = 0;
  const shared = (): SharedFacts => ({ number: ++sharedCount, rendered: [] });
  const add = (name: Loaded["name"], path: string, wanted: Wanted, facts: Loaded["facts"]): void => {
    const counts = { lookups: 0, misses: 0, errors: 0, loads: 0, loadFailures: 0 };
    loaded.push({ name, path, wanted, facts, database: undefined, known: new Map(), counts });
  };
  if (asn !== undefined) {
    add("asn", asn.path, wantedOfSystems, (data) => {
      const as = autonomousSystem(data);
      return as && { fields: [], as, shared: shared() };
    });
  }
  if (geoip !== undefined) {
    const values = new Set(geoip.values);
    add("geoip", geoip.path, wantedOfPlaces(geoip.language), (data) => {
      const fields = geoFields(data, values, geoip.language);
      return fields.length === 0 ? undefined : { fields, shared: shared() };
    });
  }
  registerMetrics(options.metrics, loaded);

  const files = loaded.map((one) =>
    createWatchedFile({
      path: one.path,
      pollMs,
      ...(io && { io }),
      take(bytes) {
        one.database = readDatabase(bytes);
        one.known.clear();
        one.counts.loads++;
        const { type, builtAt } = one.database;
        options.log.info({ path: one.path, type, builtAt: builtAt.toISOString() }, "MaxMind database is loaded");
        listeners.report(undefined);
      },
      failed(error) {
        one.counts.loadFailures++;
        const message =
          one.database === undefined
            ? "a MaxMind database cannot be used: records go without it"
            : "a MaxMind database cannot be used: the one read before stays";
        options.log.error({ path: one.path, error }, message);
      },
    }),
  );

  /** @param at where the data of the address lies. */
  const read = (one: Loaded, database: Database, at: number, words: AddressWords): AddressFacts | undefined => {
    try {
      const facts = one.facts(database.read(at, one.wanted));
      if (one.known.size >= maxKnown) one.known.clear();
      one.known.set(at, facts);
      return facts;
    } catch (error) {
      one.counts.errors++;
      log.warn({ path: one.path, address: formatAddress(addressOf(...words)), error }, "a MaxMind database is damaged");
      return undefined;
    }
  };

  const lookUp = (one: Loaded, database: Database, ...words: AddressWords): AddressFacts | undefined => {
    one.counts.lookups++;
    const at = database.find(...words);
    const known = at === 0 ? undefined : one.known.get(at);
    if (known !== undefined) return known;
    const errors = one.counts.errors;
    const facts = at === 0 || one.known.has(at) ? undefined : read(one, database, at, words);
    if (facts === undefined && errors === one.counts.errors) one.counts.misses++;
    return facts;
  };

  return {
    name: "MaxMind databases",
    objects: endpointObjects,
    find(a, b, c, d, found) {
      if (addressScope(a, b, c, d) !== "public") return Number.POSITIVE_INFINITY;
      for (const one of loaded) {
        if (one.database === undefined) continue;
        const facts = lookUp(one, one.database, a, b, c, d);
        if (facts !== undefined) found.push(facts);
      }
      return Number.POSITIVE_INFINITY;
    },
    watch: listeners.add,
    async start() {
      for (const file of files) await file.start();
    },
    async stop() {
      for (const file of files) await file.stop();
    },
    async reload() {
      for (const file of files) await file.reload(true);
    },
  };
}

function registerMetrics(metrics: Metrics, loaded: readonly Loaded[]): void {
  const count = (name: string, help: string, read: (counts: Loaded["counts"]) => number): void =>
    metrics.counterFrom(`netgloss_enrich_mmdb_${name}_total`, help, ["database"], () =>
      loaded.map((one) => [{ database: one.name }, read(one.counts)] as const),
    );
  count("lookups", "Addresses looked up in a MaxMind database.", (counts) => counts.lookups);
  count("misses", "Addresses that a MaxMind database knows nothing of.", (counts) => counts.misses);
  count("errors", "Look-ups that failed because the database is damaged.", (counts) => counts.errors);
  count("loads", "How often a MaxMind database was read.", (counts) => counts.loads);
  count("load_failures", "How often one could not be read or used.", (counts) => counts.loadFailures);
  metrics.gaugeFrom(
    "netgloss_enrich_mmdb_build_time_seconds",
    "When the database in use was built, since the epoch; 0 when there is none.",
    ["database"],
    () => loaded.map((one) => [{ database: one.name }, (one.database?.builtAt.getTime() ?? 0) / 1000] as const),
  );
}
