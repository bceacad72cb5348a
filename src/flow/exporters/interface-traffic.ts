/** What flows say passed the interfaces of an exporter within a minute. */
export interface TrafficMinute {
  /** Milliseconds since the epoch: a multiple of {@link trafficMinuteMs}. Flows count when they are received. */
  readonly start: number;
  /** Whether interfaces may be missing, because there were too many. */
  readonly isPartial: boolean;
  /** Four numbers for each: {@link trafficKey}, estimated bytes, bytes as exported, estimated packets. */
  readonly rows: Float64Array;
}

/** What passed the interfaces of an exporter lately, as a copy. */
export interface ExporterTraffic {
  readonly address: string;
  /** What came earlier was not added up, milliseconds since the epoch. */
  readonly since: number;
  /** In the order of time. Those without flows are missing. */
  readonly minutes: readonly TrafficMinute[];
}

/** Where flows were seen by what their records say (flowDirection): not said, on the way in, on the way out. */
export const seenAt = { unknown: 0, ingress: 1, egress: 2 } as const;
export type SeenAt = (typeof seenAt)[keyof typeof seenAt];

export interface TrafficKey {
  /** ifIndex of an interface. */
  readonly index: number;
  /** Whether the bytes came in or went out by it. */
  readonly way: "in" | "out";
  readonly seen: SeenAt;
}

export const trafficMinuteMs = 60_000;
/** How many minutes are kept. */
const keptMinutes = 30;
/** Of a row; and what a minute takes besides. */
const rowBytes = 32;
const minuteBytes = 250;

/** A key as a number: ifIndex, a bit for the way, two for where it was seen. */
export function trafficKey({ index, way, seen }: TrafficKey): number {
  return 8 * index + (way === "out" ? 4 : 0) + seen;
}

/** The last minutes of one exporter. */
export interface InterfaceTraffic {
  readonly since: number;
  /** @returns bytes of memory that it takes more than before. */
  add(minute: TrafficMinute): number;
  minutes(): readonly TrafficMinute[];
  /** Bytes of memory that it takes. */
  readonly heldBytes: number;
}

/** @param since milliseconds since the epoch. */
export function createInterfaceTraffic(since: number): InterfaceTraffic {
  let minutes: TrafficMinute[] = [];
  let heldBytes = 0;
  const costOf = ({ rows }: TrafficMinute): number => minuteBytes + (rowBytes * rows.length) / 4;
  return {
    since,
    add(minute) {
      const before = heldBytes;
      const oldest = minute.start - (keptMinutes - 1) * trafficMinuteMs;
      // A clock that was set back begins again.
      minutes = [...minutes.filter(({ start }) => start >= oldest && start < minute.start), minute];
      heldBytes = minutes.reduce((sum, each) => sum + costOf(each), 0);
      return heldBytes - before;
    },
    minutes: () => minutes,
    get heldBytes() {
      return heldBytes;
    },
  };
}
