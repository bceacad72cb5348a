import { quote } from "../../text/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../report/index.ts";
import { createWatchedFile, isMissing, type FileIo } from "../../file/index.ts";
import { addressScope } from "../address/words/address-scope.ts";
import {
  createListeners,
  endpointObjects,
  type AddressSource,
  type FactRenderer,
} from "../address/sources/address-source.ts";
import { createWriteSystems, systemSlots, wantedOfSystems } from "./as-facts.ts";
import type { AddressSelection } from "../address/sources/address-selection.ts";
import type { Wanted } from "./data-reader.ts";
import { createFieldWriter } from "./field-writer.ts";
import { createWritePlaces, geoValues, placeSlots, wantedOfPlaces, type GeoValue } from "./geo-facts.ts";
import { readDatabase, type Database } from "./read-database.ts";
import { createRecordRenderer, type WriteFacts } from "./record-renderer.ts";

export interface MmdbOptions {
  /** The database of autonomous systems; undefined for none. */
  readonly asn?: { readonly path: string } | undefined;
  /** That of places. */
  readonly geoip?:
    | {
        readonly path: string;
        readonly values: readonly GeoValue[];
        readonly language: string;
        /** Which addresses it is asked about; undefined for all. */
        readonly selection?: (() => AddressSelection | undefined) | undefined;
      }
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
  /** To be called when a selection is another one. */
  selectionChanged(): void;
}

/** What is made of one kind of database. */
interface Kind {
  readonly name: "asn" | "geoip";
  readonly wanted: Wanted;
  readonly slots: number;
  readonly write: WriteFacts;
  readonly selection?: (() => AddressSelection | undefined) | undefined;
}

interface Loaded extends Kind {
  readonly path: string;
  /** Undefined until the file was read. */
  current: { readonly database: Database; readonly renderer: FactRenderer } | undefined;
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
  let generations = 0;
  const add = (path: string, kind: Kind): void => {
    const counts = { lookups: 0, misses: 0, errors: 0, loads: 0, loadFailures: 0 };
    loaded.push({ ...kind, path, current: undefined, counts });
  };
  if (asn !== undefined) add(asn.path, systems());
  if (geoip !== undefined) {
    add(geoip.path, { ...places(geoip.values, geoip.language), selection: geoip.selection });
  }
  registerMetrics(options.metrics, loaded);

  const files = loaded.map((one) =>
    createWatchedFile({
      path: one.path,
      pollMs,
      ...(io && { io }),
      take(bytes) {
        const database = readDatabase(bytes);
        const renderer = createRecordRenderer({
          generation: ++generations,
          read: database.reader(one.wanted, one.slots),
          write: one.write,
          missed: () => void one.counts.misses++,
          failed(error) {
            one.counts.errors++;
            log.warn({ path: one.path, error }, "a MaxMind database is damaged");
          },
        });
        one.current = { database, renderer };
        one.counts.loads++;
        const { type, builtAt } = database;
        const nothing = nothingIn(database, one);
        if (nothing !== undefined) options.log.warn({ path: one.path, type }, nothing);
        options.log.info({ path: one.path, type, builtAt: builtAt.toISOString() }, "MaxMind database is loaded");
        listeners.report(undefined);
      },
      failed(error) {
        one.counts.loadFailures++;
        const message =
          one.current === undefined
            ? "a MaxMind database cannot be used: records go without it"
            : "a MaxMind database cannot be used: the one read before stays";
        if (isMissing(error)) options.log.debug({ path: one.path }, message);
        else options.log.error({ path: one.path, error }, message);
      },
    }),
  );

  return {
    name: "MaxMind databases",
    objects: endpointObjects,
    find(a, b, c, d, found) {
      if (addressScope(a, b, c, d) !== "public") return Number.POSITIVE_INFINITY;
      for (const one of loaded) {
        if (one.current === undefined || one.selection?.()?.has(a, b, c, d) === false) continue;
        one.counts.lookups++;
        const at = one.current.database.find(a, b, c, d);
        if (at === 0) one.counts.misses++;
        else found.add(one.current.renderer, at);
      }
      return Number.POSITIVE_INFINITY;
    },
    watch: listeners.add,
    selectionChanged: () => listeners.report(undefined),
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

/** Data that are looked at to find out whether a database has what is asked for. */
const mostSampled = 1000;

/** Why a database is of no use for what is asked of it, though it can be read; undefined when it is of some. */
function nothingIn(database: Database, { wanted, slots, write, name }: Kind): string | undefined {
  const read = database.reader(wanted, slots);
  const into = createFieldWriter(write.maxLength);
  const saysNothing = (at: number): boolean => {
    into.clear();
    try {
      const found = read(at);
      write.fields(found, 0, into);
      return into.end === 0 && write.number(found, 0, into) === 0;
    } catch {
      // It is counted when somebody asks for it.
      return true;
    }
  };
  if (!database.find.sample(mostSampled).every(saysNothing)) return undefined;
  const what = name === "asn" ? "autonomous systems" : "places";
  return `a MaxMind database has nothing of ${what} under the names that are known: records get nothing of it`;
}

/**
 * Reads a database for a check.
 *
 * @returns with a remark when nothing would come of it.
 * @throws Error when the bytes are no such database.
 */
export function judgeDatabase(bytes: Uint8Array, name: Kind["name"]): { readonly remark?: string } {
  const database = readDatabase(bytes);
  const nothing = nothingIn(database, name === "asn" ? systems() : places(geoValues, "en"));
  return nothing === undefined ? {} : { remark: `${nothing} (type ${quote(database.type)})` };
}

const systems = (): Kind => ({ name: "asn", wanted: wantedOfSystems, slots: systemSlots, write: createWriteSystems() });

const places = (values: readonly GeoValue[], language: string): Kind => ({
  name: "geoip",
  wanted: wantedOfPlaces(language),
  slots: placeSlots,
  write: createWritePlaces(new Set(values)),
});

function registerMetrics(metrics: Metrics, loaded: readonly Loaded[]): void {
  const count = (name: string, help: string, read: (counts: Loaded["counts"]) => number): void =>
    metrics.counterFrom(`netgloss_enrich_mmdb_${name}_total`, help, ["database"], () =>
      loaded.map((one) => [{ database: one.name }, read(one.counts)] as const),
    );
  count("lookups", "Addresses looked up in a MaxMind database.", (counts) => counts.lookups);
  count("misses", "Look-ups in a MaxMind database that gave nothing.", (counts) => counts.misses);
  count(
    "errors",
    "Data of addresses that could not be read because the database is damaged.",
    (counts) => counts.errors,
  );
  count("loads", "How often a MaxMind database was read.", (counts) => counts.loads);
  count("load_failures", "How often one could not be read or used.", (counts) => counts.loadFailures);
  metrics.gaugeFrom(
    "netgloss_enrich_mmdb_build_time_seconds",
    "When the database in use was built, since the epoch; 0 when there is none.",
    ["database"],
    () => loaded.map((one) => [{ database: one.name }, (one.current?.database.builtAt.getTime() ?? 0) / 1000] as const),
  );
}
