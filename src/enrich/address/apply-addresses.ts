import {
  decodedSegments,
  lineObjects,
  renderFields,
  type RecordFields,
  type RenderedFields,
  type Value,
  addressLayout,
  type AddressAdditions,
  type Workspace,
} from "../../record/index.ts";
import type { AddressTable } from "./address-table.ts";
import type { AddressText } from "./address-fragment.ts";
import {
  asLabel,
  enrichedObjects,
  type EnrichedObject,
  flowLocality,
  localities,
  localityName,
  renderedLocalities,
} from "./enriched-object.ts";
import { gatherValues, placeFields, type Renamed } from "../place-fields.ts";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import { setWords } from "./address-limbs.ts";
import { quote } from "../../base/text/index.ts";
import { lengthsWord, startWord } from "./change-history.ts";
import { maxLineLength } from "./fragment-store.ts";

/** Adds what a table has of addresses to records. */
interface RecordAddresses {
  readonly counts: { readonly matches: number; readonly renamed: number };
  /**
   * Adds what is known of the addresses of `flow.src`, `flow.dst`, `flow.export` and `system`, each at its `.ip.addr`. Where an
   * address is a list, its first counts. What happens to names that get in each other's way, {@link placeFields} says.
   *
   * @param rendered takes the fields that no other field of the record can have the name of.
   */
  add(record: RecordFields, rendered?: RenderedFields[]): void;
}

interface RecordAddressesOptions {
  readonly table: AddressTable;
  readonly read: ReadAddress;
  /** Whether flows get a locality by both their ends. */
  readonly locality: boolean;
  /** Called for each field that had to go out under another name. */
  readonly renamed: (renamed: Renamed) => void;
}

/** What an address adds to the record under way. */
interface Added {
  readonly object: EnrichedObject;
  readonly bytes: Uint8Array;
  readonly text: AddressText;
}

type Field = readonly [name: string, value: Value];

const none = new Uint8Array();

export function createRecordAddresses(options: RecordAddressesOptions): RecordAddresses {
  const { table, read, locality } = options;
  const counts = { matches: 0, renamed: 0 };

  const find = (record: RecordFields, object: EnrichedObject, position: number): Added | undefined => {
    const words = read.read(record.get(object.addressName));
    if (words === undefined) return undefined;
    const [a, b, c, d] = words as unknown as readonly [number, number, number, number];
    const found = table.read(position, a, b, c, d);
    return found && { object, ...found };
  };

  const place = (record: RecordFields, fields: ReadonlyMap<string, Value>): void => {
    const renamed = placeFields(record, fields);
    counts.renamed += renamed.length;
    for (const one of renamed) options.renamed(one);
  };

  /** Adds field by field, looking at all names. */
  const addFields = (record: RecordFields, added: readonly Added[]): void => {
    const metadata: Field[] = [];
    for (const one of added) {
      const { object } = one;
      const fields = readFields(one, metadata);
      const vlan = readVlan(one);
      if (vlan !== undefined && !record.has(object.vlanName)) fields.push([object.vlanName, vlan]);
      if (!object.hasKnownNames) place(record, new Map(fields));
      else for (const [name, value] of fields) record.set(name, value);
      addSystem(record, one);
    }
    place(record, gatherValues(metadata));
  };

  return {
    counts,
    add(record, rendered) {
      // All addresses are read before anything is added: metadata may write any name, those of addresses too.
      const added: Added[] = [];
      let isPlain = rendered !== undefined;
      let sourceIs = 0;
      let destinationIs = 0;
      for (let i = 0; i < enrichedObjects.length; i++) {
        const one = find(record, enrichedObjects[i] as EnrichedObject, i);
        if (one === undefined) continue;
        added.push(one);
        if (one.text.hasMetadata) counts.matches++;
        if (one.text.open > 0 || !one.object.hasKnownNames) isPlain = false;
        if (i === 0) sourceIs = one.text.locality;
        else if (i === 1) destinationIs = one.text.locality;
      }
      const labels = labelsOf(record, added);
      if (added.length === 0 && labels.length === 0) return;
      const where = locality ? flowLocality(localities[sourceIs], localities[destinationIs]) : undefined;
      if (rendered === undefined || !isPlain) {
        // Metadata may write this name, too.
        if (where !== undefined) record.set(localityName, where);
        for (const [name, label] of labels) record.set(name, label);
        addFields(record, added);
        return;
      }
      for (const one of added) addRendered(record, one, rendered);
      if (where !== undefined) rendered.push(renderedLocalities[where]);
      if (labels.length > 0) rendered.push(renderFields(labels));
    },
  };
}

