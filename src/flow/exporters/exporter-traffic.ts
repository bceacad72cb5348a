import type { MemoryShare } from "./limits.ts";

/** A sample of the flows that an exporter reported in a span of time. Exporters sample the same flows, so that samples can be compared. */
export interface SketchWindow {
  /** When it began, milliseconds since the epoch: a multiple of {@link sketchWindowMs}. */
  readonly start: number;
  /** The least of the upper bits of the hash, by its lower bits; {@link noFlow} where there was none. */
  readonly least: Uint32Array;
  /** In which directions that flow was seen: 1 ingress, 2 egress, 3 both, 0 where records do not say. */
  readonly directions: Uint8Array;
}

export const sketchWindowMs = 10 * 60_000;
const sketchCells = 256;
/** The number of values; none is as large. */
export const noFlow = 2 ** 24;
/** The memory that it holds, in bytes. */
const flowSketchCost = 2 * 5 * sketchCells + 400;

/** A sketch of what an exporter reported lately: a table of fixed size for each of two spans of time. */
export class FlowSketch {
  #current = createWindow(0);
  #before = createWindow(0);

  /** @param hash of 32 bits, @param directions as {@link SketchWindow.directions}, @param at milliseconds since the epoch. */
  note(hash: number, directions: number, at: number): void {
    const start = at - (at % sketchWindowMs);
    if (start !== this.#current.start) {
      const isNext = start === this.#current.start + sketchWindowMs;
      this.#before = isNext ? this.#current : createWindow(0);
      this.#current = createWindow(start);
    }
    const { least, directions: seen } = this.#current;
    const cell = hash & (sketchCells - 1);
    const value = hash >>> 8;
    const known = least[cell] as number;
    if (value > known) return;
    seen[cell] = value === known ? (seen[cell] as number) | directions : directions;
    least[cell] = value;
  }

  /** A copy, the latest first. */
  windows(): SketchWindow[] {
    return [this.#current, this.#before].filter(({ start }) => start > 0).map((window) => structuredClone(window));
  }
}

function createWindow(start: number): SketchWindow {
  return { start, least: new Uint32Array(sketchCells).fill(noFlow), directions: new Uint8Array(sketchCells) };
}

/** The traffic that passed the interfaces of an exporter within a minute, as flows say. */
export interface TrafficMinute {
  /** Milliseconds since the epoch: a multiple of {@link trafficMinuteMs}. Flows count when they are received. */
  readonly start: number;
  /** True if interfaces may be missing, because there were too many. */
  readonly isPartial: boolean;
  /** Four numbers for each: {@link trafficKey}, estimated bytes, bytes as exported, estimated packets. */
  readonly rows: Float64Array;
}

/** The traffic that passed the interfaces of an exporter lately, as a copy. */
export interface ExporterTraffic {
  readonly address: string;
  /** Traffic before this time was not added up, milliseconds since the epoch. */
  readonly since: number;
  /** In the order of time. Those without flows are missing. */
  readonly minutes: readonly TrafficMinute[];
}

/** The direction in which flows were seen by what their records say (flowDirection): not said, on the way in, on the way out. */
export const seenAt = { unknown: 0, ingress: 1, egress: 2 } as const;
export type SeenAt = (typeof seenAt)[keyof typeof seenAt];

export const trafficMinuteMs = 60_000;
/** The number of minutes that are kept. */
const keptMinutes = 30;
/** The memory of a row; and what a minute takes besides. */
const rowBytes = 32;
const minuteBytes = 250;

/**
 * A key as a number: a bit for the way, two for where it was seen.
 *
 * @param index ifIndex of an interface. @param way whether the bytes came in or went out by it.
 */
export function trafficKey(index: number, way: "in" | "out", seen: SeenAt): number {
  return 8 * index + (way === "out" ? 4 : 0) + seen;
}

/** The last minutes of one exporter. */
export class InterfaceTraffic {
  /** Milliseconds since the epoch. */
  readonly since: number;
  minutes: readonly TrafficMinute[] = [];
  /** Bytes of memory that it takes. */
  heldBytes = 0;

  constructor(since: number) {
    this.since = since;
  }

  /** @returns bytes of memory that it takes more than before. */
  add(minute: TrafficMinute): number {
    const before = this.heldBytes;
    const oldest = minute.start - (keptMinutes - 1) * trafficMinuteMs;
    // A clock that was set back begins again.
    this.minutes = [...this.minutes.filter(({ start }) => start >= oldest && start < minute.start), minute];
    this.heldBytes = this.minutes.reduce((sum, { rows }) => sum + minuteBytes + (rowBytes * rows.length) / 4, 0);
    return this.heldBytes - before;
  }
}

/** Recent traffic of an exporter: a sample of its flows, and the bytes that passed its interfaces. */
export class RecentTraffic {
  readonly #memory: MemoryShare;
  /** Made with the first flow of the sample. */
  #sketch: FlowSketch | undefined;
  #interfaces: InterfaceTraffic | undefined;

  constructor(memory: MemoryShare) {
    this.#memory = memory;
  }

  /** Takes a flow of the sample by which exporters are compared, see {@link FlowSketch.note}. */
  sketchFlow(hash: number, directions: number, at: number): void {
    if (this.#sketch === undefined) {
      this.#sketch = new FlowSketch();
      this.#memory.add(flowSketchCost);
    }
    this.#sketch.note(hash, directions, at);
  }

  /** Returns that sample, of the latest time first. */
  sketch(): SketchWindow[] {
    return this.#sketch?.windows() ?? [];
  }

  /** Takes what passed the interfaces in a minute. @param since when that began to be added up, if it is the first. */
  add(minute: TrafficMinute, since: number): void {
    this.#interfaces ??= new InterfaceTraffic(since);
    this.#memory.add(this.#interfaces.add(minute));
  }

  /** Returns what passed the interfaces; undefined where that is not measured. */
  interfaces(): Omit<ExporterTraffic, "address"> | undefined {
    return this.#interfaces && { since: this.#interfaces.since, minutes: this.#interfaces.minutes };
  }

  forget(): void {
    if (this.#sketch !== undefined) this.#memory.add(-flowSketchCost);
    if (this.#interfaces !== undefined) this.#memory.add(-this.#interfaces.heldBytes);
    this.#sketch = undefined;
    this.#interfaces = undefined;
  }
}
