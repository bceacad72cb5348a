import type { TestFlow } from "./watch-rig.ts";

/** Packets of one second between two ends, as exporters count them. */
export interface Traffic {
  readonly src: string;
  readonly dst: string;
  readonly from: number;
  readonly to: number;
  readonly proto: number;
  readonly bits: number;
  readonly packets: number;
  /** Of TCP. */
  readonly flags?: number;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An attack, as public descriptions have it, on a host of its own. */
export interface Attack {
  /** The ready rule that is to find it. */
  readonly rule: string;
  readonly key: readonly string[];
  /** What there is of it in a second. */
  readonly at: (second: number) => readonly Traffic[];
  readonly seconds: number;
  /** What the rule measures of a second, in its unit, and its limit; for different values how many come in a second. */
  readonly rate: number;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly forSeconds: number;
}

const [icmp, tcp, udp] = [1, 6, 17] as const;
const [syn, synAck] = [2, 18] as const;

function address(prefix: string, number: number): string {
  return `${prefix}.${(number >> 8) & 255}.${number & 255}`;
}

/** Answers of many servers to one host, which never asked. */
function amplification(rule: string, port: number, dst: string, limit: number, sources: number): Attack {
  const rate = 2 * limit;
  const at = (second: number): readonly Traffic[] =>
    Array.from({ length: 20 }, (_, i) => ({
      src: address("203.0", (second * 20 + i) % sources),
      dst,
      from: port,
      to: 1024 + ((second * 20 + i) % 40_000),
      proto: udp,
      bits: rate / 20,
      packets: rate / 20 / 8 / 1200,
    }));
  return { rule, key: [dst], at, seconds: 90, rate, limit, windowSeconds: 10, forSeconds: 5 };
}

/** Packets of TCP with some flags alone, each of an address of its own. */
function handshakes(rule: string, flags: number, dst: string, limit: number): Attack {
  const rate = 2 * limit;
  const at = (second: number): readonly Traffic[] =>
    Array.from({ length: 20 }, (_, i) => {
      const other = address("198.18", second * 20 + i);
      const port = 1024 + ((second * 20 + i) % 40_000);
      const [from, to] = flags === syn ? [port, 443] : [443, port];
      return { src: other, dst, from, to, proto: tcp, bits: (rate / 20) * 480, packets: rate / 20, flags };
    });
  return { rule, key: [dst], at, seconds: 90, rate, limit, windowSeconds: 10, forSeconds: 5 };
}

/** All that the ready rules are to find. */
export const attacks: readonly Attack[] = [
  amplification("memcached-amplification", 11_211, "10.1.0.1", 50e6, 50),
  amplification("ntp-amplification", 123, "10.1.0.2", 50e6, 400),
  amplification("cldap-amplification", 389, "10.1.0.3", 50e6, 200),
  amplification("ssdp-amplification", 1900, "10.1.0.4", 20e6, 3000),
  amplification("dns-amplification", 53, "10.1.0.5", 100e6, 500),
  handshakes("syn-flood", syn, "10.1.0.6", 10_000),
  handshakes("syn-ack-reflection", synAck, "10.1.0.7", 5000),
  { ...amplification("fragments", 0, "10.1.0.8", 50e6, 100), at: fragmentsTo("10.1.0.8", 100e6) },
  carpet("10.2.7", 1e9),
  {
    ...amplification("icmp-flood", 0, "10.1.0.9", 10_000, 1),
    forSeconds: 10,
    at: () => [
      { src: "203.0.113.5", dst: "10.1.0.9", from: 0, to: 0, proto: icmp, bits: 20_000 * 800, packets: 20_000 },
    ],
  },
  scan("port-scan", "203.0.113.77", 10, 60),
  scan("slow-scan", "203.0.113.78", 0.1, 3600),
];

function fragmentsTo(dst: string, rate: number): Attack["at"] {
  return (second) =>
    Array.from({ length: 20 }, (_, i) => ({
      src: address("203.0", (second + i) % 100),
      dst,
      from: 0,
      to: 0,
      proto: udp,
      bits: rate / 20,
      packets: rate / 20 / 12_000,
    }));
}

/** A little for each host of a network of 256. */
function carpet(network: string, limit: number): Attack {
  const rate = 2 * limit;
  const at = (second: number): readonly Traffic[] =>
    Array.from({ length: 32 }, (_, i) => ({
      src: address("203.0", second * 32 + i),
      dst: `${network}.${(second * 32 + i) % 256}`,
      from: 40_000,
      to: 1024 + i,
      proto: udp,
      bits: rate / 32,
      packets: rate / 32 / 8000,
    }));
  const key = [`${network}.0/24`];
  return { rule: "carpet-bombing", key, at, seconds: 90, rate, limit, windowSeconds: 10, forSeconds: 10 };
}

/** One port after the other. */
function scan(rule: string, src: string, portsPerSecond: number, windowSeconds: number): Attack {
  const dst = "10.1.0.20";
  const at = (second: number): readonly Traffic[] => {
    const [first, next] = [Math.floor(second * portsPerSecond), Math.floor((second + 1) * portsPerSecond)];
    return Array.from({ length: next - first }, (_, i) => ({
      src,
      dst,
      from: 50_000,
      to: 1 + first + i,
      proto: tcp,
      bits: 480,
      packets: 1,
      flags: syn,
    }));
  };
  const seconds = Math.ceil(130 / portsPerSecond);
  return { rule, key: [src, dst], at, seconds, rate: portsPerSecond, limit: 100, windowSeconds, forSeconds: 0 };
}

/** Packets as a flow record of them. @param at milliseconds since the epoch. */
export function flowOf(traffic: Traffic, start: number, end: number): TestFlow {
  const { src, dst, from, to, proto, bits, packets, flags, extra } = traffic;
  return {
    src,
    dst,
    port: to,
    bytes: Math.round(bits / 8),
    packets: Math.max(1, Math.round(packets)),
    extra: {
      "flow.src.l4.port.id": from,
      "l4.proto.id": proto,
      ...(flags !== undefined && { "tcp.flags.bits": flags }),
      "flow.start.timestamp": new Date(start).toISOString(),
      "flow.end.timestamp": new Date(end).toISOString(),
      ...extra,
    },
  };
}

/** An exporter of NetFlow: a flow is told of when it was active for a minute, or silent for a quarter of that. */
export class FlowCache {
  readonly #activeMs: number;
  readonly #inactiveMs: number;
  readonly #flows = new Map<string, { traffic: Traffic; start: number; end: number }>();

