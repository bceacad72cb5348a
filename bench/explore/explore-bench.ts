// What Explore takes and costs, and how soon it answers. The peer of the intake is DuckDB's own reader of JSON.
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { EmbeddedExplore, readQuery } from "../../src/explore/index.ts";
import { createSamplingMemory, setOpen } from "../../src/explore/sampling/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { createDirectSampler } from "../../test/support/direct-sampler.ts";
import { reportRow } from "../support/bench-report.ts";
import { createRenewal, makeLines } from "../support/flow-lines.ts";

const lineCount = 50_000;
const intakeRounds = 4;
/** How many rows are written; `NETGLOSS_BENCH_ROWS` asks for more, such as 100000000, which are copies of their files. */
const writtenRows = 10_000_000;
const rows = Number(process.env["NETGLOSS_BENCH_ROWS"] ?? writtenRows);
const questions = 15;
const offered = 100_000;

/** How far the clock of the store is ahead, milliseconds. */
let later = 0;
const hourMs = 3_600_000;

const directory = mkdtempSync(join(tmpdir(), "netgloss-bench-"));
try {
  const lines = makeLines(lineCount);
  await measureIntake(lines);
  await measureSampling(lines);
  await measureRollups(lines);
  await measureQuestions(lines);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function open(
  name: string,
  rate: number,
  metrics = createMetrics(),
  maxDays = 90,
  sampling = createSamplingMemory(1),
): Promise<EmbeddedExplore> {
  const config = {
    directory: join(directory, name),
    maxBytes: 64 * 2 ** 30,
    maxHours: 24,
    rates: { whole: rate, sampled: rate },
    rollups: { maxDays, maxBytes: 2 ** 30, fields: [] },
    memoryBytes: 1024 * 2 ** 20,
    fields: ["flow.src.site.name", "flow.dst.site.name"],
    maxMetadataFields: 0,
    timeoutMs: 600_000,
  };
  const clock = { monotonic: () => systemClock.monotonic(), now: () => systemClock.now() + later };
  const reporting = { clock, log: silentLog, metrics };
  const explore = new EmbeddedExplore(config, sampling, reporting, () => {});
  await explore.start();
  return explore;
}

/** CPU seconds of the whole process, DuckDB's threads included. */
function cpuSeconds(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

async function measureIntake(lines: Buffer): Promise<void> {
  const path = join(directory, "lines.ndjson");
  writeFileSync(path, lines);
  const instance = await DuckDBInstance.create(join(directory, "peer.duckdb"));
  const connection = await instance.connect();
  const source = `read_json('${path}', format = 'newline_delimited')`;
  await connection.run(`CREATE TABLE t AS SELECT * FROM ${source} LIMIT 0`);
  const peerCpu = process.cpuUsage();
  for (let i = 0; i < intakeRounds; i++) await connection.run(`INSERT INTO t SELECT * FROM ${source}`);
  await connection.run("CHECKPOINT");
  const peer = cpuSeconds(peerCpu);
  connection.closeSync();
  instance.closeSync();

  const explore = await open("intake", 0);
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let i = 0; i < intakeRounds; i++) {
    explore.take(lines, lineCount);
    await explore.flush();
  }
  await explore.stop();
  const seconds = (performance.now() - start) / 1000;
  const count = intakeRounds * lineCount;
  const peerOf = { what: "read_json", value: (peer / count) * 1e6 };
  reportRow({
    what: "CPU of a record that is kept, all in",
    value: (cpuSeconds(cpu) / count) * 1e6,
    unit: "µs",
    peer: peerOf,
  });
  reportRow({ what: "records taken, compressed on disk", value: count / seconds, unit: "records/s" });
}

/** What 100 000 records a second cost with the usual bound on what is kept. */
async function measureSampling(lines: Buffer): Promise<void> {
  const maxRate = 10_000;
  const sampling = createSamplingMemory(1);
  setOpen(sampling, true);
  const explore = await open("sampling", maxRate, createMetrics(), 90, sampling);
  const sampler = createDirectSampler(sampling, { whole: maxRate, sampled: maxRate }, (chosen, records) =>
    explore.take(chosen, records),
  );
  for (let i = 0; i < 4; i++) {
    sampler.look(lines, lineCount);
    await explore.flush();
  }
  const cpu = process.cpuUsage();
  let taken = 0;
  const began = explore.status().rows;
  const start = performance.now();
  while (performance.now() - start < 8000) {
    if (taken < ((performance.now() - start) / 1000) * offered) {
      sampler.look(lines, lineCount);
      taken += lineCount;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await explore.flush();
  const seconds = (performance.now() - start) / 1000;
  const share = (cpuSeconds(cpu) / seconds / 2) * 100;
  const kept = (explore.status().rows - began) / seconds;
  await explore.stop();
  reportRow({ what: "two cores at 100 000 records/s, 10 000 kept at most", value: share, unit: "%", goal: "≤ 10 %" });
  reportRow({ what: "of them kept", value: kept, unit: "records/s" });
}

/** What the sums of records by minute cost and take, and how much of that is due to when their bytes flowed. */
async function measureRollups(lines: Buffer): Promise<void> {
  const renew = createRenewal(lines);
  const costs = { flowed: [] as Rolled[], received: [] as Rolled[] };
  for (let round = 0; round < 3; round++) {
    for (const when of ["flowed", "received"] as const) {
      costs[when].push(await rollUp(`rollups-${when}-${round}`, lines, renew, when));
    }
  }
  const least = (of: readonly Rolled[], name: keyof Rolled): number => Math.min(...of.map((each) => each[name]));
  const { flowed, received } = costs;
  for (const [name, what] of [
    ["kept", "CPU of a record that is kept"],
    ["rolledUp", "CPU of a record, compressed and rolled up"],
  ] as const) {
    const peer = { what: "without times of flows", value: least(received, name) };
    reportRow({ what, value: least(flowed, name), unit: "µs", peer });
    const more = 1000 * (least(flowed, name) - least(received, name));
    reportRow({
      what: "  for when its bytes flowed",
      value: more,
      unit: "ns",
      ...(name === "kept" && { goal: "≤ 60 ns" }),
    });
  }
  const peer = { what: "without times of flows", value: least(received, "bytes") };
  reportRow({ what: "rollups of a record on disk", value: least(flowed, "bytes"), unit: "B", peer });
}

/** Of a record: microseconds of CPU, bytes on disk. */
interface Rolled {
  readonly kept: number;
  readonly rolledUp: number;
  readonly bytes: number;
}

async function rollUp(
  name: string,
  lines: Buffer,
  renew: (from: number, to: number) => void,
  when: "flowed" | "received",
): Promise<Rolled> {
  const explore = await open(name, 0);
  const rounds = 8;
  const minutes = 4;
  const begin = Date.now() - minutes * 60_000;
  let kept = 0;
  for (let round = 0; round < rounds; round++) {
    const timeAt = (count: number): number => begin + (minutes * 60_000 * count) / rounds;
    renew(timeAt(round), timeAt(round + 1));
    // Fields that Explore does not know take their place, so that lines are as long.
    const text = lines.toString("latin1");
    const given =
      when === "flowed" ? lines : Buffer.from(text.replaceAll(/flow\.(start|end)\.time/g, "flow.$1_time"), "latin1");
    const cpu = process.cpuUsage();
    explore.take(given, lineCount);
    await explore.flush();
    kept += cpuSeconds(cpu);
  }
  later = hourMs;
  const cpu = process.cpuUsage();
  // The file is complete, and compressed, at the end of an hour.
  await explore.flush();
  while (explore.status().rollups?.from === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await explore.flush();
  }
  const count = rounds * lineCount;
  const rolledUp = (cpuSeconds(cpu) / count) * 1e6;
  const bytes = (explore.status().rollups?.bytes ?? 0) / count;
  await explore.stop();
  later = 0;
  return { kept: (kept / count) * 1e6, rolledUp, bytes };
}

async function measureQuestions(lines: Buffer): Promise<void> {
  await fillFiles(lines);
  copyFiles();
  const explore = await open("questions", 0, createMetrics(), 0);
  const { rows: kept, bytes } = explore.status();
  reportRow({
    what: `bytes of a row, of ${(kept / 1e6).toFixed(0)} million`,
    value: bytes / kept,
    unit: "B",
    goal: "17",
  });
  const cases: readonly (readonly [string, object])[] = [
    ["top ten of names", { dimensions: ["flow.src.ip.subnet.name"], granularity: "none" }],
    ["names over time", { dimensions: ["flow.src.ip.subnet.name"] }],
    ["top ten of tags", { dimensions: ["flow.src.ip.subnet.tags"], granularity: "none" }],
    ["tags over time", { dimensions: ["flow.src.ip.subnet.tags"] }],
    ["top ten of addresses", { dimensions: ["flow.src.ip.addr"], granularity: "none" }],
    [
      "names and services over time, compared",
      { dimensions: ["flow.src.ip.subnet.name", "flow.dst.l4.port.id"], compare: true },
    ],
    ["names over the last quarter, by 10 s", { from: "-15m", dimensions: ["flow.src.ip.subnet.name"] }],
    ["names over time, by 5 m", { dimensions: ["flow.src.ip.subnet.name"], granularity: "5m" }],
    ["a prefix, over time", { filter: "src in 10.3.0.0/16 and dst.port = 443", dimensions: ["flow.dst.ip.addr"] }],
  ];
  for (const [what, body] of cases) {
    const { flowed, received } = await askBoth(explore, body);
    reportRow({ what: `${what}: p95 of ${questions}`, value: flowed.p95, unit: "ms", goal: "< 1 s" });
    reportRow({ what: "  CPU at least, all threads", value: flowed.cpu, unit: "ms" });
    reportRow({ what: "  CPU to that by time of receipt", value: flowed.cpu / received.cpu, unit: "×", goal: "1.3" });
  }
  await explore.stop();
}

interface Asked {
  /** Milliseconds: the 95th percentile of the times, and the least CPU of all threads for one. */
  readonly p95: number;
  readonly cpu: number;
}

/** Asks a question several times, by when bytes flowed and by when records came in turns: what else the host does meets both. */
async function askBoth(
  explore: EmbeddedExplore,
  body: object,
): Promise<Readonly<Record<"flowed" | "received", Asked>>> {
  const asked = { flowed: [] as [number, number][], received: [] as [number, number][] };
  for (let i = 0; i < questions; i++) {
    for (const when of ["flowed", "received"] as const) {
      const cpu = process.cpuUsage();
      const start = performance.now();
      await explore.query(readQuery({ ...body, when }, Date.now()), new AbortController().signal);
      asked[when].push([performance.now() - start, 1000 * cpuSeconds(cpu)]);
    }
  }
  const summary = (of: readonly [number, number][]): Asked => ({
    p95: of.map(([time]) => time).toSorted((a, b) => a - b)[Math.ceil(0.95 * questions) - 1] ?? 0,
    cpu: Math.min(...of.map(([, cpu]) => cpu)),
  });
  return { flowed: summary(asked.flowed), received: summary(asked.received) };
}

/** Rows of the last hour, in files that are complete and sorted. */
async function fillFiles(lines: Buffer): Promise<void> {
  const metrics = createMetrics();
  const explore = await open("questions", 0, metrics, 0);
  const renew = createRenewal(lines);
  const written = Math.min(rows, writtenRows);
  const begin = Date.now() - hourMs;
  const timeAt = (count: number): number => begin + (hourMs * count) / written;
  for (let count = 0, next = 0; count < written; count += lineCount) {
    renew(timeAt(count), timeAt(count + lineCount));
    explore.take(lines, lineCount);
    if (count >= next) {
      await explore.flush();
      next = count + 400_000;
    }
  }
  // What is not there at the end of the hour goes to the next file, which is not sorted.
  await explore.flush();
  later = hourMs;
  const cpu = process.cpuUsage();
  const done = (): Promise<number | undefined> => metrics.value("netgloss_explore_sorted_rows_total");
  const before = (await done()) ?? 0;
  while (((await done()) ?? 0) < written) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await explore.flush();
  }
  later = 0;
  const sorted = written - before;
  if (sorted > 0)
    reportRow({ what: "CPU of a row that is sorted", value: (cpuSeconds(cpu) / sorted) * 1e6, unit: "µs" });
  await explore.stop();
}

/** The same files again under other names, until there are as many rows as are asked for. */
function copyFiles(): void {
  const folder = join(directory, "questions");
  const files = readdirSync(folder).filter((file) => file.endsWith("-sorted.duckdb"));
  for (let copy = 1; copy < rows / writtenRows; copy++) {
    for (const file of files) {
      const named = file.replace(
        /(\d{4})-sorted/,
        (_, number: string) => `${String(Number(number) + 100 * copy).padStart(4, "0")}-sorted`,
      );
      copyFileSync(join(folder, file), join(folder, named));
    }
  }
}
