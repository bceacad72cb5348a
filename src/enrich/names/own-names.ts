import { parseNameKey, portProtocols, type AddressIndex, type UdmEntry } from "../../metadata/index.ts";
import { KeyError, type Key } from "../../base/ip/index.ts";
import {
  SeenValues,
  type Enricher,
  type FieldValues,
  type LineEnricher,
  type RecordFields,
  type ShapeLines,
  type Value,
} from "../../record/index.ts";
import type { Component, Metrics } from "../../base/report/index.ts";
import type { WatchAddresses } from "../address/address-enricher.ts";
import { gatherValues, placeFields, type RuledFields } from "../place-fields.ts";
import { RecentCache } from "../recent-cache.ts";
import { GivenNames, LineShaper, type GivenFields, type ShapedLine } from "../shape-lines.ts";

/** A field of records with a thing that users can name. */
type Place = {
  /** The object below which the names add fields. */
  readonly object: string;
  readonly field: string;
  /** Any key of the kind; it serves to find out whether there are names of this kind. */
  readonly all: Key;
  /** The other fields that {@link Place.keys} reads. */
  readonly others: readonly string[];
  /** Returns the keys of the entries that apply, the most important first. */
  readonly keys: (value: Value, get: (name: string) => Value | undefined) => readonly string[];
  /** Returns the fields that a name becomes. */
  readonly name: (name: string, value: Value, key: Key) => readonly (readonly [field: string, value: Value])[];
};

const exporterField = "flow.export.ip.addr";
const protocolField = "l4.proto.id";
const protocolNames = new Map(Object.entries(portProtocols).map(([name, number]) => [number, name]));

/** Returns the key that stands for all keys of a kind. @param any a key of the kind. */
function kindOf(any: string): Key {
  const { first } = parseNameKey(any);
  const bits = 120n;
  const from = (first >> bits) << bits;
  return { kind: "range", family: 6, first: from, last: from + (1n << bits) - 1n, written: from, text: "" };
}

const places: readonly Place[] = [
  ...["flow.in.netif", "flow.out.netif"].map((object): Place => ({
    object,
    field: `${object}.index`,
    all: kindOf("interface:0.0.0.0/0"),
    others: [exporterField, `${object}.name`],
    keys(index, get) {
      const exporter = String(get(exporterField));
      const name = get(`${object}.name`);
      const byIndex = `interface:${exporter}/${String(index)}`;
      // A key with digits alone means an index.
      if (typeof name !== "string" || /^\d*$/.test(name)) return [byIndex];
      return [byIndex, `interface:${exporter}/${encoded(name)}`];
    },
    name: (name) => [[`${object}.name`, name]],
  })),
  ...["flow.src", "flow.dst"].flatMap((end): Place[] => [
    {
      object: `${end}.as`,
      field: `${end}.as.asn`,
      all: kindOf("as:0"),
      others: [],
      keys: (number) => [`as:${String(number)}`],
      name: (name, number) => [
        [`${end}.as.org`, name],
        [`${end}.as.label`, `${name} (${String(number)})`],
      ],
    },
    {
      object: `${end}.vlan`,
      field: `${end}.vlan.tag.id`,
      all: kindOf("vlan:*/1"),
      others: [exporterField],
      keys: (id, get) => [`vlan:${String(get(exporterField))}/${String(id)}`, `vlan:*/${String(id)}`],
      name: (name) => [[`${end}.vlan.tag.name`, name]],
    },
    {
      object: `${end}.l4.port`,
      field: `${end}.l4.port.id`,
      all: kindOf("port:tcp/0"),
      others: [protocolField],
      keys(port, get) {
        const protocol = protocolNames.get(get(protocolField) as (typeof portProtocols)["tcp"]);
        return protocol === undefined ? [] : [`port:${protocol}/${String(port)}`];
      },
      name: (name) => [[`${end}.l4.port.name`, name]],
    },
    {
      object: `${end}.mac`,
      field: `${end}.mac.addr`,
      all: kindOf("mac:00"),
      others: [],
      keys: (address) => [`mac:${String(address)}`],
      name: (name, _, { kind }) => [[kind === "ip" ? `${end}.mac.name` : `${end}.mac.vendor`, name]],
    },
  ]),
];