  constructor(activeMs = 60_000, inactiveMs = 15_000) {
    this.#activeMs = activeMs;
    this.#inactiveMs = inactiveMs;
  }

  add(all: readonly Traffic[], now: number): void {
    for (const traffic of all) {
      const { src, dst, from, to } = traffic;
      const name = [src, dst, from, to].join(" ");
      const known = this.#flows.get(name);
      if (known === undefined) this.#flows.set(name, { traffic, start: now, end: now + 1000 });
      else {
        const { bits, packets } = known.traffic;
        known.traffic = { ...traffic, bits: bits + traffic.bits, packets: packets + traffic.packets };
        known.end = now + 1000;
      }
    }
  }

  /** The flows that are over at a time. */
  expire(now: number): readonly TestFlow[] {
    const over: TestFlow[] = [];
    for (const [name, { traffic, start, end }] of this.#flows) {
      if (now - start < this.#activeMs && now - end < this.#inactiveMs) continue;
      this.#flows.delete(name);
      over.push(flowOf(traffic, start, end));
    }
    return over;
  }
}

/** A number from 0 up to 1, the same in every run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Ordinary traffic of some seconds of a day: people who browse, names, time, mail, monitoring, calls, a backup at night.
 *
 * @param hour of the day, with its part.
 */
export function ordinary(hour: number, seconds: number, next: () => number): readonly Traffic[] {
  const busy = 0.15 + 0.85 * Math.max(0, Math.sin(((hour - 6) / 14) * Math.PI)) ** 2;
  const pick = (count: number): number => Math.floor(next() * count);
  const all: Traffic[] = [];
  const both = (client: string, server: string, port: number, proto: number, up: number, down: number): void => {
    const from = 49_152 + pick(16_000);
    const packets = 4 + pick(200);
    const flags = proto === tcp ? { flags: 27 } : {};
    all.push({ src: client, dst: server, from, to: port, proto, bits: up, packets, ...flags });
    all.push({ src: server, dst: client, from: port, to: from, proto, bits: down, packets, ...flags });
  };
  const host = (): string => address("10.0", 1 + pick(500));
  const server = (): string => address("93.184", pick(300));
  for (let i = 0; i < Math.ceil(busy * 6); i++) {
    both(host(), server(), 443, next() < 0.3 ? udp : tcp, 1e5 * next(), seconds * 4e6 * next() ** 3);
    both(host(), "10.0.0.53", 53, udp, 600, 2000);
  }
  both("10.0.0.53", address("192.33", pick(20)), 53, udp, 600, 4000);
  if (next() < 0.3) both(host(), "10.0.0.123", 123, udp, 608, 608);
  if (next() < busy * 0.2) both(host(), "10.0.0.25", 25, tcp, 4e6 * next(), 5000);
  if (next() < busy * 0.1) both(host(), address("10.0", 300 + pick(20)), 22, tcp, 1e5, 3e5);
  if (next() < busy * 0.3) both(host(), server(), 3478, udp, seconds * 15e5, seconds * 15e5);
  // Monitoring asks every host, and a backup fills the night.
  all.push({ src: "10.0.0.99", dst: host(), from: 0, to: 0, proto: icmp, bits: 800, packets: 1 });
  if (hour >= 2 && hour < 3) both("10.0.0.40", "10.0.0.41", 873, tcp, seconds * 8e8, seconds * 4e6);
  return all;
}
