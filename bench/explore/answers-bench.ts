// How soon the pages have what people wait for: completion of filters at a million entries, and the page of an address over 24 hours of flows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedExplore, Profiles } from "../../src/explore/index.ts";
import { createSamplingMemory } from "../../src/explore/sampling/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { metadataSettings, startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";
import { createRenewal, makeLines } from "../support/flow-lines.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

const entries = 1_000_000;
const lineCount = 50_000;
const hourMs = 3_600_000;
const hours = 24;
/** How many rows of the 24 hours are written; `NETGLOSS_BENCH_ROWS` asks for more: 864000000 are 10 000 records a second. */
const rows = Number(process.env["NETGLOSS_BENCH_ROWS"] ?? 1_200_000);
const turns = 20;
/** `NETGLOSS_BENCH_PART=address` or `completion`: that alone. */
const part = process.env["NETGLOSS_BENCH_PART"];
const never = new AbortController().signal;

const directory = mkdtempSync(join(tmpdir(), "netgloss-bench-"));
try {
  if (part !== "address") await measureCompletion();
  if (part !== "completion") await measureAddress();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(0.95 * values.length) - 1] ?? 0;
}

/** What people type, letter by letter: names of fields, and values of theirs. */
async function measureCompletion(): Promise<void> {
  const file = join(directory, "ipaddrs.yml");
  writeMetadataFile(file, entries);
  const collector = await startCollectorProcess({ settings: metadataSettings(file), readyMs: 300_000 });
  try {
    const complete = async (filter: string): Promise<{ readonly items: readonly unknown[] }> => {
      const response = await fetch(`${collector.api}/api/v1/filter/completion`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ filter }),
      });
      return (await response.json()) as { items: unknown[] };
    };
    // Words of the metadata are gathered when somebody first asks.
    while ((await complete("src.name = net-99999")).items.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 200));
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      for (const whole of [`src.name = net-${turn * 49_999}`, "dst.tag = site-17", 'site.name = "Site 2', "src.po"]) {
        for (let length = whole.indexOf("=") + 2 || 1; length <= whole.length; length++) {
          const begun = performance.now();
          await complete(whole.slice(0, length));
          times.push(performance.now() - begun);
        }
      }
    }
    const what = `completion at a million entries: p95 of ${times.length}`;
    reportRow({ what, value: p95(times), unit: "ms", goal: "≤ 50 ms" });
  } finally {
    await collector.end("SIGKILL");
  }
}

/** The parts of the page, each asked as the page asks it. */
async function measureAddress(): Promise<void> {
  const begin = Math.floor(Date.now() / hourMs) * hourMs - (hours - 1) * hourMs;
  let at = begin;
  const config = {
    directory: join(directory, "explore"),
    maxBytes: 64 * 2 ** 30,
    maxHours: 48,
    rates: { whole: 0, sampled: 0 },
    rollups: { maxDays: 0, maxBytes: 2 ** 30, fields: [] },
    memoryBytes: 512 * 2 ** 20,
    fields: ["flow.src.site.name", "flow.dst.site.name"],
    maxMetadataFields: 0,
    timeoutMs: 600_000,
  };
  const clock = { monotonic: () => systemClock.monotonic(), now: () => at };
  const reporting = { clock, log: silentLog, metrics: createMetrics() };
  const explore = new EmbeddedExplore(config, createSamplingMemory(1), reporting, () => {});
  await explore.start();
  const lines = makeLines(lineCount);
  const renew = createRenewal(lines);
  const chunks = Math.round(rows / hours / lineCount);
  for (let hour = 0; hour < hours; hour++) {
    for (let chunk = 0; chunk < chunks; chunk++) {
      const from = begin + hour * hourMs + (chunk * hourMs) / chunks;
      renew(from, from + hourMs / chunks - 1);
      at = from + hourMs / chunks;
      explore.take(lines, lineCount);
      await explore.flush();
    }
  }
  for (let idle = 0; idle < 5; idle++) await explore.flush();
  const kept = explore.status().rows;
  const questions = {
    query: explore.query.bind(explore),
    flows: explore.flows.bind(explore),
    status: async () => explore.status(),
  };
  const profiles = new Profiles(questions, () => at);
  for (const asked of ["traffic", "rankings", "seen"]) {
    const times: number[] = [];
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn++) {
      const value = `10.${turn % 12}.${turn % 7}.${turn}`;
      const begun = performance.now();
      await profiles.answer({ field: "address", value, from: "-24h", to: "now", parts: [asked] }, never);
      times.push(performance.now() - begun);
    }
    const what = `page of an address, 24 h, ${(kept / 1e6).toFixed(1)} million records, ${asked}`;
    const { user, system } = process.cpuUsage(before);
    reportRow({ what: `${what}: p95 of ${turns}`, value: p95(times), unit: "ms", goal: "≤ 1 s at 864 million" });
    reportRow({ what: `${what}: processor time`, value: (user + system) / 1000 / turns, unit: "ms" });
  }
  await explore.stop();
}
