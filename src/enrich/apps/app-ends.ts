import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { AppAdditions, Enricher, RecordFields } from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";
import { addressScope } from "../address/words/address-scope.ts";
import { setWords } from "../address/words/address-words.ts";
import { gatherValues, placeFields } from "../place-fields.ts";
import { createAppIndex, type FoundApp } from "./app-index.ts";
import { maxRendered } from "./read-app.ts";
import type { AppHost } from "./read-app-ends.ts";

export interface AppEndsOptions {
  /** Whether applications at private addresses, and at all others, count. */
  readonly privateAddresses: boolean;
  readonly publicAddresses: boolean;
  readonly metrics: Metrics;
}

/** Names applications by the address and port of an end of the flow. */
export interface AppEnds {
  /** Takes what a file says now. */
  use(hosts: readonly AppHost[]): void;
  /** Adds the fields. What the exporter says of the application counts before it. */
  readonly enricher: Enricher;
}

export function createAppEnds({ privateAddresses, publicAddresses, metrics }: AppEndsOptions): AppEnds {
  const counts = { named: 0, renamed: 0 };
  metrics.counterFrom(
    "netgloss_enrich_app_ends_total",
    "Flows whose application follows from address and port.",
    [],
    () => counts.named,
  );
  metrics.counterFrom(
    "netgloss_enrich_app_renamed_total",
    "Metadata of applications put under another name because the one asked for was in another's way.",
    [],
    () => counts.renamed,
  );

  const isWanted = (a: number, b: number, c: number, d: number): boolean =>
    addressScope(a, b, c, d) === "private" ? privateAddresses : publicAddresses;
  let index = createAppIndex([], isWanted);

  const words = new Int32Array(4);
  const findEnd = (record: RecordFields, end: string): FoundApp | undefined => {
    const text = record.get(`${end}.ip.addr`);
    const port = record.get(`${end}.l4.port.id`);
    if (typeof text !== "string" || typeof port !== "number") return undefined;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    setWords(words, unmapAddress(address));
    const [a, b, c, d] = words as unknown as readonly [number, number, number, number];
    return index.find(a, b, c, d, port);
  };

  const findIn = (from: DataView, at: number, length: number, port: number): FoundApp | undefined => {
    if (port < 0) return undefined;
    return length === 4
      ? index.find(0, 0, 0xffff, from.getInt32(at), port)
      : index.find(from.getInt32(at), from.getInt32(at + 4), from.getInt32(at + 8), from.getInt32(at + 12), port);
  };

  const additions: AppAdditions = {
    maxLength: maxRendered,
    ports: () => index.ports,
    find: (from, source, sourceLength, sourcePort, destination, destinationLength, destinationPort) =>
      better(
        findIn(from, destination, destinationLength, destinationPort),
        findIn(from, source, sourceLength, sourcePort),
      ),
    added: (records) => void (counts.named += records),
  };

  return {
    use(hosts) {
      index = createAppIndex(hosts, isWanted);
    },
    enricher: {
      lines: { begin() {}, numbers: [], apps: [additions], addresses: [] },
      enrich(record) {
        if (index.ports === undefined || record.has("app.name")) return;
        const best = better(findEnd(record, "flow.dst"), findEnd(record, "flow.src"));
        if (best === undefined) return;
        const { fields, metadata } = best.app;
        if (fields.length + metadata.length === 0) return;
        counts.named++;
        for (const [name, value] of fields) record.set(name, value);
        if (metadata.length > 0) counts.renamed += placeFields(record, gatherValues(metadata)).length;
      },
    },
  };
}

/** What the more specific address has; where both are equal, the destination's. */
function better(destination: FoundApp | undefined, source: FoundApp | undefined): FoundApp | undefined {
  if (destination === undefined) return source;
  return source !== undefined && source.rank < destination.rank ? source : destination;
}
