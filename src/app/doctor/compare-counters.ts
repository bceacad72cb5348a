import { seenAt, trafficKey, trafficMinuteMs, type SeenAt } from "../../flow/index.ts";
import type { DeviceCounters } from "../../snmp/index.ts";
import type { MeasuredExporter } from "./facts.ts";

/** One way of an interface over a window: what flows say, and what the device counted. */
export interface Comparison {
  readonly index: number;
  readonly name: string | undefined;
  readonly way: "in" | "out";
  /** The window, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** What flows say, with all that is added up. */
  readonly flows: FlowSums;
  /** Those of them that were seen on the way in, and on the way out. */
  readonly ingressBytes: number;
  readonly egressBytes: number;
  /** Whether all records say where they were seen. */
  readonly isDirectionKnown: boolean;
  /** What SNMP counted, in bytes of frames. */
  readonly counted: number;
  /** The same for the first and the second part of the window. */
  readonly parts: readonly { readonly flows: FlowSums; readonly counted: number }[];
}

export interface FlowSums {
  /** Multiplied by the sampling rate. */
  readonly bytes: number;
  readonly packets: number;
  /** As the records have them. */
  readonly rawBytes: number;
}

/** A shorter one says little: flows arrive when they end, or after the active timeout. */
const leastWindowMs = 5 * 60_000;
const mostWindowMs = 20 * 60_000;
/** Parts of the window are not shorter. */
const leastPartMs = 2 * 60_000;

type Reading = DeviceCounters["interfaces"][number]["readings"][number];
type Rows = ReadonlyMap<number, readonly [bytes: number, rawBytes: number, packets: number]>;

/**
 * Compares flows with counters, interface by interface, over the same time. An interface whose flows are not exported is left out: the way in
 * counts where the records say that flows were seen at that interface on the way in, or do not say where; the way out where they say it. So are
 * those with fewer than three readings over five minutes.
 *
 * @param now milliseconds since the epoch.
 */
export function compareCounters({ traffic, counters }: MeasuredExporter, now: number): Comparison[] {
  const minutes = traffic.minutes.map(({ start, isPartial, rows }) => ({ start, isPartial, rows: readRows(rows) }));
  const lastEnd = now - (now % trafficMinuteMs);

  /** What flows say of one key between two times; minutes at the edges count in part. */
  const sums = (key: number, from: number, to: number): FlowSums => {
    const total = { bytes: 0, rawBytes: 0, packets: 0 };
    for (const { start, rows } of minutes) {
      const share = (Math.min(to, start + trafficMinuteMs) - Math.max(from, start)) / trafficMinuteMs;
      const row = rows.get(key);
      if (share <= 0 || row === undefined) continue;
      total.bytes += share * row[0];
      total.rawBytes += share * row[1];
      total.packets += share * row[2];
    }
    return total;
  };

  const compareWay = (
    { index, name, readings }: DeviceCounters["interfaces"][number],
    way: "in" | "out",
  ): Comparison[] => {
    const counts = readings.flatMap((reading) => {
      const value = reading[way];
      return value === undefined || reading.at < traffic.since || reading.at > lastEnd
        ? []
        : [{ at: reading.at, value }];
    });
    const window = chooseWindow(counts);
    if (window === undefined) return [];
    const { first, middle, last } = window;
    const isCut = minutes.some(
      ({ start, isPartial }) => isPartial && start < last.at && start + trafficMinuteMs > first.at,
    );
    if (isCut) return [];
    const of = (seen: SeenAt, from = first.at, to = last.at): FlowSums =>
      sums(trafficKey({ index, way, seen }), from, to);
    const [unknown, ingress, egress] = [of(seenAt.unknown), of(seenAt.ingress), of(seenAt.egress)];
    const isExported = way === "in" ? unknown.bytes + ingress.bytes > 0 : egress.bytes > 0;
    if (!isExported) return [];
    const whole = (from: number, to: number): FlowSums =>
      addSums([of(seenAt.unknown, from, to), of(seenAt.ingress, from, to), of(seenAt.egress, from, to)]);
    return [
      {
        index,
        name,
        way,
        from: first.at,
        to: last.at,
        flows: addSums([unknown, ingress, egress]),
        ingressBytes: ingress.bytes,
        egressBytes: egress.bytes,
        isDirectionKnown: unknown.bytes === 0,
        counted: last.value - first.value,
        parts: [
          { flows: whole(first.at, middle.at), counted: middle.value - first.value },
          { flows: whole(middle.at, last.at), counted: last.value - middle.value },
        ],
      },
    ];
  };

  return counters.interfaces.flatMap((of) => [...compareWay(of, "in"), ...compareWay(of, "out")]);
}

type Count = { readonly at: Reading["at"]; readonly value: number };

/** The longest time up to the last reading that is not too long, and the reading nearest to its middle; undefined when it is too short. */
function chooseWindow(
  counts: readonly Count[],
): { readonly first: Count; readonly middle: Count; readonly last: Count } | undefined {
  const last = counts.at(-1);
  const first = counts.find(({ at }) => last !== undefined && at >= last.at - mostWindowMs);
  if (first === undefined || last === undefined || last.at - first.at < leastWindowMs) return undefined;
  const centre = (first.at + last.at) / 2;
  const [middle] = counts
    .filter(({ at }) => at >= first.at + leastPartMs && at <= last.at - leastPartMs)
    .toSorted((a, b) => Math.abs(a.at - centre) - Math.abs(b.at - centre));
  return middle && { first, middle, last };
}

function readRows(rows: Float64Array): Rows {
  const byKey = new Map<number, readonly [number, number, number]>();
  for (let at = 0; at < rows.length; at += 4) {
    const [key = 0, bytes = 0, rawBytes = 0, packets = 0] = rows.subarray(at, at + 4);
    byKey.set(key, [bytes, rawBytes, packets]);
  }
  return byKey;
}

function addSums(sums: readonly FlowSums[]): FlowSums {
  const total = { bytes: 0, rawBytes: 0, packets: 0 };
  for (const { bytes, rawBytes, packets } of sums) {
    total.bytes += bytes;
    total.rawBytes += rawBytes;
    total.packets += packets;
  }
  return total;
}
