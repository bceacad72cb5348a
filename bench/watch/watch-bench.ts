// What rules of Watch cost: a record with five rules and with a thousand, a key, and a record of random keys where there is no room for them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import { Watch } from "../../src/watch/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { fiveRules } from "./five-rules.ts";

const folder = mkdtempSync(join(tmpdir(), "netgloss-watch-bench-"));
const perBlock = 10_000;

const answers = {
  mode: "dry-run",
  approvals: 1,
  maxRoutes: 20,
  never: [],
  limitMs: 900_000,
  allowsCommands: false,
} as const;

const manyRules = `rules:\n${Array.from(
  { length: 1000 },
  (_, i) =>
    `  - {name: r${i}, filter: 'dst in 10.${i >> 8}.${i & 255}.0/24', by: [dst], measure: bits_per_second, when: '> 1G'}\n`,
).join("")}`;
const oneRule = "rules:\n  - {name: bits, by: [dst], measure: bits_per_second, when: '> 500M'}\n";

async function watchBy(rules: string, maxKeys: number): Promise<{ watch: Watch; pass: () => void }> {
  const rulesPath = join(folder, "watch.yml");
  writeFileSync(rulesPath, rules);
  let passed = 0;
  const clock = { now: () => 1_800_000_000_000 + passed, monotonic: () => passed };
  const watch = new Watch(
    { rulesPath, readyRules: "[]", directory: undefined, maxKeys, maxHistory: 1000, mayRun: false, answers },
    {
      clock,
      log: silentLog,
      metrics: createMetrics(),
      io: nodeFileIo,
      newId: () => `${passed}`,
      onRecord() {},
      onNews() {},
      onFault(fault) {
        if (fault !== undefined) throw new Error(fault);
      },
      openSpeaker: () => Promise.reject(new Error("nothing is announced")),
    },
    "bench",
  );
  await watch.start();
  return { watch, pass: () => void (passed += 1000) };
}

/** Flows as lines, to so many hosts. @param from the number of the first. */
function linesTo(hosts: number, from: number): Buffer {
  const lines = Array.from({ length: perBlock }, (_, i) => {
    const host = from + (i % hosts);
    return `{"@timestamp":"2027-01-15T08:00:00.000Z","flow.export.ip.addr":"192.0.2.254","flow.export.type":"ipfix","flow.bytes":${1000 + i},"flow.packets":3,"flow.src.ip.addr":"198.51.100.${i % 200}","flow.dst.ip.addr":"10.${(host >> 16) & 255}.${(host >> 8) & 255}.${host & 255}","flow.src.l4.port.id":${1024 + i},"flow.dst.l4.port.id":443,"l4.proto.id":6,"tcp.flags.bits":27}\n`;
  });
  return Buffer.from(lines.join(""));
}

/** CPU nanoseconds of a record. @param blocks is given the number of each. */
async function costOf(rules: string, maxKeys: number, count: number, blocks: (i: number) => Buffer): Promise<number> {
  const { watch, pass } = await watchBy(rules, maxKeys);
  const given = Array.from({ length: count }, (_, i) => blocks(i));
  const costs: number[] = [];
  for (const block of given) {
    const before = process.cpuUsage();
    watch.take(block, perBlock);
    pass();
    watch.judge();
    const { user, system } = process.cpuUsage(before);
    costs.push((1000 * (user + system)) / perBlock);
  }
  await watch.stop();
  // The first ones warm up.
  return costs.slice(count >> 2).toSorted((a, b) => a - b)[costs.length >> 2] ?? 0;
}

try {
  const block = linesTo(1000, 0);
  const five = await costOf(fiveRules, 200_000, 40, () => block);
  reportRow({ what: "a record, five rules, 1 000 keys", value: five, unit: "ns" });
  const many = await costOf(manyRules, 200_000, 8, () => block);
  reportRow({ what: "a record, 1 000 rules", value: many, unit: "ns" });
  const random = await costOf(fiveRules, 1000, 40, (i) => linesTo(perBlock, i * perBlock));
  reportRow({
    what: "a record of random keys, five rules, room for 1 000",
    value: random,
    unit: "ns",
    peer: { what: "known keys", value: five },
  });

  const { watch } = await watchBy(oneRule, 1_000_000);
  const blocks = Array.from({ length: 100 }, (_, i) => linesTo(perBlock, i * perBlock));
  globalThis.gc?.();
  const before = process.memoryUsage();
  for (const each of blocks) watch.take(each, perBlock);
  globalThis.gc?.();
  const after = process.memoryUsage();
  const bytes = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
  reportRow({
    what: "memory of 1 000 000 keys of a rule, a window of 10 s",
    value: bytes / 1e6,
    unit: "MB",
    goal: "<= 500",
  });
  await watch.stop();
} finally {
  rmSync(folder, { recursive: true });
}
