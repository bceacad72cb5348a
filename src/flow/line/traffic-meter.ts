import type { Workspace } from "../../record/index.ts";
import type { Exporter } from "../exporters/exporter.ts";
import { trafficMinuteMs } from "../exporters/exporter-traffic.ts";
import * as layout from "../kernel/layout.gen.ts";

const wordsOfCell = layout.trafficCell / 8;
/** Between the number of an exporter and the key of its interface. */
const numberUnit = 2 ** layout.trafficKeyShift;
const two32 = 2 ** 32;
const mostWaitedMs = 5 * 60_000;

/** Takes by minute what flows say passed the interfaces of exporters; the kernel adds it up. */
export class TrafficMeter {
  readonly #view: DataView;
  readonly #cells: Float64Array;
  readonly #isMeasured: ((address: string) => boolean) | undefined;
  /** The exporters of this minute: their numbers, 0 where they are not measured. */
  readonly #numbers = new Map<Exporter, number>();
  /** Since when those that are new are measured. */
  #newSince = 0;
  #minute = 0;
  #current: Exporter | undefined;
  #number = 0;
  #lost = 0;

  /** @param isMeasured whether the interfaces of an exporter, given by its address, are measured. Asked once a minute. Undefined: those of none. */
  constructor({ view, memory }: Workspace, isMeasured: ((address: string) => boolean) | undefined) {
    this.#view = view;
    this.#cells = new Float64Array(memory.buffer, layout.trafficTable, layout.trafficCells * wordsOfCell);
    this.#isMeasured = isMeasured;
  }

  /** Ends a minute that is over. To be called before each datagram, and before what was measured is read. @param now milliseconds since the epoch. */
  at(now: number): void {
    if (this.#isMeasured === undefined) return;
    // Datagrams may have waited: a little earlier counts as now. A clock that was set back does not.
    if (now >= this.#minute + trafficMinuteMs || now < this.#minute - mostWaitedMs) this.#endMinute(now);
  }

  /** Says whose flows come next. */
  use(exporter: Exporter): void {
    if (this.#isMeasured === undefined || exporter === this.#current) return;
    this.#current = exporter;
    let known = this.#numbers.get(exporter);
    if (known === undefined) {
      known = this.#isMeasured(exporter.address) ? this.#numbers.size + 1 : 0;
      this.#numbers.set(exporter, known);
    }
    if (known !== this.#number) this.#view.setUint32(layout.trafficExporter, known, true);
    this.#number = known;
  }

  /** @returns how many additions there was no room for. */
  lost(): number {
    return this.#lost + this.#view.getUint32(layout.trafficLost, true);
  }

  #endMinute(now: number): void {
    const missed = this.#view.getUint32(layout.trafficLost, true);
    this.#view.setUint32(layout.trafficLost, 0, true);
    this.#lost += missed;
    const isPartial = missed > 0;
    const rows = this.#numbers.size === 0 ? new Map<number, number[]>() : this.#takeRows();
    for (const [exporter, of] of this.#numbers) {
      if (of === 0) continue;
      const since = Math.max(this.#newSince, exporter.firstSeen);
      exporter.addTraffic({ start: this.#minute, isPartial, rows: Float64Array.from(rows.get(of) ?? []) }, since);
    }
    this.#numbers.clear();
    this.#current = undefined;
    this.#minute = now - (now % trafficMinuteMs);
    this.#newSince = now;
  }

  /** Takes all that was added up, by the numbers of exporters, and empties the cells. */
  #takeRows(): ReadonlyMap<number, number[]> {
    const rows = new Map<number, number[]>();
    for (let cell = 0; cell < layout.trafficCells; cell++) {
      const at = layout.trafficTable + layout.trafficCell * cell;
      const key = this.#view.getUint32(at + 4, true) * two32 + this.#view.getUint32(at, true);
      if (key === 0) continue;
      const [, bytes = 0, raw = 0, packets = 0] = this.#cells.subarray(wordsOfCell * cell, wordsOfCell * (cell + 1));
      const of = Math.floor(key / numberUnit);
      const taken = rows.get(of) ?? [];
      rows.set(of, taken);
      taken.push(key - of * numberUnit, bytes, raw, packets);
    }
    this.#cells.fill(0);
    return rows;
  }
}
