import { addressKey, keyContains, parseKey, type Address, parseAddress } from "../../src/base/ip/index.ts";

/** One direction of one conversation, as an exporter accounts for it. Times are milliseconds since the epoch. */
export interface DemoFlow {
  readonly source: Address;
  readonly destination: Address;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** 6 is TCP, 17 UDP. */
  readonly protocol: number;
  readonly tcpFlags: number;
  readonly packets: number;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
  readonly inputInterface: number;
  readonly outputInterface: number;
}

/** A number from 0 up to, not including, 1. */
export type Random = () => number;

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state, the same numbers for the same seed everywhere. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An integer from `min` to `max`, both included. */
export function randomInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** One of the values. */
export function pick<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

/** Counters of the interfaces of the simulated routers, as SNMP gives them, so that they agree with the flows. */
export interface InterfaceCounters {
  /** Counts what an exporter accounts for, also where its datagram is lost. */
  add(exporter: string, flows: readonly DemoFlow[]): void;
  /** Bytes into and out of an interface since the start. */
  bytes(exporter: string, index: number): { readonly into: number; readonly outOf: number };
}

export function createInterfaceCounters(): InterfaceCounters {
  const into = new Map<string, number>();
  const outOf = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, bytes: number): void =>
    void sums.set(key, (sums.get(key) ?? 0) + bytes);
  return {
    add(exporter, flows) {
      for (const { bytes, inputInterface, outputInterface } of flows) {
        add(into, `${exporter} ${inputInterface}`, bytes);
        add(outOf, `${exporter} ${outputInterface}`, bytes);
      }
    },
    bytes(exporter, index) {
      const key = `${exporter} ${index}`;
      return { into: into.get(key) ?? 0, outOf: outOf.get(key) ?? 0 };
    },
  };
}

/** Incidents in the made-up network, again and again, for somebody to find. */
export interface DemoStory {
  /** Further flows that an exporter sends now. */
  flows(exporter: number, now: number): readonly DemoFlow[];
  /** Changes a flow of the usual traffic; left out: it stays as it is. */
  shaped?(flow: DemoFlow, now: number): DemoFlow;
  /** Tells whether a datagram of an exporter is lost on its way. @param round counts the datagrams of each. */
  loses(exporter: number, round: number): boolean;
}

/** Places of the exporters among those of the demonstration. */
const edge2 = 1;
const dc1 = 2;

const periodMs = 300_000;
/** Within each period. The first comes soon. */
const scan = { from: 15_000, to: 75_000 };
const backup = { from: 30_000, to: 180_000 };
/** Bytes of each flow of the backup: of two a second, they fill a link of 1 Gbit/s. */
const backupBytes = 58_000_000;
const backupEveryMs = 500;
const scanned = 12;
const lostEvery = 9;
const tcp = 6;
const syn = 2;
const scannedPorts = [22, 23, 80, 443, 445, 1433, 3306, 3389, 5432, 5900, 6379, 8080] as const;

/**
 * A camera in the warehouse scans the servers of the tenants (seen by dc-1); a backup of db-1 fills the link between edge-2 and the
 * data centre; edge-2 loses one of nine datagrams.
 *
 * @param beganAt milliseconds since the epoch.
 */
export function createDemoStory(random: Random, beganAt: number): DemoStory {
  let lastBackup = 0;
  const at = (now: number): number => (now - beganAt) % periodMs;
  const isWithin = (now: number, { from, to }: typeof scan): boolean => at(now) >= from && at(now) < to;

  return {
    flows(exporter, now) {
      if (exporter === dc1 && isWithin(now, scan)) {
        return Array.from({ length: scanned }, () => scanFlow(random, now));
      }
      if (exporter === edge2 && isWithin(now, backup) && now - lastBackup >= backupEveryMs) {
        lastBackup = now;
        return [backupFlow(random, now)];
      }
      return [];
    },
    loses: (exporter, round) => exporter === edge2 && round % lostEvery === lostEvery - 1,
  };
}

const hourMs = 3_600_000;

/** The time before the demonstration. It goes back for two days and a little more, so that a day can be compared with the one before. */
export const demoPast = { lengthMs: 50 * hourMs, stepMs: 900_000 } as const;
/** A flow of the past stands for many. */
const pastFactor = 400;
/** From twenty hours ago to two hours ago a tenant sends so many times as much. */
const growth = { prefix: "10.30.2.0/24", from: 20 * hourMs, to: 2 * hourMs, factor: 8 } as const;

/**
 * The same network before the demonstration began: it has more traffic by day than by night, nothing is wrong, and one tenant sends far more than
 * it did the day before.
 *
 * @param endedAt when that time ended, milliseconds since the epoch.
 */
export function createDemoPast(endedAt: number): DemoStory {
  const grown = parseKey(growth.prefix);
  const factorAt = (now: number): number =>
    pastFactor * (1 + 0.6 * Math.sin((2 * Math.PI * (now - 9 * hourMs)) / (24 * hourMs)));
  return {
    flows: () => [],
    loses: () => false,
    shaped(flow, now) {
      const { source, start, packets, bytes } = flow;
      const ago = endedAt - now;
      const isGrown = ago <= growth.from && ago > growth.to && keyContains(grown, addressKey(source));
      const factor = factorAt(now) * (isGrown ? growth.factor : 1);
      return {
        ...flow,
        start: Math.min(start, now - demoPast.stepMs),
        packets: Math.ceil(packets * factor),
        bytes: Math.ceil(bytes * factor),
      };
    },
  };
}

function scanFlow(random: Random, now: number): DemoFlow {
  const start = now - randomInt(random, 1, 400);
  return {
    source: address("10.20.0.66"),
    destination: address(`10.30.${randomInt(random, 1, 2)}.${randomInt(random, 1, 254)}`),
    sourcePort: randomInt(random, 40_000, 60_000),
    destinationPort: scannedPorts[randomInt(random, 0, scannedPorts.length - 1)] ?? 22,
    protocol: tcp,
    tcpFlags: syn,
    packets: 1,
    bytes: 44,
    start,
    end: start,
    inputInterface: 1,
    outputInterface: 2,
  };
}

function backupFlow(random: Random, now: number): DemoFlow {
  const bytes = backupBytes + randomInt(random, 0, 4_000_000);
  return {
    source: address("10.10.20.9"),
    destination: address("10.30.9.10"),
    sourcePort: 41_873,
    destinationPort: 873,
    protocol: tcp,
    tcpFlags: 0x18, // PSH ACK
    packets: Math.ceil(bytes / 1448),
    bytes,
    start: now - backupEveryMs,
    end: now,
    inputInterface: 1,
    outputInterface: 2,
  };
}

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`);
  return parsed;
}
