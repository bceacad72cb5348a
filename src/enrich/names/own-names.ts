import { parseNameKey, portProtocols, type AddressIndex, type UdmEntry } from "../../metadata/index.ts";
import { KeyError, type Key } from "../../base/ip/index.ts";
import type { Enricher, FieldValues, LineEnricher, RecordFields, ShapeLines, Value } from "../../record/index.ts";
import type { Component, Metrics } from "../../base/report/index.ts";
import type { WatchAddresses } from "../address/address-enricher.ts";
import { gatherValues, placeFields, type FindRuled } from "../place-fields.ts";
import { RecentCache } from "../recent-cache.ts";
import { givenFields, LineShaper, type GivenFields } from "../shape-lines.ts";

/** A field of records with a thing that users can name. */
type Place = {
  /** The object below which the names add fields. */
  readonly object: string;
  readonly field: string;
  /** Any key of the kind; it serves to find out whether there are names of this kind. */
  readonly all: Key;
  /** Returns a text that is the same where {@link Place.keys} are the same. */
  readonly known: (value: Value, get: (name: string) => Value | undefined) => string;
  /** Returns the keys of the entries that apply, the most important first. One text of keys is looked up once. */
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
    known: (index, get) => `${String(get(exporterField))} ${String(index)} ${String(get(`${object}.name`))}`,
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
      known: String,
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
      known: (id, get) => `${String(get(exporterField))} ${String(id)}`,
      keys: (id, get) => [`vlan:${String(get(exporterField))}/${String(id)}`, `vlan:*/${String(id)}`],
      name: (name) => [[`${end}.vlan.tag.name`, name]],
    },
    {
      object: `${end}.l4.port`,
      field: `${end}.l4.port.id`,
      all: kindOf("port:tcp/0"),
      known: (port, get) => `${String(get(protocolField))} ${String(port)}`,
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
      known: String,
      keys: (address) => [`mac:${String(address)}`],
      name: (name, _, { kind }) => [[kind === "ip" ? `${end}.mac.name` : `${end}.mac.vendor`, name]],
    },
  ]),
];

const isOfInterface = ({ object }: Place): boolean => object.endsWith(".netif");

/** The most things of a kind that are kept; below, the most bytes of all that is kept. */
const maxKept = 65_536;
const maxKeptBytes = 2 ** 26;
/** The bytes that an entry takes in addition to its texts, about. */
const keptOverhead = 200;
const nothing = givenFields(new Map());

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
  #unwatch = (): void => {};
  #index: AddressIndex | undefined;
  /** The places of the kinds that have names. */
  #places: readonly Place[] = [];
  /** The fields by the text of the keys looked up. */
  readonly #known = new Map<Place, RecentCache<GivenFields>>();
  /** The fields that several things of one record add together. */
  #joined = new Map<GivenFields, Map<GivenFields, GivenFields>>();
  #keptBytes = 0;
  #findRuled: FindRuled = () => [];
  #records = 0;
  #renamed = 0;

  /** @param watch reports the names in a store. */
  constructor(watch: WatchAddresses, metrics: Metrics) {
    this.#watch = watch;
    const shaper = new LineShaper(
      (values) => {
        const given = this.#given(values, this.#places);
        if (given === undefined) return undefined;
        this.#records++;
        return this.#withoutRuled(values, given);
      },
      (record, fields) => this.#place(record, fields),
    );
    this.shape = (lines, count) => ({ lines: this.#places.length === 0 ? lines : shaper.shape(lines), count });
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

  /**
   * Sets how to find the rules' fields.
   *
   * @param findRuled returns the fields of a line that rules gave; they replace metadata of names.
   */
  behind(findRuled: FindRuled): void {
    this.#findRuled = findRuled;
  }

  /** Adds names of interfaces to a record, so that rules see them. All other names are added when the record is a line. */
  enrich(record: RecordFields): void {
    const given = this.#given({ get: (name) => record.get(name) }, this.#places.filter(isOfInterface));
    if (given !== undefined) this.#place(record, given.fields);
  }

  /** Adds all names to a record. @param applied called with the keys of the thing named, and the names of the fields added. */
  explain(record: RecordFields, applied: (keys: string, fields: Iterable<string>) => void): void {
    const given = new Map<string, Value>();
    for (const place of this.#places) {
      const value = record.get(place.field);
      if (value === undefined) continue;
      const keys = place.keys(value, (name) => record.get(name));
      const { fields } = this.#look(place, value, keys);
      for (const [field, text] of fields) given.set(field, text);
      const found = keys.flatMap((key) => this.#find(key)).map(({ key }) => key.text);
      if (fields.size > 0) applied(found.join(", "), fields.keys());
    }
    this.#place(record, given);
  }

  #withoutRuled(values: FieldValues, given: GivenFields): GivenFields | undefined {
    const ruled = this.#findRuled(values, given.fields);
    if (ruled.length === 0) return given;
    const rest = [...given.fields].filter(([name]) => !ruled.includes(name));
    return rest.length === 0 ? undefined : givenFields(new Map(rest));
  }

  #place(record: RecordFields, fields: ReadonlyMap<string, Value>): void {
    this.#renamed += placeFields(record, fields).size;
  }

  #forget(): void {
    this.#known.clear();
    this.#joined = new Map();
    this.#keptBytes = 0;
  }

  #given(values: FieldValues, of: readonly Place[]): GivenFields | undefined {
    let found: GivenFields | undefined;
    const get = (name: string): Value | undefined => values.get(name);
    for (const place of of) {
      const value = values.get(place.field);
      if (value === undefined) continue;
      const given = this.#ofPlace(place, value, get);
      if (given === nothing) continue;
      found = found === undefined ? given : this.#join(found, given);
    }
    return found;
  }

  #ofPlace(place: Place, value: Value, get: (name: string) => Value | undefined): GivenFields {
    const at = place.known(value, get);
    let cache = this.#known.get(place);
    const known = cache?.get(at);
    if (known !== undefined) return known;
    const made = this.#look(place, value, place.keys(value, get));
    this.#count(at, made);
    cache = this.#known.get(place) ?? new RecentCache<GivenFields>(maxKept);
    this.#known.set(place, cache);
    cache.set(at, made);
    return made;
  }

  #join(first: GivenFields, second: GivenFields): GivenFields {
    const cache = this.#joined.get(first) ?? new Map<GivenFields, GivenFields>();
    const known = cache.get(second);
    if (known !== undefined) return known;
    const joined = givenFields(gatherValues([...first.fields, ...second.fields]));
    this.#count("", joined);
    this.#joined.set(first, cache.set(second, joined));
    return joined;
  }

  /** Bounds the memory, because exporters may send any number and text. A forgotten key is looked up again. */
  #count(key: string, given: GivenFields): void {
    this.#keptBytes += keptOverhead + key.length + 8 * given.text.length;
    if (this.#keptBytes > maxKeptBytes) this.#forget();
  }

  #look({ object, name }: Place, value: Value, keys: readonly string[]): GivenFields {
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
    return own.size === 0 ? nothing : givenFields(own);
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

/** Returns a name as it stands in a key. */
function encoded(name: string): string {
  return /\p{Surrogate}/u.test(name) ? "" : encodeURIComponent(name);
}
