import { quoteKey, type Address } from "../ip/index.ts";
import {
  createWorkspace,
  createWorkspaceMemory,
  type Enricher,
  type RecordFields,
  type Value,
  type Workspace,
} from "../record/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../report/index.ts";
import type { AddressIndex, AddressRange } from "../udm/index.ts";
import { addressScope, type AddressScope } from "./address-scope.ts";
import { endpointObjects, type AddressSource } from "./address-source.ts";
import {
  addFields,
  addMetadata,
  addRendered,
  createMetadataNames,
  makeAdditions,
  type Additions,
} from "./additions.ts";
import { addressTableBytes, createAddressTable } from "./address-table.ts";
import { addressOf } from "./address-words.ts";
import { createChangeHistory } from "./change-history.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { flowLocality, localityName, renderedLocalities, type Locality } from "./locality.ts";
import { gatherValues, placeFields, type Renamed } from "./place-fields.ts";
import type { MadeAdditions } from "./stored-additions.ts";
import { createKnownAddresses, type CurrentMetadata } from "./known-addresses.ts";
import { registerAddressMetrics } from "./address-metrics.ts";
import { createTextAdditions } from "./text-additions.ts";

/**
 * Calls the listener with what is known now, if anything is, and with another object after each change, together with where
 * that may differ from what was told before; undefined: anywhere.
 *
 * @returns a function that ends it.
 */
export type WatchAddresses = (listener: (index: AddressIndex, changed?: readonly AddressRange[]) => void) => () => void;

