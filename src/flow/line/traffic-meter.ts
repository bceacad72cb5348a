import type { Workspace } from "../../record/index.ts";
import type { Exporter } from "../exporters/exporter.ts";
import { trafficMinuteMs } from "../exporters/exporter-traffic.ts";
import * as layout from "../kernel/layout.gen.ts";

/** Takes by minute what flows say passed the interfaces of exporters; the kernel adds it up. */
export interface TrafficMeter {
  /** Ends a minute that is over. To be called before each datagram, and before what was measured is read. @param now milliseconds since the epoch. */
  at(now: number): void;
  /** Whose flows come next. */
  use(exporter: Exporter): void;
  /** How many additions there was no place for. */
  lost(): number;
}

export interface TrafficMeterOptions {
  readonly workspace: Workspace;
  /** Whether the interfaces of an exporter, given by its address, are measured. Asked once a minute. Left out: those of none. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
}

const wordsOfCell = layout.trafficCell / 8;
/** Between the number of an exporter and the key of its interface. */
const numberUnit = 2 ** layout.trafficKeyShift;
const two32 = 2 ** 32;
const mostWaitedMs = 5 * 60_000;

export function createTrafficMeter({ workspace, isMeasured }: TrafficMeterOptions): TrafficMeter {
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
    return rows;
  };

  const end = (now: number): void => {
    const missed = view.getUint32(layout.trafficLost, true);
    view.setUint32(layout.trafficLost, 0, true);
    lost += missed;
    const isPartial = missed > 0;
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
    lost: () => lost + view.getUint32(layout.trafficLost, true),
  };
}
