import { formatAddress } from "../../ip/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../report/index.ts";
import type { FileIo } from "../../file/index.ts";
import { addressScope } from "../address-scope.ts";
import { createListeners, endpointObjects, noFacts, type AddressFacts, type AddressSource } from "../address-source.ts";
import { createWatchedFile } from "../../file/index.ts";
import { asFacts, autonomousSystem, geoFields, type GeoValue } from "./geo-facts.ts";
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
  readonly facts: (data: unknown) => AddressFacts | undefined;
  readonly path: string;
  database: Database | undefined;
  readonly counts: { lookups: number; misses: number; errors: number; loads: number; loadFailures: number };
}

/**
 * Autonomous systems and places by MaxMind databases, for public addresses: a database says nothing of others. A file that
 * is missing or broken at the start is waited for; one that breaks later leaves what was read before.
 */
export function createMmdbSource(options: MmdbOptions): MmdbSource {
  const { asn, geoip, pollMs, io, clock } = options;
  const log = limitLog(options.log, clock);
  const listeners = createListeners();
  const loaded: Loaded[] = [];
  const add = (name: Loaded["name"], path: string, facts: Loaded["facts"]): void => {
    const counts = { lookups: 0, misses: 0, errors: 0, loads: 0, loadFailures: 0 };
    loaded.push({ name, path, facts, database: undefined, counts });
  };
  if (asn !== undefined) {
    add("asn", asn.path, (data) => {
      const as = autonomousSystem(data);
      return as && asFacts(as);
    });
  }
  if (geoip !== undefined) {
    const values = new Set(geoip.values);
    add("geoip", geoip.path, (data) => {
      const fields = geoFields(data, values, geoip.language);
      return fields.length === 0 ? undefined : { fields };
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
        one.counts.loads++;
        const { type, builtAt } = one.database;
        options.log.info({ path: one.path, type, builtAt: builtAt.toISOString() }, "MaxMind database is loaded");
        listeners.tell(undefined);
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

  const lookUp = (one: Loaded, database: Database, address: Parameters<Database["get"]>[0]): AddressFacts => {
    one.counts.lookups++;
    try {
      const data = database.get(address);
      const facts = data === undefined ? undefined : one.facts(data);
      if (facts === undefined) one.counts.misses++;
      return facts ?? noFacts;
    } catch (error) {
      one.counts.errors++;
      log.warn({ path: one.path, address: formatAddress(address), error }, "a MaxMind database is damaged");
      return noFacts;
    }
  };

  return {
    name: "MaxMind databases",
    objects: endpointObjects,
    facts(address) {
      if (addressScope(address) !== "public") return noFacts;
      let all: AddressFacts | undefined;
      for (const one of loaded) {
        if (one.database === undefined) continue;
        const facts = lookUp(one, one.database, address);
        all = all === undefined ? facts : { fields: [...all.fields, ...facts.fields], as: all.as ?? facts.as };
      }
      return all ?? noFacts;
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