/** The ends of a flow. */
const ends = [lineObjects.src, lineObjects.dst].map((position) => enrichedObjects[position] as EnrichedObject);

/** Labels of the systems that the record names and that nothing else is known of. */
function labelsOf(record: RecordFields, added: readonly Added[]): [name: string, label: string][] {
  return ends.flatMap((object): [string, string][] => {
    const own = record.get(object.asNumberName);
    if (typeof own !== "number" || own <= 0) return [];
    const isKnown = added.some((one) => one.object === object && one.text.system === own);
    return isKnown ? [] : [[object.asLabelName, asLabel(own)]];
  });
}

/** Hands over all of it as bytes, except the number of a system in place of the record's 0. */
function addRendered(record: RecordFields, one: Added, rendered: RenderedFields[]): void {
  const { object, bytes, text } = one;
  const withVlan = text.fields + text.vlan;
  const own = text.organisation === 0 ? undefined : record.get(object.asNumberName);
  const isOwn = own === 0 || own === text.system;
  const system = own === undefined ? bytes.subarray(withVlan) : isOwn ? organisationOf(one) : none;
  if (text.vlan > 0 && record.has(object.vlanName)) rendered.push(bytes.subarray(0, text.fields), system);
  else if (own === undefined) rendered.push(bytes);
  else rendered.push(bytes.subarray(0, withVlan), system);
  if (own === 0) record.set(object.asNumberName, text.system);
}

/** What the exporter says of the system counts, unless it says 0; the organisation is named where both mean one number. */
function addSystem(record: RecordFields, one: Added): void {
  const { object, text } = one;
  if (text.organisation === 0) return;
  const own = record.get(object.asNumberName);
  if (text.system !== 0 && (own === undefined || own === 0)) record.set(object.asNumberName, text.system);
  else if (own !== undefined && own !== text.system) return;
  for (const [name, value] of parseFields(organisationOf(one))) record.set(name, value);
}

function organisationOf({ bytes, text }: Added): Uint8Array {
  const start = text.fields + text.vlan + text.number;
  return bytes.subarray(start, start + text.organisation);
}

/** The fields of a text but for the VLAN and the system. @param metadata takes those that are metadata. */
function readFields({ object, bytes, text }: Added, metadata: Field[]): Field[] {
  const fields: Field[] = [];
  for (const field of parseFields(bytes.subarray(0, text.fields))) {
    // Below an object, only metadata has names with segments that no decoder has.
    const [segment = ""] = field[0].slice(object.name.length + 1).split(".", 1);
    (decodedSegments.has(segment) ? fields : metadata).push(field);
  }
  const openAt = text.fields + text.vlan + text.number + text.organisation;
  metadata.push(...parseFields(bytes.subarray(openAt, openAt + text.open)));
  return fields;
}

function readVlan({ object, bytes, text }: Added): number | bigint | undefined {
  if (text.vlan === 0) return undefined;
  const start = text.fields + `,"${object.vlanName}":`.length;
  const vlan = BigInt(Buffer.from(bytes.subarray(start, text.fields + text.vlan)).toString("latin1"));
  return vlan <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(vlan) : vlan;
}

function parseFields(bytes: Uint8Array): Field[] {
  if (bytes.length === 0) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8", 1);
  return Object.entries(JSON.parse(`{${text}}`) as Readonly<Record<string, Value>>);
}

/** Reads the addresses of records. */
interface ReadAddress {
  readonly counts: { readonly badAddresses: number };
  /**
   * @param value a text or a list, of which the first counts.
   * @returns four words, IPv4 in its mapped form, which may be read until the next call; undefined when it is no address.
   */
  read(value: Value | undefined): Int32Array | undefined;
}

/** Texts of IPv6 addresses that are remembered, because reading one takes longer than all else. */
const maxRemembered = 1024;

/** @param log limited. */
export function createReadAddress(log: Log): ReadAddress {
  const counts = { badAddresses: 0 };
  const words = new Int32Array(4);
  const remembered = new Map<string, Int32Array>();
  return {
    counts,
    read(value) {
      const text = typeof value === "object" ? value[0] : value;
      if (typeof text !== "string") return undefined;
      const known = remembered.get(text);
      if (known !== undefined) return known;
      const address = parseAddress(text);
      if (address === undefined) {
        counts.badAddresses++;
        log.warn({ address: quote(text) }, "a record's address is not an IP address");
        return undefined;
      }
      setWords(words, unmapAddress(address));
      if (address.family === 6) {
        if (remembered.size >= maxRemembered) remembered.clear();
        remembered.set(text, words.slice());
      }
      return words;
    },
  };
}

