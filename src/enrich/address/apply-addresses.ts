import {
  decodedSegments,
  lineObjects,
  renderFields,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../../record/index.ts";
import type { AddressTable } from "./address-table.ts";
import type { Fragment } from "./address-fragment.ts";
import {
  asLabel,
  enrichedObjects,
  type EnrichedObject,
  flowLocality,
  localities,
  localityName,
  renderedLocalities,
} from "./enriched-object.ts";
import { nameInScope } from "./merge-entries.ts";
import { gatherValues, placeFields } from "../place-fields.ts";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import { setWords } from "./address-limbs.ts";
import { placeOf } from "./choose-scope.ts";
import { quote } from "../../base/text/index.ts";

type Field = readonly [name: string, value: Value];

const none = new Uint8Array();

/** The most texts of IPv6 addresses to keep, because parsing one takes longer than all other work. */
const maxRemembered = 1024;

/** Adds the table's facts about addresses to records. */
export class RecordAddresses {
  matches = 0;
  renamed = 0;
  badAddresses = 0;
  readonly #table: AddressTable;
  readonly #locality: boolean;
  readonly #log: Log;
  readonly #words = new Int32Array(4);
  readonly #remembered = new Map<string, Int32Array>();

  /**
   * @param locality true if flows get a locality by both ends.
   * @param log limited.
   */
  constructor(table: AddressTable, locality: boolean, log: Log) {
    this.#table = table;
    this.#locality = locality;
    this.#log = log;
  }

  /**
   * Adds what is known of the addresses of `flow.src`, `flow.dst`, `flow.export` and `system`, each at its `.ip.addr`. If an address is
   * a list, the first item counts. {@link placeFields} says what happens to names that collide.
   *
   * @param rendered takes the fields whose names no other field of the record can have.
   * @param scope the scope of all addresses; if left out, the record gives the scope of each.
   */
  add(record: RecordFields, rendered?: RenderedFields[], scope?: number): void {
    // All addresses are read before anything is added, because metadata may write any name, even that of an address.
    const added: AddedFragment[] = [];
    let isPlain = rendered !== undefined;
    let sourceIs = 0;
    let destinationIs = 0;
    for (let i = 0; i < enrichedObjects.length; i++) {
      const one = this.#find(record, enrichedObjects[i] as EnrichedObject, i, scope);
      if (one === undefined) continue;
      const { object, fragment } = one;
      added.push(one);
      if (fragment.hasMetadata) this.matches++;
      if (fragment.open > 0 || !object.hasKnownNames) isPlain = false;
      if (i === lineObjects.src) sourceIs = fragment.locality;
      else if (i === lineObjects.dst) destinationIs = fragment.locality;
    }
    const labels = labelsOf(record, added);
    if (added.length === 0 && labels.length === 0) return;
    const where = this.#locality ? flowLocality(localities[sourceIs], localities[destinationIs]) : undefined;
    if (rendered === undefined || !isPlain) {
      // Metadata may write this name, too.
      if (where !== undefined) record.set(localityName, where);
      for (const [name, label] of labels) record.set(name, label);
      this.#addFields(record, added);
      return;
    }
    for (const one of added) one.addRendered(record, rendered);
    if (where !== undefined) rendered.push(renderedLocalities[where]);
    if (labels.length > 0) rendered.push(renderFields(labels));
  }

  #find(
    record: RecordFields,
    object: EnrichedObject,
    position: number,
    given: number | undefined,
  ): AddedFragment | undefined {
    const words = this.#readAddress(record.get(object.addressName));
    if (words === undefined) return undefined;
    const [a, b, c, d] = words as unknown as readonly [number, number, number, number];
    const scopes = this.#table.scopes();
    const scope = given ?? (scopes.isEmpty ? 0 : scopes.of(position, (name) => record.get(name)));
    const found = this.#table.read(placeOf(position, scope), a, b, c, d);
    return found && new AddedFragment(object, found.bytes, found.fragment, scope !== 0);
  }

  /**
   * Reads an address.
   *
   * @param value a text or a list, of which the first item counts.
   * @returns four words, IPv4 in its mapped form, valid until the next call; undefined if it is no address.
   */
  #readAddress(value: Value | undefined): Int32Array | undefined {
    const text = typeof value === "object" ? value[0] : value;
    if (typeof text !== "string") return undefined;
    const known = this.#remembered.get(text);
    if (known !== undefined) return known;
    const address = parseAddress(text);
    if (address === undefined) {
      this.badAddresses++;
      this.#log.warn({ address: quote(text) }, "a record's address is not an IP address");
      return undefined;
    }
    setWords(this.#words, unmapAddress(address));
    if (address.family === 6) {
      if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
      this.#remembered.set(text, this.#words.slice());
    }
    return this.#words;
  }

  /** Adds the fields one by one and checks all names. */
  #addFields(record: RecordFields, added: readonly AddedFragment[]): void {
    const metadata: Field[] = [];
    for (const one of added) {
      const { object } = one;
      const fields = one.readFields(metadata, (name, as) => this.#renamed(name, as), record);
      const vlan = one.readVlan();
      if (vlan !== undefined && !record.has(object.vlanName)) fields.push([object.vlanName, vlan]);
      if (!object.hasKnownNames) this.#place(record, new Map(fields));
      else for (const [name, value] of fields) record.set(name, value);
      one.addSystem(record);
    }
    this.#place(record, gatherValues(metadata));
  }

  #place(record: RecordFields, fields: ReadonlyMap<string, Value>): void {
    for (const [name, as] of placeFields(record, fields)) this.#renamed(name, as);
  }

  #renamed(name: string, as: string): void {
    this.renamed++;
    this.#log.warn({ name: quote(name), as: quote(as) }, "a metadata key conflicts with another name of a record");
  }
}

