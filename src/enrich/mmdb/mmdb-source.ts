import { Reader, type Response } from "maxmind";
import { asLabel, enrichedObjects } from "../address/enriched-object.ts";
import { DataReader, type Wanted } from "./data-reader.ts";
import {
  isName,
  maxNameBytes,
  maxStart,
  writeText,
  type WriteFacts,
  RecordRenderer,
  FieldWriter,
} from "./record-renderer.ts";
import { quote } from "../../base/text/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import { isMissing, type FileIo, WatchedFile } from "../../base/file/index.ts";
import { addressScope, isIpv4 } from "../address/address-limbs.ts";
import type { Address } from "../../base/ip/index.ts";
import {
  Listeners,
  endpointObjects,
  type AddressSource,
  type FactRenderer,
  type FoundFacts,
  type AddressSelection,
} from "../address/address-source.ts";
import { geoValues, type GeoValue } from "../settings.ts";
import { createWritePlaces, placeSlots, wantedOfPlaces } from "./geo-facts.ts";

/** The leading bits of IPv4 addresses whose walks are made beforehand. */
const firstBits = 16;
/** The most /24 networks for which the end of the walk is kept. A new address often has neighbours that came before. */
const knownNetworks = 65_536;
const networkBits = 24;
const knownShift = 16;

/** The search tree of the MaxMind DB File Format 2.0, read in the memory of the file. */
class SearchTree {
  readonly #view: DataView;
  readonly #recordSize: number;
  readonly #nodeBytes: number;
  readonly #nodeCount: number;
  readonly #isIpv4: boolean;
  /** The ends of the walks, by the first bits of IPv4 addresses. */
  readonly #firsts = new Uint32Array(1 << firstBits);
  /** Two words for each /24: the network + 1, and the end of its walk. */
  readonly #known = new Uint32Array(2 * knownNetworks);