const isOfInterface = ({ object }: Place): boolean => object.endsWith(".netif");

/** Says where the fields of a name are: all below its object, some outside of `flow`, or some anywhere below `flow`. */
const reaches = { object: 0, record: 1, flow: 2 } as const;
type Reach = (typeof reaches)[keyof typeof reaches];

/** The fields that one thing, or several things of one record, add. */
type OwnFields = GivenFields & { readonly reach: Reach };

/** A place whose field is in a line, the positions of the fields that decide its name, and the fields found so far by their values. */
type Lookup = {
  readonly place: Place;
  readonly positions: readonly number[];
  readonly seen: SeenValues<OwnFields>;
};

/** The most interfaces of records that are kept; below, the most bytes of all that is kept. */
const maxKept = 65_536;
const maxKeptBytes = 2 ** 26;
/** The bytes that an entry takes in addition to its texts, about. */
const keptOverhead = 200;
const nothing: OwnFields = {
  fields: new Map(),
  text: Buffer.alloc(0),
  names: new GivenNames([]),
  reach: reaches.object,
};

/**
 * Adds the names that people gave to interfaces, AS numbers, VLANs, ports and MAC addresses. They replace the names from exporters,
 * SNMP, databases and files. Several entries may apply: for an interface by index and by name, for a VLAN of the exporter and of all,
 * for a MAC address by each of its prefixes. The value of the first entry counts; tags are united.
 */
export class OwnNames implements Component, Enricher {
  readonly name = "names";
  readonly lines: LineEnricher = { begin() {}, numbers: [], addresses: [] };
  /** Adds names to lines. Lines that get none are not copied. */
  readonly shape: ShapeLines;
  readonly #watch: WatchAddresses;
  readonly #shaper: LineShaper<readonly Lookup[], OwnFields>;
  #unwatch = (): void => {};
  #index: AddressIndex | undefined;
  /** The places of the kinds that have names. */
  #places: readonly Place[] = [];
  #ofInterfaces: readonly Place[] = [];
  /** The fields found by values of lines, for each place and the set of its fields that a line has. */
  readonly #seen = new Map<string, SeenValues<OwnFields>>();
  /** The fields found for records, by the text of the keys. */
  #known = new RecentCache<OwnFields>(maxKept);
  /** The fields that several things of one record add together. */
  #joined = new Map<OwnFields, Map<OwnFields, OwnFields>>();
  #keptBytes = 0;
  #ruled: RuledFields | undefined;
  #records = 0;
  #renamed = 0;