/** The fields that an address adds to the current record. */
class AddedFragment {
  readonly object: EnrichedObject;
  readonly fragment: Fragment;
  readonly #bytes: Uint8Array;
  readonly #isInScope: boolean;

  constructor(object: EnrichedObject, bytes: Uint8Array, fragment: Fragment, isInScope: boolean) {
    this.object = object;
    this.fragment = fragment;
    this.#bytes = bytes;
    this.#isInScope = isInScope;
  }

  /** Hands over all fields as bytes, except the number of a system that replaces the record's 0. */
  addRendered(record: RecordFields, rendered: RenderedFields[]): void {
    const { object, fragment } = this;
    const bytes = this.#bytes;
    const withVlan = fragment.fields + fragment.vlan;
    const own = fragment.organisation === 0 ? undefined : record.get(object.asNumberName);
    const isOwn = own === 0 || own === fragment.system;
    const system = own === undefined ? bytes.subarray(withVlan) : isOwn ? this.#organisation() : none;
    if (fragment.vlan > 0 && record.has(object.vlanName)) rendered.push(bytes.subarray(0, fragment.fields), system);
    else if (own === undefined) rendered.push(bytes);
    else rendered.push(bytes.subarray(0, withVlan), system);
    if (own === 0) record.set(object.asNumberName, fragment.system);
  }

  /** Adds the system. The exporter's number counts unless it is 0. The organisation is added if both numbers are the same. */
  addSystem(record: RecordFields): void {
    const { object, fragment } = this;
    if (fragment.organisation === 0) return;
    const own = record.get(object.asNumberName);
    if (fragment.system !== 0 && (own === undefined || own === 0)) record.set(object.asNumberName, fragment.system);
    else if (own !== undefined && own !== fragment.system) return;
    for (const [name, value] of parseFields(this.#organisation())) record.set(name, value);
  }

  /**
   * Reads the fields except the VLAN and the system.
   *
   * @param metadata takes the fields that are metadata.
   * @param renamed called with each field of a scope that gets another name.
   */
  readFields(metadata: Field[], renamed: (name: string, as: string) => void, record: RecordFields): Field[] {
    const { object, fragment } = this;
    const fields: Field[] = [];
    for (const field of parseFields(this.#bytes.subarray(0, fragment.fields))) {
      // Below an object, only metadata has names with segments that no decoder has.
      const [segment = ""] = field[0].slice(object.name.length + 1).split(".", 1);
      const isOwn = decodedSegments.has(segment) || (this.#isInScope && segment === "scope");
      (isOwn ? fields : metadata).push(field);
    }
    const openAt = fragment.fields + fragment.vlan + fragment.number + fragment.organisation;
    const open = parseFields(this.#bytes.subarray(openAt, openAt + fragment.open));
    for (const [name, value] of open) {
      const as = this.#isInScope ? nameInScope(name, object.name, (other) => record.has(other)) : name;
      if (as !== name) renamed(name, as);
      metadata.push([as, value]);
    }
    return fields;
  }

  readVlan(): number | bigint | undefined {
    const { object, fragment } = this;
    if (fragment.vlan === 0) return undefined;
    const start = fragment.fields + `,"${object.vlanName}":`.length;
    const vlan = BigInt(Buffer.from(this.#bytes.subarray(start, fragment.fields + fragment.vlan)).toString("latin1"));
    return vlan <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(vlan) : vlan;
  }

  #organisation(): Uint8Array {
    const start = this.fragment.fields + this.fragment.vlan + this.fragment.number;
    return this.#bytes.subarray(start, start + this.fragment.organisation);
  }
}

/** The ends of a flow. */
const ends = [lineObjects.src, lineObjects.dst].map((position) => enrichedObjects[position] as EnrichedObject);

/** Returns labels of the systems that the record names and of which nothing else is known. */
function labelsOf(record: RecordFields, added: readonly AddedFragment[]): [name: string, label: string][] {
  return ends.flatMap((object): [string, string][] => {
    const own = record.get(object.asNumberName);
    if (typeof own !== "number" || own <= 0) return [];
    const isKnown = added.some((one) => one.object === object && one.fragment.system === own);
    return isKnown ? [] : [[object.asLabelName, asLabel(own)]];
  });
}

function parseFields(bytes: Uint8Array): Field[] {
  if (bytes.length === 0) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8", 1);
  return Object.entries(JSON.parse(`{${text}}`) as Readonly<Record<string, Value>>);
}
