import { Reader, type Response } from "maxmind";
import { asLabel, enrichedObjects } from "../address/enriched-object.ts";
import { type FoundValues, type Wanted, createDataReader, type ReadData } from "./data-reader.ts";
import {
  isName,
  maxNameBytes,
  maxStart,
  writeText,
  type WriteFacts,
  createRecordRenderer,
  createFieldWriter,
} from "./record-renderer.ts";
import { quote } from "../../base/text/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import { createWatchedFile, isMissing, type FileIo } from "../../base/file/index.ts";
import { addressScope } from "../address/address-limbs.ts";
import {
  createListeners,
  endpointObjects,
  type AddressSource,
  type FactRenderer,
  type AddressSelection,
} from "../address/address-source.ts";
import { geoValues, type GeoValue } from "../settings.ts";
import { createWritePlaces, placeSlots, wantedOfPlaces } from "./geo-facts.ts";

/** The shape of a search tree, of a database's metadata. */
interface TreeShape {
  /** Bits of a record, of which a node has two. */
  readonly recordSize: number;
  readonly nodeCount: number;
  readonly ipVersion: number;
}

/**
 * Finds where the data of an address lies.
 *
 * @returns the record that the tree has for the address of four words, IPv4 in its mapped form: the same number means the same
 *   data. 0 when nothing is known of it.
 */
interface SearchTree {
  (a: number, b: number, c: number, d: number): number;
  /** Some of the records that addresses lead to, no more than `most`, from the first address on. */
  readonly sample: (most: number) => readonly number[];
}

/** How many bits of an IPv4 address are walked beforehand. */
const firstBits = 16;
/** Where the walks of this many /24 came to is remembered; addresses that come for the first time often have neighbours that came before. */
const knownNetworks = 65_536;
const networkBits = 24;
const knownShift = 16;

/**
 * The search tree of the MaxMind DB File Format 2.0, read where it lies.
 *
 * @param bytes begin with the tree and hold all of it, and a few more.
 * @returns undefined for a size of records that there is not.
 */
function createSearchTree(bytes: Uint8Array, { recordSize, nodeCount, ipVersion }: TreeShape): SearchTree | undefined {
  if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) return undefined;
  const nodeBytes = recordSize / 4;
  // What is read at a time is four bytes; behind the tree there are more than that.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

  const next = (node: number, bit: number): number => {
    const at = node * nodeBytes;
    if (recordSize === 24) return view.getUint32(at + 3 * bit) >>> 8;
    if (recordSize === 32) return view.getUint32(at + 4 * bit);
    if (bit !== 0) return view.getUint32(at + 3) & 0xfff_ffff;
    const word = view.getUint32(at);
    return (word >>> 8) | ((word & 0xf0) << 20);
  };

  /** Follows bits of a word from the highest of `count` on. */
  const walk = (from: number, word: number, count: number): number => {
    let node = from;
    for (let shift = count - 1; shift >= 0 && node < nodeCount; shift--) node = next(node, (word >>> shift) & 1);
    return node;
  };

  // IPv4 addresses lie below ::/96.
  const ipv4Start = ipVersion === 4 ? 0 : walk(walk(walk(0, 0, 32), 0, 32), 0, 32);
  const firsts = new Uint32Array(1 << firstBits);
  /** For all words that begin with the `depth` bits that lead to a node. */
  const putFirsts = (node: number, word: number, depth: number): void => {
    const open = firstBits - depth;
    if (open === 0 || node >= nodeCount) firsts.fill(node, word << open, (word + 1) << open);
    else for (let bit = 0; bit < 2; bit++) putFirsts(next(node, bit), 2 * word + bit, depth + 1);
  };
  putFirsts(ipv4Start, 0, 0);

  // Of each: the network + 1, where its walk came to.
  const known = new Uint32Array(2 * knownNetworks);

  const walkNetwork = (d: number): number => {
    const network = d >>> (32 - networkBits);
    const at = 2 * (Math.imul(network, 0x9e37_79b1) >>> knownShift);
    if (known[at] === network + 1) return known[at + 1] as number;
    const node = walk(firsts[d >>> firstBits] as number, network, networkBits - firstBits);
    known[at] = network + 1;
    known[at + 1] = node;
    return node;
  };

  const find = (a: number, b: number, c: number, d: number): number => {
    let node: number;
    if (c === 0xffff && a === 0 && b === 0) node = walk(walkNetwork(d), d, 32 - networkBits);
    else if (ipVersion === 4) return 0;
    else node = walk(walk(walk(walk(0, a, 32), b, 32), c, 32), d, 32);
    return node > nodeCount ? node : 0;
  };

  const sample = (most: number): readonly number[] => {
    const found = new Set<number>();
    const open = [0];
    // A damaged tree may lead in a circle.
    for (let steps = 0; open.length > 0 && found.size < most && steps <= nodeCount; steps++) {
      const node = open.pop() as number;
      for (const bit of [1, 0]) {
        const side = next(node, bit);
        if (side < nodeCount) open.push(side);
        else if (side > nodeCount) found.add(side);
      }
    }
    return [...found];
  };
  return Object.assign(find, { sample });
}