  /** @param watch reports the names in a store. */
  constructor(watch: WatchAddresses, metrics: Metrics) {
    this.#watch = watch;
    this.#shaper = new LineShaper<readonly Lookup[], OwnFields>({
      planOf: (positionOf) => this.#lookupsOf(positionOf),
      give: (line, lookups, given) => this.#give(line, lookups, given),
      place: (record, fields) => this.#place(record, fields),
    });
    this.shape = (lines, count) => ({ lines: this.#places.length === 0 ? lines : this.#shaper.shape(lines), count });
    const count = (name: string, help: string, read: () => number): void =>
      metrics.counterFrom(`netgloss_enrich_own_names_${name}_total`, help, [], read);
    count("records", "Records that got a name from the file of names.", () => this.#records);
    count(
      "renamed",
      "Metadata of names put under another name because the one asked for was in another's way.",
      () => this.#renamed,
    );
  }

  async start(): Promise<void> {
    this.#unwatch = this.#watch((index) => {
      this.#index = index;
      this.#places = places.filter(({ all }) => index.hasWithin?.(all) ?? true);
      this.#ofInterfaces = this.#places.filter(isOfInterface);
      this.#forget();
    });
  }

  async stop(): Promise<void> {
    this.#unwatch();
  }

  /** Returns the names that it has: another object after each change. */
  known(): unknown {
    return this.#index;
  }

  /** Sets the fields that rules gave to lines. They replace metadata of names. */
  behind(ruled: RuledFields): void {
    this.#ruled = ruled;
  }

  /** Adds names of interfaces to a record, so that rules see them. All other names are added when the record is a line. */
  enrich(record: RecordFields): void {
    if (this.#ofInterfaces.length === 0) return;
    const given: (readonly [string, Value])[] = [];
    for (const place of this.#ofInterfaces) {
      const value = record.get(place.field);
      if (value !== undefined) given.push(...this.#ofPlace(place, value, record).fields);
    }
    if (given.length > 0) this.#place(record, gatherValues(given));
  }

  /** Adds all names to a record. @param applied called with the keys of the thing named, and the names of the fields added. */
  explain(record: RecordFields, applied: (keys: string, fields: Iterable<string>) => void): void {
    const given: (readonly [string, Value])[] = [];
    for (const place of this.#places) {
      const value = record.get(place.field);
      if (value === undefined) continue;
      const keys = place.keys(value, (name) => record.get(name));
      const { fields } = this.#look(place, value, keys);
      given.push(...fields);
      const found = keys.flatMap((key) => this.#find(key)).map(({ key }) => key.text);
      if (fields.size > 0) applied(found.join(", "), fields.keys());
    }
    this.#place(record, gatherValues(given));
  }

  /** Returns the places to look up in lines with these fields. @param positionOf returns -1 for a field that is not there. */
  #lookupsOf(positionOf: (name: string) => number): Lookup[] {
    return this.#places.flatMap((place) => {
      if (positionOf(place.field) < 0) return [];
      const fields = [place.field, ...place.others].filter((field) => positionOf(field) >= 0);
      const key = JSON.stringify([place.object, ...fields]);
      const seen = this.#seen.get(key) ?? new SeenValues<OwnFields>();
      this.#seen.set(key, seen);
      return [{ place, positions: fields.map(positionOf), seen }];
    });
  }

  #give(line: ShapedLine, lookups: readonly Lookup[], given: OwnFields[]): void {
    let reach: Reach = reaches.object;
    for (let i = 0; i < lookups.length; i++) {
      const { place, positions, seen } = lookups[i] as Lookup;
      const found = seen.find(line, positions) ?? this.#learn(line, place, seen);
      if (found === nothing) continue;
      given.push(found);
      if (found.reach > reach) ({ reach } = found);
    }
    if (given.length === 0) return;
    this.#records++;
    if (reach !== reaches.object && given.length > 1) this.#joinAll(given, reach === reaches.flow);
    if (this.#ruled !== undefined) this.#withoutRuled(line, this.#ruled, given);
  }

  #learn(line: ShapedLine, place: Place, seen: SeenValues<OwnFields>): OwnFields {
    const value = line.get(place.field);
    const made =
      value === undefined
        ? nothing
        : this.#look(
            place,
            value,
            place.keys(value, (name) => line.get(name)),
          );
    this.#count(seen.add(made) + (made === nothing ? 0 : sizeOf(made)));
    return made;
  }

  /** Joins the fields of things whose names may collide. @param isAll true to join the fields of all things. */
  #joinAll(given: OwnFields[], isAll: boolean): void {
    let kept = 0;
    let joined: OwnFields | undefined;
    for (const each of given) {
      if (!isAll && each.reach === reaches.object) given[kept++] = each;
      else joined = joined === undefined ? each : this.#join(joined, each);
    }
    if (joined !== undefined) given[kept++] = joined;
    given.length = kept;
  }

  #withoutRuled(values: FieldValues, ruled: RuledFields, given: OwnFields[]): void {
    const names = ruled.names();
    if (!given.some((each) => each.names.isAnyAmong(names))) return;
    const fields = new Map(given.flatMap((each) => [...each.fields]));
    const found = ruled.find(values, fields);
    if (found.length === 0) return;
    for (const name of found) fields.delete(name);
    given.length = 0;
    if (fields.size > 0) given.push(this.#render(fields, reaches.flow));
  }

  #place(record: RecordFields, fields: ReadonlyMap<string, Value>): void {
    this.#renamed += placeFields(record, fields).size;
  }

  #render(fields: ReadonlyMap<string, Value>, reach: Reach): OwnFields {
    const { text, names } = this.#shaper.render(fields);
    return { fields, text, names, reach };
  }

  #forget(): void {
    this.#shaper.forget();
    this.#seen.clear();
    this.#known = new RecentCache(maxKept);
    this.#joined = new Map();
    this.#keptBytes = 0;
  }

  #ofPlace(place: Place, value: Value, values: FieldValues): OwnFields {
    const keys = place.keys(value, (name) => values.get(name));
    const key = JSON.stringify([place.object, ...keys]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#look(place, value, keys);
    this.#count(key.length + sizeOf(made));
    this.#known.set(key, made);
    return made;
  }

  #join(first: OwnFields, second: OwnFields): OwnFields {
    const known = this.#joined.get(first)?.get(second);
    if (known !== undefined) return known;
    const reach = Math.max(first.reach, second.reach) as Reach;
    const joined = this.#render(gatherValues([...first.fields, ...second.fields]), reach);
    this.#count(sizeOf(joined));
    const cache = this.#joined.get(first) ?? new Map<OwnFields, OwnFields>();
    this.#joined.set(first, cache.set(second, joined));
    return joined;
  }

  /** Bounds the memory, because exporters may send any number and text. A forgotten value is looked up again. */
  #count(bytes: number): void {
    this.#keptBytes += bytes;
    if (this.#keptBytes > maxKeptBytes) this.#forget();
  }

  #look({ object, name }: Place, value: Value, keys: readonly string[]): OwnFields {
    const own = new Map<string, Value>();
    const metadata = new Map<string, string>();
    const tags = new Set<string>();
    for (const entry of keys.flatMap((key) => this.#find(key))) {
      if (entry.name !== "") {
        for (const [field, text] of name(entry.name, value, entry.key)) if (!own.has(field)) own.set(field, text);
      }
      for (const tag of entry.tags) tags.add(tag);
      for (const [key, text] of entry.metadata) if (!metadata.has(key)) metadata.set(key, text);
    }
    if (tags.size > 0) own.set(`${object}.tags`, [...tags]);
    for (const [key, text] of metadata) own.set(key.startsWith(".") ? object + key : key, text);
    return own.size === 0 ? nothing : this.#render(own, reachOf(own.keys(), object));
  }

  /** Returns the entries of a key, the most specific first. */
  #find(text: string): readonly UdmEntry[] {
    try {
      const key = parseNameKey(text);
      const found = this.#index?.covering({ family: 6, value: key.first }) ?? [];
      // Keys of names may contain digests, so an entry counts only if its text is the same, too.
      return text.startsWith("mac:") ? found.toReversed() : found.filter((entry) => entry.key.text === key.text);
    } catch (error) {
      // A value in a record may be too long for a key, or no valid number of its kind.
      if (error instanceof KeyError) return [];
      throw error;
    }
  }
}

function sizeOf({ text }: OwnFields): number {
  return keptOverhead + 8 * text.length;
}

function reachOf(names: Iterable<string>, object: string): Reach {
  let reach: Reach = reaches.object;
  for (const name of names) {
    if (name.startsWith(`${object}.`)) continue;
    if (name === "flow" || name.startsWith("flow.")) return reaches.flow;
    reach = reaches.record;
  }
  return reach;
}

/** Returns a name as it stands in a key. */
function encoded(name: string): string {
  return /\p{Surrogate}/u.test(name) ? "" : encodeURIComponent(name);
}
