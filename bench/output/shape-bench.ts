// What it costs to change finished lines: to anonymise their addresses, and to add them up. CPU time, in turns; the peers are the bare cipher, and
// adding up with JSON.parse.
import { createCipheriv, randomBytes } from "node:crypto";
import {
  anonymizeTexts,
  createAnonymizeLines,
  createCryptoPan,
  cutAddresses,
  RollupSink,
} from "../../src/output/index.ts";
import type { ShapeLines } from "../../src/record/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { decodeLines } from "./delivery-lines.ts";

const rounds = 7;
const addresses = 2000;
const key = randomBytes(32);
const { lines: all, nanoseconds } = decodeLines();
const lines = all.slice(0, 100);
const records = lines.reduce((sum, { count }) => sum + count, 0);

const anonymizing = (anonymize: ReturnType<typeof createCryptoPan>): ShapeLines =>
  createAnonymizeLines({
    anonymize: anonymizeTexts(anonymize, false),
    maxRecent: 131_072,
    keepsExporter: true,
    anonymizeId: (id) => id,
    count() {},
  });
const shaping = (shape: ShapeLines) => (): void => {
  for (const { bytes, count } of lines) shape(bytes, count);
};

const fields = ["flow.export.ip.addr", "flow.dst.l4.port.id", "l4.proto.id"];
const sink = {
  name: "nobody",
  write(_lines: Uint8Array, _count: number) {},
  async start() {},
  async stop() {},
};
const rolledUp = new RollupSink(sink, {
  fields,
  maxGroups: 1_000_000,
  intervalMs: 3_600_000,
  clock: { now: () => 0 },
  report: { added() {}, overflowed() {}, written() {}, groups() {} },
});
const parsed = new Map<string, { bytes: bigint; packets: bigint }>();

const pan = createCryptoPan(key);
const cipher = createCipheriv("aes-128-ecb", key.subarray(0, 16), null).setAutoPadding(false);
const blocks = { 4: Buffer.alloc(32 * 16), 6: Buffer.alloc(128 * 16) } as const;
let next = 1n;
const eachAddress = (family: 4 | 6) => (): void => {
  for (let i = 0; i < addresses; i++) pan({ family, value: next++ << (family === 4 ? 0n : 64n) });
};
const eachBlock = (family: 4 | 6) => (): void => {
  for (let i = 0; i < addresses; i++) cipher.update(blocks[family]);
};

interface Case {
  readonly what: string;
  readonly run: () => void;
  readonly count: number;
  readonly unit: string;
  readonly peer?: number;
}

const cases: readonly Case[] = [
  { what: "decoding a record of NetFlow v9", run() {}, count: 0, unit: "ns/record" },
  {
    what: "addresses cut to prefixes",
    run: shaping(anonymizing(cutAddresses(24, 48))),
    count: records,
    unit: "ns/record",
    peer: 0,
  },
  {
    what: "addresses by Crypto-PAn, known ones",
    run: shaping(anonymizing(pan)),
    count: records,
    unit: "ns/record",
    peer: 0,
  },
  { what: "AES alone, 32 blocks", run: eachBlock(4), count: addresses, unit: "ns/address" },
  {
    what: "an IPv4 address by Crypto-PAn, a new one",
    run: eachAddress(4),
    count: addresses,
    unit: "ns/address",
    peer: 3,
  },
  { what: "AES alone, 128 blocks", run: eachBlock(6), count: addresses, unit: "ns/address" },
  {
    what: "an IPv6 address by Crypto-PAn, a new one",
    run: eachAddress(6),
    count: addresses,
    unit: "ns/address",
    peer: 5,
  },
  {
    what: "rollup by three fields, with JSON.parse",
    run() {
      for (const { bytes } of lines) {
        for (const line of Buffer.from(bytes).toString().trimEnd().split("\n")) {
          const record = JSON.parse(line) as Record<string, number | string>;
          const of = fields.map((name) => record[name]).join(" ");
          const sums = parsed.get(of) ?? { bytes: 0n, packets: 0n };
          sums.bytes += BigInt(record["flow.bytes"] ?? 0);
          sums.packets += BigInt(record["flow.packets"] ?? 0);
          parsed.set(of, sums);
        }
      }
    },
    count: records,
    unit: "ns/record",
  },
  {
    what: "rollup by three fields, on lines",
    run() {
      for (const { bytes, count } of lines) rolledUp.write(bytes, count);
    },
    count: records,
    unit: "ns/record",
    peer: 7,
  },
];

const figures = cases.map(() => [] as number[]);
for (let round = 0; round <= rounds; round++) {
  for (const [i, { run, count }] of cases.entries()) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures[i]?.push(count === 0 ? nanoseconds : ((user + system) * 1000) / count);
  }
}
const of = (i: number): number => median(figures[i] ?? []);
for (const [i, { what, unit, peer }] of cases.entries()) {
  const against = peer === undefined ? undefined : { what: cases[peer]?.what ?? "", value: of(peer) };
  reportRow({ what, value: of(i), unit, ...(against !== undefined && { peer: against }) });
}
