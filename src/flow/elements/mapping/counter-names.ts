import type { ElementName, ElementNames, ElementSource } from "./element-names.ts";

/** The names of a counter of a record as it was exported, and of the estimate of what really passed. */
export interface CounterName {
  readonly exported: string;
  readonly estimate: string;
}

/** The counters that are multiplied by the sampling rate. */
export interface CounterNames {
  readonly bytes: CounterName;
  readonly packets: CounterName;
  readonly reverseBytes: CounterName;
  readonly reversePackets: CounterName;
}

/** The field that says what the bytes of a flow are the length of. */
export const bytesLayer = "flow.bytes_layer";
/** The layer of bytes that are no counters: of a frame, or of an IP packet. */
export type BytesLayer = "l2" | "l3";

/** The plain names are those of the counters as exported. */
export const plainCounters: CounterNames = {
  bytes: { exported: "flow.bytes", estimate: "flow.scaled.bytes" },
  packets: { exported: "flow.packets", estimate: "flow.scaled.packets" },
  reverseBytes: { exported: "flow.reverse.bytes", estimate: "flow.reverse.scaled.bytes" },
  reversePackets: { exported: "flow.reverse.packets", estimate: "flow.reverse.scaled.packets" },
};

/** The plain names are those of the estimates. */
export const scaledCounters: CounterNames = {
  bytes: { exported: "flow.raw.bytes", estimate: "flow.bytes" },
  packets: { exported: "flow.raw.packets", estimate: "flow.packets" },
  reverseBytes: { exported: "flow.reverse.raw.bytes", estimate: "flow.reverse.bytes" },
  reversePackets: { exported: "flow.reverse.raw.packets", estimate: "flow.reverse.packets" },
};

const keys = ["bytes", "packets", "reverseBytes", "reversePackets"] as const;

/** All counters: those of the flow, then those of the reverse direction of a biflow. */
export function eachCounter(counters: CounterNames): readonly CounterName[] {
  return keys.map((key) => counters[key]);
}

/** A source whose elements have the names of counters as they are exported. */
export function nameCounters(source: ElementSource, counters: CounterNames): ElementSource {
  if (counters === plainCounters) return source;
  const renamed = new Map(keys.map((key) => [plainCounters[key].exported, counters[key].exported]));
  const rename = (of: ElementName): ElementName => ({ ...of, name: renamed.get(of.name) ?? of.name });
  return {
    names(pen, id): ElementNames {
      const found = source.names(pen, id);
      return found.names.some(({ name }) => renamed.has(name)) ? { ...found, names: found.names.map(rename) } : found;
    },
    type: (pen, id) => source.type(pen, id),
  };
}