export interface AddressEnricherOptions {
  /** The metadata; undefined when there is none. */
  readonly watch?: WatchAddresses | undefined;
  /** What else is asked about addresses. */
  readonly sources?: readonly AddressSource[];
  /** Whether records are told where their addresses are: `.locality` of source and destination, `flow.locality`. */
  readonly locality?: boolean;
  /** How long what is known of an address is used before it is looked up again. Zero: for one look-up. */
  readonly ttlMs: number;
  /** Whether a change of the metadata shows at once. Otherwise it shows when what is cached has reached its age. */
  readonly invalidate: boolean;
  /** Most addresses to keep. */
  readonly maxCached: number;
  /** Where its table is to lie, with room for {@link addressTableBytes}. Left out: in one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Follows the store and the sources from `start` to `stop`; records that come before the store's first state go without it. */
export type AddressEnricher = Enricher & Component;

/**
 * Puts user-defined metadata on the addresses of a record: `flow.src`, `flow.dst`, `flow.export` and `system`, each by
 * its `.ip.addr`. Where an address is a list, its first is looked up; an IPv4-mapped address is looked up as IPv4.
 * {@link makeAdditions} says what is added, {@link placeFields} what happens to names that get in each other's way.
 */
export function createAddressEnricher(options: AddressEnricherOptions): AddressEnricher {
  const { ttlMs, invalidate, sources = [], locality = false, clock } = options;
  const log = limitLog(options.log, clock);
  const nameOf = createMetadataNames();
  const counts = { renamed: 0 };
  const metadata: CurrentMetadata = { index: undefined, stamp: 0, history: createChangeHistory() };
  const scopeIn = (object: EnrichedObject, address: Address | undefined): AddressScope | undefined =>
    locality && address && endpointObjects.has(object.name) ? addressScope(address) : undefined;
  const known = createKnownAddresses({ ...options, metadata, sources, scopeIn, nameOf, log });
  const workspace = options.workspace ?? createWorkspace(createWorkspaceMemory(addressTableBytes(options.maxCached)));
  const table = createAddressTable({
    workspace,
    locality,
    maxCached: options.maxCached,
    ttlMs,
    lastChange: (a, b, c, d) => metadata.history.last(a, b, c, d),
    make(position, a, b, c, d) {
      const object = enrichedObjects[position] as EnrichedObject;
      const made = sources.length > 0 ? undefined : fromTexts(position, object, a, b, c, d);
      if (made !== undefined) return made;
      const address = addressOf(a, b, c, d);
      const entries = metadata.index?.covering(address) ?? [];
      const facts = sources.flatMap((source) => (source.objects.has(object.name) ? [source.facts(address)] : []));
      const additions = makeAdditions({ entries, facts, scope: scopeIn(object, address) }, object, nameOf);
      const validMs = facts.reduce((least, fact) => Math.min(least, fact.validMs ?? least), Number.POSITIVE_INFINITY);
      if (additions === undefined) return { rendered: null, hasMetadata: false, validMs };
      const { isPlain, rendered = null, hasMetadata, as: system, locality: where } = additions;
      return { rendered: isPlain ? rendered : undefined, hasMetadata, system, locality: where, validMs };
    },
  });
  registerAddressMetrics(options.metrics, known, table, counts);
  const knowsMore = locality || sources.length > 0;
  let unwatch: (() => void)[] = [];

  const textAdditions = createTextAdditions();
  /** The short way, of what needs no objects. */
  const fromTexts = (
    position: number,
    object: EnrichedObject,
    a: number,
    b: number,
    c: number,
    d: number,
  ): MadeAdditions | undefined => {
    const scope = locality ? scopeIn(object, addressOf(a, b, c, d)) : undefined;
    return metadata.index?.texts(a, b, c, d, (texts) => textAdditions(position, texts, scope));
  };

  const noteChange = (changed: readonly AddressRange[] | undefined): void => {
    metadata.stamp++;
    metadata.history.note(metadata.stamp, changed);
  };

  const addCarefully = (record: RecordFields, found: readonly Additions[]): void => {
    const renamed: Renamed[] = [];
    for (const additions of found) {
      if (additions.hasKnownNames) addFields(record, additions);
      else renamed.push(...placeFields(record, openFields(record, additions)));
    }
    renamed.push(...placeFields(record, gatherValues(found.flatMap((additions) => additions.metadata))));
    counts.renamed += renamed.length;
    for (const { name, as } of renamed) {
      log.warn({ name: quoteKey(name), as: quoteKey(as) }, "a metadata key is in the way of another name of a record");
    }
  };

  return {
    name: "address enricher",
    async start() {
      unwatch = sources.map((source) =>
        source.watch((address) => {
          if (address === undefined) noteChange(undefined);
          else {
            known.forget(address);
            table.forget(address);
          }
        }),
      );
      if (options.watch === undefined) return;
      unwatch.push(
        options.watch((current, changed) => {
          if (current === metadata.index) return;
          // What was made before there was any metadata would else stay without it for as long as it is kept.
          if (invalidate || metadata.index === undefined) noteChange(metadata.index && changed);
          metadata.index = current;
        }),
      );
    },
    async stop() {
      for (const end of unwatch) end();
      unwatch = [];
    },
    lines: {
      begin: () => table.setTime(clock.monotonic(), metadata.stamp, metadata.index !== undefined || knowsMore),
      workspace,
      numbers: [],
      addresses: [
        {
          maxLength: table.maxLength,
          touch: (object, from, at, length, stride, count) => table.touch(object, from, at, length, stride, count),
          append: (object, from, at, length, hasVlan, into, end, system) =>
            metadata.index === undefined && !knowsMore
              ? end
              : table.append(object, from, at, length, hasVlan, into, end, system),
          finish: locality ? (into, end) => table.finish(into, end) : undefined,
          table: table.access,
        },
      ],
    },
    enrich(record, rendered) {
      if (metadata.index === undefined && !knowsMore) return;
      const now = clock.monotonic();
      // All addresses are read before anything is added: metadata may write any name, those of addresses too.
      const found: Additions[] = [];
      let isPlain = true;
      let sourceIs: Locality | undefined;
      let destinationIs: Locality | undefined;
      for (let i = 0; i < enrichedObjects.length; i++) {
        const object = enrichedObjects[i] as EnrichedObject;
        const text = addressText(record.get(object.addressName));
        if (text === undefined) continue;
        const additions = known.additions(text, object, i, now);
        if (additions === null) continue;
        found.push(additions);
        isPlain &&= additions.isPlain;
        if (i === 0) sourceIs = additions.locality;
        else if (i === 1) destinationIs = additions.locality;
      }
      const place = locality ? flowLocality(sourceIs, destinationIs) : undefined;
      if (!isPlain) {
        // Metadata may write this name, too.
        if (place !== undefined) record.set(localityName, place);
        addCarefully(record, found);
        return;
      }
      for (const additions of found) {
        if (rendered !== undefined && additions.rendered !== undefined) {
          addRendered(record, additions, additions.rendered, rendered);
        } else {
          addFields(record, additions);
          addMetadata(record, additions);
        }
      }
      if (place === undefined) return;
      if (rendered !== undefined) rendered.push(renderedLocalities[place]);
      else record.set(localityName, place);
    },
  };
}

function openFields(record: RecordFields, { fields, vlan }: Additions): Map<string, Value> {
  return new Map(vlan === undefined || record.has(vlan[0]) ? fields : [...fields, vlan]);
}

function addressText(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) && typeof value[0] === "string" ? value[0] : undefined;
}