  /**
   * @param bytes begin with the whole tree and have a few bytes more.
   * @throws Error for a record size that is not of the format.
   */
  constructor(bytes: Uint8Array, { recordSize, nodeCount, ipVersion }: Reader<Response>["metadata"]) {
    if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) {
      throw new Error("has records of a size that is not of the MaxMind DB format");
    }
    // A read takes four bytes, and more bytes than that follow the tree.
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#recordSize = recordSize;
    this.#nodeBytes = recordSize / 4;
    this.#nodeCount = nodeCount;
    this.#isIpv4 = ipVersion === 4;
    // IPv4 addresses lie below ::/96.
    this.#putFirsts(this.#isIpv4 ? 0 : this.#walk(this.#walk(this.#walk(0, 0, 32), 0, 32), 0, 32), 0, 0);
  }

  /**
   * Finds the data of an address.
   *
   * @returns the tree's record for the address of four words, IPv4 in its mapped form. Equal numbers mean the same data; 0 means that
   *   nothing is known.
   */
  find(a: number, b: number, c: number, d: number): number {
    let node: number;
    if (isIpv4(a, b, c)) node = this.#walk(this.#walkNetwork(d), d, 32 - networkBits);
    else if (this.#isIpv4) return 0;
    else node = this.#walk(this.#walk(this.#walk(this.#walk(0, a, 32), b, 32), c, 32), d, 32);
    return node > this.#nodeCount ? node : 0;
  }

  /** Returns at most `most` of the records to which addresses lead, from the first address on. */
  sample(most: number): readonly number[] {
    const found = new Set<number>();
    const open = [0];
    // The steps are bounded, because a damaged tree may lead in a circle.
    for (let steps = 0; open.length > 0 && found.size < most && steps <= this.#nodeCount; steps++) {
      const node = open.pop() as number;
      for (const bit of [1, 0]) {
        const side = this.#next(node, bit);
        if (side < this.#nodeCount) open.push(side);
        else if (side > this.#nodeCount) found.add(side);
      }
    }
    return [...found];
  }

  /** Stores a node for all words that begin with the `depth` bits that lead to it. */
  #putFirsts(node: number, word: number, depth: number): void {
    const open = firstBits - depth;
    if (open === 0 || node >= this.#nodeCount) this.#firsts.fill(node, word << open, (word + 1) << open);
    else for (let bit = 0; bit < 2; bit++) this.#putFirsts(this.#next(node, bit), 2 * word + bit, depth + 1);
  }

  #walkNetwork(d: number): number {
    const known = this.#known;
    const network = d >>> (32 - networkBits);
    const at = 2 * (Math.imul(network, 0x9e37_79b1) >>> knownShift);
    if (known[at] === network + 1) return known[at + 1] as number;
    const node = this.#walk(this.#firsts[d >>> firstBits] as number, network, networkBits - firstBits);
    known[at] = network + 1;
    known[at + 1] = node;
    return node;
  }

  /** Follows `count` bits of a word, from the highest of these on. */
  #walk(from: number, word: number, count: number): number {
    const nodeCount = this.#nodeCount;
    let node = from;
    for (let shift = count - 1; shift >= 0 && node < nodeCount; shift--) node = this.#next(node, (word >>> shift) & 1);
    return node;
  }

  #next(node: number, bit: number): number {
    const view = this.#view;
    const at = node * this.#nodeBytes;
    if (this.#recordSize === 24) return view.getUint32(at + 3 * bit) >>> 8;
    if (this.#recordSize === 32) return view.getUint32(at + 4 * bit);
    if (bit !== 0) return view.getUint32(at + 3) & 0xfff_ffff;
    const word = view.getUint32(at);
    return (word >>> 8) | ((word & 0xf0) << 20);
  }
}

/** The slots of the names that MaxMind and DB-IP use, those below `traits` in larger databases, and those of IPinfo. */
const numberSlots = [0, 1, 2] as const;
const organisationSlots = [3, 4, 5, 6] as const;
const systemSlots = 7;
/** The room for a number behind an organisation. */
const maxNumber = 16;

const maxmind = (number: number, organisation: number): NonNullable<Wanted["keys"]> => [
  ["autonomous_system_number", { slot: number }],
  ["autonomous_system_organization", { slot: organisation }],
];

/** The fields to read from an ASN database, or from one that contains its fields. */
const wantedOfSystems: Wanted = {
  keys: [
    ...maxmind(numberSlots[0], organisationSlots[0]),
    ["traits", { keys: maxmind(numberSlots[1], organisationSlots[1]) }],
    ["asn", { slot: numberSlots[2] }],
    ["as_name", { slot: organisationSlots[2] }],
    ["name", { slot: organisationSlots[3] }],
  ],
};

/** Returns the number of the system, from a number or a text such as `AS64500`; 0 if there is none. */
function numberOf(found: DataReader): number {
  for (const slot of numberSlots) {
    const number = found.number(slot) ?? Number(/^AS(\d{1,10})$/i.exec(found.text(slot))?.[1] ?? 0);
    if (Number.isInteger(number) && number > 0 && number <= 0xffff_ffff) return number;
  }
  return 0;
}

/** Creates the writer of the autonomous system. */
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

/** The zeros between the tree and the data. */
const separatorBytes = 16;

/** The most bytes at the end of a database in which the mark before the metadata lies. */
const metadataMaxBytes = 128 * 1024;
const metadataMark = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");

/** A MaxMind database (MaxMind DB File Format 2.0) in memory. */
export class Database {
  /** The type in its metadata, such as `GeoLite2-City`. */
  readonly type: string;
  readonly builtAt: Date;
  readonly tree: SearchTree;
  /** The number to subtract from a record of the tree to get the offset of its data. */
  readonly base: number;
  readonly #data: Buffer;

  /** @throws Error if the bytes are no such database. */
  constructor(bytes: Uint8Array) {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!buffer.subarray(-metadataMaxBytes).includes(metadataMark)) {
      const isCompressed = buffer[0] === 0x1f && buffer[1] === 0x8b;
      throw new Error(`is no MaxMind database${isCompressed ? ": it is compressed, unpack the .mmdb file" : ""}`);
    }
    const { metadata } = new Reader<Response>(buffer);
    const { databaseType, buildEpoch, nodeCount, searchTreeSize, binaryFormatMajorVersion } = metadata;
    if (binaryFormatMajorVersion !== 2) throw new Error("is not of version 2 of the MaxMind DB format");
    if (!(searchTreeSize > 0 && searchTreeSize + separatorBytes <= buffer.length)) throw new Error("is cut or damaged");
    this.type = databaseType;
    this.builtAt = buildEpoch;
    this.tree = new SearchTree(buffer, metadata);
    this.base = nodeCount + separatorBytes;
    this.#data = buffer.subarray(searchTreeSize + separatorBytes);
  }

  /** Creates a reader of some parts of the data. The offset of the data is what the tree finds, less `base`. */
  reader(wanted: Wanted, slots: number): DataReader {
    return new DataReader(this.#data, wanted, slots);
  }
}

export interface MmdbOptions {
  /** The database of autonomous systems; undefined if there is none. */
  readonly asn?: { readonly path: string } | undefined;
  /** The database of places; undefined if there is none. */
  readonly geoip?:
    | {
        readonly path: string;
        readonly values: readonly GeoValue[];
        readonly language: string;
        /** The addresses to look up; undefined for all. */
        readonly selection?: (() => AddressSelection | undefined) | undefined;
      }
    | undefined;
  /** The time between two checks whether a file has changed, in ms. */
  readonly pollMs: number;
  readonly io?: Pick<FileIo, "state" | "read">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A kind of database, with the parts to read from it. */
interface Kind {
  readonly name: "asn" | "geoip";
  readonly wanted: Wanted;
  readonly slots: number;
  readonly write: WriteFacts;
}

/** The file of a database, with what was read from it last. */
class DatabaseFile {
  readonly counts = { lookups: 0, misses: 0, errors: 0, loads: 0, loadFailures: 0 };
  readonly kind: Kind;
  readonly selection: (() => AddressSelection | undefined) | undefined;
  readonly file: WatchedFile;
  readonly #path: string;
  readonly #log: Log;
  readonly #limited: Log;
  /** Undefined until the file has been read. */
  current: { readonly database: Database; readonly renderer: FactRenderer } | undefined;

  /** @param changed called when the file has been read. */
  constructor(
    kind: Kind,
    path: string,
    selection: DatabaseFile["selection"],
    { pollMs, io, log, clock }: MmdbOptions,
    changed: () => void,
  ) {
    this.kind = kind;
    this.selection = selection;
    this.#path = path;
    this.#log = log;
    this.#limited = limitLog(log, clock);
    this.file = new WatchedFile(
      path,
      pollMs,
      {
        take: (bytes) => {
          this.#take(new Database(bytes));
          changed();
        },
        failed: (error) => this.#failed(error),
      },
      io,
    );
  }

  #take(database: Database): void {
    const { name, wanted, slots, write } = this.kind;
    const path = this.#path;
    const { type, builtAt, base } = database;
    const missed = (): void => void this.counts.misses++;
    const failed = (error: unknown): void => {
      this.counts.errors++;
      this.#limited.warn({ path, error }, "a MaxMind database is damaged");
    };
    const reader = database.reader(wanted, slots);
    // The number differs from those of all other databases that the source reads.
    const generation = 2 * this.counts.loads++ + (name === "asn" ? 0 : 1);
    this.current = { database, renderer: new RecordRenderer(generation, reader, base, write, missed, failed) };
    const nothing = nothingIn(database, this.kind);
    if (nothing !== undefined) this.#log.warn({ path, type }, nothing);
    this.#log.info({ path, type, builtAt: builtAt.toISOString() }, "MaxMind database is loaded");
  }

  #failed(error: unknown): void {
    const path = this.#path;
    this.counts.loadFailures++;
    const what = this.current === undefined ? "records go without it" : "the one read before stays";
    const message = `a MaxMind database cannot be used: ${what}`;
    if (isMissing(error)) this.#log.debug({ path }, message);
    else this.#log.error({ path, error }, message);
  }
}