/** Numbers and organisations as they are called: by MaxMind and DB-IP, below `traits` in their larger databases, by IPinfo. */
const numberSlots = [0, 1, 2] as const;
const organisationSlots = [3, 4, 5, 6] as const;
const systemSlots = 7;
/** A number behind an organisation. */
const maxNumber = 16;

const maxmind = (number: number, organisation: number): NonNullable<Wanted["keys"]> => [
  ["autonomous_system_number", { slot: number }],
  ["autonomous_system_organization", { slot: organisation }],
];

/** What is read of the data of an ASN database (or of one that contains its fields). */
const wantedOfSystems: Wanted = {
  keys: [
    ...maxmind(numberSlots[0], organisationSlots[0]),
    ["traits", { keys: maxmind(numberSlots[1], organisationSlots[1]) }],
    ["asn", { slot: numberSlots[2] }],
    ["as_name", { slot: organisationSlots[2] }],
    ["name", { slot: organisationSlots[3] }],
  ],
};

/** A number, or a text such as `AS64500`; 0 for none. */
function numberOf(found: FoundValues): number {
  for (const slot of numberSlots) {
    const number = found.number(slot) ?? Number(/^AS(\d{1,10})$/i.exec(found.text(slot))?.[1] ?? 0);
    if (Number.isInteger(number) && number > 0 && number <= 0xffff_ffff) return number;
  }
  return 0;
}

/** Writes the autonomous system. */
function createWriteSystems(): WriteFacts {
  const starts = enrichedObjects.map(({ asNumberName, asOrganisationName, asLabelName }) => ({
    number: Buffer.from(`,"${asNumberName}":`),
    organisation: Buffer.from(`,"${asOrganisationName}":`),
    label: Buffer.from(`,"${asLabelName}":`),
  }));
  return {
    maxLength: 3 * maxStart + 2 * maxNameBytes + maxNumber,
    fields() {},
    number(found, position, into) {
      const number = numberOf(found);
      if (number === 0) return 0;
      into.start((starts[position] as (typeof starts)[number]).number);
      into.plain(String(number));
      return number;
    },
    organisation(found, position, into) {
      const { organisation, label } = starts[position] as (typeof starts)[number];
      const number = numberOf(found);
      const slot = organisationSlots.find((one) => isName(found, one));
      if (slot === undefined) {
        into.start(label);
        into.plain(JSON.stringify(asLabel(number)));
        return;
      }
      into.start(organisation);
      writeText(found, slot, into);
      into.start(label);
      writeText(found, slot, into);
      into.extend(asLabel(number, ""));
    },
  };
}

/** A MaxMind database (MaxMind DB File Format 2.0) in memory. */
export interface Database {
  /** Of its metadata: `GeoLite2-City`, … */
  readonly type: string;
  readonly builtAt: Date;
  /** Where the data of an address lies, for those who keep what they made of it. */
  readonly find: SearchTree;
  /**
   * Makes a reader of what is wanted of the data of addresses.
   *
   * @param slots of what is wanted.
   * @returns what takes places as `find` returns them, not 0.
   */
  reader(wanted: Wanted, slots: number): ReadData;
}

/** Zeros between the tree and the data. */
const separatorBytes = 16;

/** What stands before the metadata, within the last bytes of each database. */
const metadataMaxBytes = 128 * 1024;
const metadataMark = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");

/** @throws Error when the bytes are no such database. */
export function readDatabase(bytes: Uint8Array): Database {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(-metadataMaxBytes).includes(metadataMark)) {
    const isCompressed = buffer[0] === 0x1f && buffer[1] === 0x8b;
    throw new Error(`is no MaxMind database${isCompressed ? ": it is compressed, unpack the .mmdb file" : ""}`);
  }
  const { metadata } = new Reader<Response>(buffer);
  const { databaseType, buildEpoch, nodeCount, searchTreeSize, binaryFormatMajorVersion } = metadata;
  if (binaryFormatMajorVersion !== 2) throw new Error("is not of version 2 of the MaxMind DB format");
  if (!(searchTreeSize > 0 && searchTreeSize + separatorBytes <= buffer.length)) throw new Error("is cut or damaged");
  const find = createSearchTree(buffer, metadata);
  if (find === undefined) throw new Error("has records of a size that is not of the MaxMind DB format");
  const data = buffer.subarray(searchTreeSize + separatorBytes);
  return {
    type: databaseType,
    builtAt: buildEpoch,
    find,
    reader(wanted, slots) {
      const read = createDataReader(data, wanted, slots);
      return (at) => read(at - nodeCount - separatorBytes);
    },
  };
}

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
