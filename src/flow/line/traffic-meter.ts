import type { RecordFields, Value, Workspace } from "../../record/index.ts";
import type { CounterNames } from "../elements/mapping/counter-names.ts";
import type { Exporter } from "../exporters/exporter.ts";
import { seenAt, trafficKey, trafficMinuteMs, type SeenAt } from "../exporters/exporter.ts";
import * as layout from "../kernel/layout.ts";

/** Adds up by minute what flows say passed the interfaces of exporters. The kernel does it for the lines that it writes. */
export interface TrafficMeter {
  /** Ends a minute that is over. To be called before each datagram, and before what was measured is read. @param now milliseconds since the epoch. */
  at(now: number): void;
  /** Whose flows come next. */
  use(exporter: Exporter): void;
  /** Takes a flow of that exporter that the kernel did not write. */
  note(record: RecordFields): void;
  /** How many additions there was no place for. */
  lost(): number;
}

export interface TrafficMeterOptions {
  readonly workspace: Workspace;
  readonly counters: CounterNames;
  /** Whether the interfaces of an exporter, given by its address, are measured. Asked once a minute. Left out: those of none. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
}

const wordsOfCell = layout.trafficCell / 8;
/** Between the number of an exporter and the key of its interface. */
const numberUnit = 2 ** layout.trafficKeyShift;
const two32 = 2 ** 32;
const mostWaitedMs = 5 * 60_000;

export function createTrafficMeter({ workspace, counters, isMeasured }: TrafficMeterOptions): TrafficMeter {
  const { view } = workspace;
  const length = layout.trafficCells * wordsOfCell;
  const cells = new Float64Array(workspace.memory.buffer, layout.trafficTable, length);
  /** Those of this minute: their numbers, 0 where they are not measured. */
  const numbers = new Map<Exporter, number>();
  /** Since when those that are new are measured. */
  let newSince = 0;
  let minute = 0;
  let current: Exporter | undefined;
  let number = 0;
  let lost = 0;
  let isFull = false;
  /** What the kernel did not see: estimated bytes, bytes as exported, packets, by the key of the kernel. */
  const others = new Map<number, [number, number, number]>();

  const setNumber = (next: number): void => {
    if (next !== number) view.setUint32(layout.trafficExporter, next, true);
    number = next;
  };

  /** All that was added up, by the numbers of exporters, and emptied. */
  const takeRows = (): ReadonlyMap<number, number[]> => {
    const rows = new Map<number, number[]>();
    const put = (key: number, values: readonly [number, number, number]): void => {
      const of = Math.floor(key / numberUnit);
      const taken = rows.get(of) ?? [];
      rows.set(of, taken);
      taken.push(key - of * numberUnit, ...values);
    };
    for (let cell = 0; cell < layout.trafficCells; cell++) {
      const at = layout.trafficTable + layout.trafficCell * cell;
      const low = view.getUint32(at, true);
      const high = view.getUint32(at + 4, true);
      if (low === 0 && high === 0) continue;
      const [, bytes = 0, raw = 0, packets = 0] = cells.subarray(wordsOfCell * cell, wordsOfCell * (cell + 1));
      put(high * two32 + low, [bytes, raw, packets]);
    }
    cells.fill(0);
    for (const [key, values] of others) put(key, values);
    others.clear();
    return rows;
  };

  const end = (now: number): void => {
    const missed = view.getUint32(layout.trafficLost, true);
    view.setUint32(layout.trafficLost, 0, true);
    lost += missed;
    const isPartial = missed > 0 || isFull;
    isFull = false;
    const rows = numbers.size === 0 ? new Map<number, number[]>() : takeRows();
    for (const [exporter, of] of numbers) {
      if (of === 0) continue;
      const found = rows.get(of);
      exporter.addTraffic(
        { start: minute, isPartial, rows: Float64Array.from(found ?? []) },
        Math.max(newSince, exporter.firstSeen),
      );
    }
    numbers.clear();
    current = undefined;
    minute = now - (now % trafficMinuteMs);
    newSince = now;
  };

  const add = (index: Value | undefined, way: "in" | "out", seen: SeenAt, values: readonly number[]): void => {
    if (typeof index !== "number" || index <= 0 || index >= two32) return;
    const key = number * numberUnit + trafficKey({ index, way, seen });
    const sums = others.get(key);
    if (sums !== undefined) values.forEach((value, i) => (sums[i] = (sums[i] as number) + value));
    else if (others.size < layout.trafficCells) others.set(key, [...values] as [number, number, number]);
    else {
      isFull = true;
      lost++;
    }
  };

  return {
    at(now) {
      if (isMeasured === undefined) return;
      // Datagrams may have waited: a little earlier counts as now. A clock that was set back does not.
      if (now >= minute + trafficMinuteMs || now < minute - mostWaitedMs) end(now);
    },
    use(exporter) {
      if (isMeasured === undefined || exporter === current) return;
      current = exporter;
      let known = numbers.get(exporter);
      if (known === undefined) {
        known = isMeasured(exporter.address) ? numbers.size + 1 : 0;
        numbers.set(exporter, known);
      }
      setNumber(known);
    },
    note(record) {
      if (number === 0) return;
      const said = record.get("flow.direction.name");
      const seen = said === "ingress" ? seenAt.ingress : said === "egress" ? seenAt.egress : seenAt.unknown;
      const [input, output] = [record.get("flow.in.netif.index"), record.get("flow.out.netif.index")];
      const known = record.get("flow.sample_rate");
      const rate = typeof known === "number" ? known : 1;
      const addBoth = (from: typeof input, to: typeof input, octets: number, packets: number): void => {
        if (octets <= 0) return;
        const values = [octets * rate, octets, Math.max(0, packets) * rate];
        add(from, "in", seen, values);
        add(to, "out", seen, values);
      };
      const { bytes, packets, reverseBytes, reversePackets } = counters;
      const of = (name: { readonly exported: string }): number => numberOf(record.get(name.exported));
      addBoth(input, output, of(bytes), of(packets));
      addBoth(output, input, of(reverseBytes), of(reversePackets));
    },
    lost: () => lost + view.getUint32(layout.trafficLost, true),
  };
}

function numberOf(value: Value | undefined): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}