/**
 * Finds autonomous systems and places of public addresses in MaxMind databases, which have no other addresses. It waits for a file that
 * is missing or broken at the start. If a file breaks later, the last good state stays.
 */
export class MmdbSource implements AddressSource, Component {
  readonly name = "MaxMind databases";
  readonly objects = endpointObjects;
  readonly #listeners = new Listeners();
  readonly #files: readonly DatabaseFile[];

  constructor(options: MmdbOptions) {
    const { asn, geoip, metrics } = options;
    const open = (kind: Kind, path: string, selection?: () => AddressSelection | undefined): DatabaseFile =>
      new DatabaseFile(kind, path, selection, options, () => this.selectionChanged());
    this.#files = [
      ...(asn === undefined ? [] : [open(systems(), asn.path)]),
      ...(geoip === undefined ? [] : [open(places(geoip.values, geoip.language), geoip.path, geoip.selection)]),
    ];
    registerMetrics(metrics, this.#files);
  }

  find(a: number, b: number, c: number, d: number, found: FoundFacts): number {
    if (addressScope(a, b, c, d) !== "public") return Number.POSITIVE_INFINITY;
    for (const { current, selection, counts } of this.#files) {
      if (current === undefined || selection?.()?.has(a, b, c, d) === false) continue;
      counts.lookups++;
      const at = current.database.tree.find(a, b, c, d);
      if (at === 0) counts.misses++;
      else found.add(current.renderer, at);
    }
    return Number.POSITIVE_INFINITY;
  }

