import {
  addressLayout,
  lineObjects,
  renderFields,
  type AddressAdditions,
  type Workspace,
} from "../../../record/index.ts";
import { lengthsWord, startWord } from "../table/address-slots.ts";
import type { AddressTable } from "../table/address-table.ts";
import { asLabel } from "../objects/as-label.ts";
import { enrichedObjects, type EnrichedObject } from "../objects/enriched-object.ts";
import { flowLocality, localities, renderedLocalities } from "../objects/locality.ts";
import { maxLineLength } from "../text/text-store.ts";

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
export interface LineAddresses extends AddressAdditions {
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