const {
  headNumberLength,
  headOrganisationLength,
  headSystem,
  lengthMask,
  localityMask,
  localityShift,
  metadataBit,
  systemBit,
  textHead,
  withVlanShift,
} = addressLayout;

/** Adds what a table has of addresses to lines that are written without a record. */
interface LineAddresses extends AddressAdditions {
  /** Addresses whose metadata was added. */
  matches(): number;
}

/** @param isOn whether anything is known of any address. */
export function createLineAddresses(
  table: AddressTable,
  workspace: Workspace,
  locality: boolean,
  isOn: () => boolean,
): LineAddresses {
  const { view } = workspace;
  const { shown } = table;
  let matches = 0;
  /** Of the record under way: the numbers of its localities. */
  let sourceIs = 0;
  let destinationIs = 0;
  /** Whether metadata was found for its source: counted again where the record becomes fields. */
  let sourceMatches = 0;

  const giveUp = (): number => {
    matches -= sourceMatches;
    sourceMatches = 0;
    sourceIs = 0;
    destinationIs = 0;
    labels.fill(0);
    return -1;
  };

  /** Systems of both ends that nothing is known of, for their labels. */
  const labels = [0, 0];

  const put = (text: Uint8Array, into: DataView, end: number): number => {
    for (let i = 0; i < text.length; i++) into.setUint8(end + i, text[i] as number);
    return end + text.length;
  };

  const finish = (into: DataView, at: number): number => {
    const place = locality ? flowLocality(localities[sourceIs], localities[destinationIs]) : undefined;
    sourceIs = 0;
    destinationIs = 0;
    let end = place === undefined ? at : put(renderedLocalities[place], into, at);
    for (let i = 0; i < labels.length; i++) {
      const system = labels[i] as number;
      const { asLabelName } = enrichedObjects[i] as EnrichedObject;
      if (system > 0) end = put(renderFields([[asLabelName, asLabel(system)]]), into, end);
      labels[i] = 0;
    }
    return end;
  };

  return {
    maxLength: maxLineLength,
    append(object, from, at, length, hasVlan, into, end, system = -1) {
      if (!isOn()) return end;
      if (object < labels.length) labels[object] = system;
      const isIpv6 = length === 16;
      const place = table.find(
        object,
        isIpv6 ? from.getInt32(at) : 0,
        isIpv6 ? from.getInt32(at + 4) : 0,
        isIpv6 ? from.getInt32(at + 8) : 0xffff,
        from.getInt32(isIpv6 ? at + 12 : at),
      );
      const { words, arenaAt } = shown;
      const lengths = words[place + lengthsWord] as number;
      if (lengths === 0) {
        sourceMatches = 0;
        return end;
      }
      const start = arenaAt + (words[place + startWord] as number);
      const head = start - textHead;
      const hasSystem = (lengths & systemBit) !== 0;
      // What is open has to be placed among the fields of a record; a system of 0 has to be replaced where another is known.
      if (lengths < 0 || (system === 0 && hasSystem && view.getUint32(head + headSystem, true) !== 0)) return giveUp();
      const where = (lengths >> localityShift) & localityMask;
      const found = (lengths & metadataBit) === 0 ? 0 : 1;
      matches += found;
      sourceMatches = 0;
      if (object === lineObjects.src) {
        sourceIs = where;
        sourceMatches = found;
      } else if (object === lineObjects.dst) destinationIs = where;
      const withVlan = (lengths >> withVlanShift) & lengthMask;
      const text = hasVlan ? lengths & lengthMask : withVlan;
      copyWords(view, start, text, into, end);
      if (!hasSystem) return end + text;
      const isGiven = system !== -1;
      if (isGiven && system !== view.getUint32(head + headSystem, true)) return end + text;
      if (object < labels.length) labels[object] = 0;
      const number = view.getUint16(head + headNumberLength, true);
      const organisation = view.getUint16(head + headOrganisationLength, true);
      const added = isGiven ? organisation : number + organisation;
      copyWords(view, start + withVlan + (isGiven ? number : 0), added, into, end + text);
      return end + text + added;
    },
    finish,
    table: table.access,
    matches: () => matches,
  };
}

/**
 * Copies whole words of eight bytes, so up to seven more than asked for. As doubles, because integers of 64 bits are objects
 * here: the only bits that a double may lose are those of a NaN, which no text in UTF-8 has.
 */
function copyWords(from: DataView, start: number, length: number, into: DataView, end: number): void {
  for (let i = 0; i < length; i += 8) into.setFloat64(end + i, from.getFloat64(start + i, true), true);
}