  watch(changed: (address: Address | undefined) => void): () => void {
    return this.#listeners.add(changed);
  }

  /** Applies a changed selection; callers call it after each change. */
  selectionChanged(): void {
    this.#listeners.report(undefined);
  }

  async start(): Promise<void> {
    for (const { file } of this.#files) await file.start();
  }

  async stop(): Promise<void> {
    for (const { file } of this.#files) await file.stop();
  }

  /** Reads the files again, even if they have not changed. */
  async reload(): Promise<void> {
    for (const { file } of this.#files) await file.reload(true);
  }
}

/** The most data to check whether a database has what is wanted. */
const mostSampled = 1000;

/** Returns why a readable database is of no use for its purpose; undefined if it is of use. */
function nothingIn(database: Database, { wanted, slots, write, name }: Kind): string | undefined {
  const reader = database.reader(wanted, slots);
  const into = new FieldWriter(write.maxLength);
  const saysNothing = (at: number): boolean => {
    into.clear();
    try {
      reader.read(at - database.base);
      write.fields(reader, 0, into);
      return into.end === 0 && write.number(reader, 0, into) === 0;
    } catch {
      // Damaged data is counted when a look-up reads it.
      return true;
    }
  };
  if (!database.tree.sample(mostSampled).every(saysNothing)) return undefined;
  const what = name === "asn" ? "autonomous systems" : "places";
  return `a MaxMind database has nothing of ${what} under the names that are known: records get nothing of it`;
}

/**
 * Reads a database for a check.
 *
 * @returns a remark if the database would add nothing.
 * @throws Error if the bytes are no such database.
 */
export function judgeDatabase(bytes: Uint8Array, name: Kind["name"]): { readonly remark?: string } {
  const database = new Database(bytes);
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

function registerMetrics(metrics: Metrics, files: readonly DatabaseFile[]): void {
  const count = (name: string, help: string, read: (counts: DatabaseFile["counts"]) => number): void =>
    metrics.counterFrom(`netgloss_enrich_mmdb_${name}_total`, help, ["database"], () =>
      files.map(({ kind, counts }) => [{ database: kind.name }, read(counts)] as const),
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
    () =>
      files.map(({ kind, current }) => [{ database: kind.name }, (current?.database.builtAt.getTime() ?? 0) / 1000]),
  );
}
