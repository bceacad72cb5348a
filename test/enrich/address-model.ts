import { setWords } from "../../src/enrich/address/address-limbs.ts";
import { parseAddress, unmapAddress } from "../../src/base/ip/index.ts";
import { gatherValues, placeFields } from "../../src/enrich/place-fields.ts";
import { decodedSegments, type RecordFields, type Value } from "../../src/record/index.ts";
import type { UdmIndex } from "../../src/metadata/index.ts";
import type { AddressSource } from "../../src/enrich/index.ts";
import { collectFacts } from "../support/address-facts.ts";
import { mergeEntries } from "./merge-entries.ts";

/** The objects that are enriched, and what their addresses are. */
const objects = [
  ["flow.src", "endpoint"],
  ["flow.dst", "endpoint"],
  ["flow.export", "exporter"],
  ["system", "exporter"],
] as const;

/** Enriches a record by the rules as they are written down, entry by entry and field by field. */
export function modelEnrich(
  record: RecordFields,
  index: Pick<UdmIndex, "covering">,
  sources: readonly AddressSource[],
): void {
  const metadata: [string, Value][] = [];
  const found = objects.flatMap(([object, context]) => {
    const text = record.get(`${object}.ip.addr`);
    const address = typeof text === "string" ? parseAddress(text) : undefined;
    if (address === undefined) return [];
    const plain = unmapAddress(address);
    const words = new Int32Array(4);
    setWords(words, plain);
    const [a = 0, b = 0, c = 0, d = 0] = words;
    const facts = sources
      .filter((source) => source.objects.has(object))
      .map((source) => {
        const collected = collectFacts();
        source.find(a, b, c, d, collected.found);
        return collected.facts();
      });
    const applying = index.covering(plain).filter(({ fileOnly }) => fileOnly?.contexts?.includes(context) ?? true);
    return [{ object, merged: mergeEntries(applying), facts }];
  });
  for (const { object, merged, facts } of found) {
    const fields: [string, Value][] = [];
    if (merged.name !== "") fields.push([`${object}.ip.subnet.name`, merged.name]);
    if (merged.tags.length > 0) fields.push([`${object}.ip.subnet.tags`, merged.tags]);
    if (merged.internal) fields.push([`${object}.isInternal`, true]);
    for (const [suffix, value] of facts.flatMap((one) => one.fields)) fields.push([object + suffix, value]);
    const vlan = `${object}.vlan.tag.id`;
    if (merged.vlan !== 0n && !record.has(vlan)) {
      fields.push([vlan, merged.vlan <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(merged.vlan) : merged.vlan]);
    }
    if (object === "system") placeFields(record, new Map(fields));
    else for (const [name, value] of fields) record.set(name, value);
    const as = facts.find((one) => one.as !== undefined)?.as;
    const own = record.get(`${object}.as.asn`);
    if (as !== undefined && (own === undefined || own === 0 || own === as.number)) {
      record.set(`${object}.as.asn`, as.number);
      if (as.organisation !== undefined) record.set(`${object}.as.org`, as.organisation);
      record.set(
        `${object}.as.label`,
        as.organisation === undefined ? `AS${as.number}` : `${as.organisation} (${as.number})`,
      );
    }
    for (const [key, value] of merged.metadata) metadata.push([key.startsWith(".") ? object + key : key, value]);
  }
  for (const object of ["flow.src", "flow.dst"]) {
    const own = record.get(`${object}.as.asn`);
    if (typeof own === "number" && own > 0 && !record.has(`${object}.as.label`))
      record.set(`${object}.as.label`, `AS${own}`);
  }
  placeFields(record, gatherValues(metadata));
}

/** Whether a key can never meet another name of a record. */
export function isPlainKey(key: string): boolean {
  return key.startsWith(".") && !decodedSegments.has(key.split(".")[1] as string);
}
