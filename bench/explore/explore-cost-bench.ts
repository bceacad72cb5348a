// What Explore costs the collector: CPU of a record at 100 000 a second, what the flows lose, and what the output to a file takes, with Explore and
// without it in turns.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCollectorTarget, type CollectorTarget } from "../flow/collector-target.ts";
import type { Trial } from "../flow/find-rate.ts";
import { recordsPerDatagram } from "../flow/packet-layout.ts";
import { cpuOfRecord, cpuOfThread, runTrial } from "../flow/trial.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

/** Of each rate, and of the default, by which it is judged. */
const turns = 4;
const defaultTurns = 10;
/** Records a second: what Explore is judged by, and more than is taken. */
const usualRate = 100_000;
const highRate = 400_000;
const seconds = 4;
/** How long Explore may take to find out how many records one stands for. */
const burstSeconds = 2;
const traffic = { protocol: "netflow9", exporters: 2, templates: 1, seconds } as const;

interface Side {
  readonly target: CollectorTarget;
  /** After a calm, at the usual rate. */
  readonly burst: Trial[];
  /** Right after that. */
  readonly usual: Trial[];
  readonly high: Trial[];
  /** Rows a second that Explore kept in the usual trials. */
  readonly kept: number[];
  readonly count: (metric: string) => Promise<number>;
}

interface Pair {
  readonly off: Side;
  readonly on: Side;
  /** Records that Explore dropped. */
  readonly missed: number;
}

/** How many records a second are kept: by default all, and of more than 10 000 so many. */
const keptRates = ["all", 1000, 2500, 10_000] as const;
type KeptRate = (typeof keptRates)[number];

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const generator = startHelper("flow/generator-process.js");
const start = async (name: string, settings: Readonly<Record<string, string>>): Promise<Side> => {
  const metadataPath = join(directory, `${name}.yml`);
  writeMetadataFile(metadataPath, 1000);
  const target = await startCollectorTarget({
    metadataPath,
    output: "/dev/null",
    settings,
    recordsPerDatagram: recordsPerDatagram.netflow9,
  });
  const count = async (metric: string): Promise<number> => (await target.process.metrics([metric]))[0] ?? 0;
  return { target, burst: [], usual: [], high: [], kept: [], count };
};
/** Two collectors at a time, in turns: more of them would take each other's cache. */
const runPair = async (keptRate: KeptRate, rounds: number, withHigh: boolean): Promise<Pair> => {
  const name = `rate-${String(keptRate)}`;
  const off = await start(`without-${name}`, {});
  const on = await start(name, {
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, name),
    ...(keptRate !== "all" && { SVC_EXPLORE_MAX_RATE: "10000", SVC_EXPLORE_SAMPLED_RATE: String(keptRate) }),
  });
  const sides = [off, on];
  try {
    for (const { target } of sides) await runTrial(generator, target, traffic, usualRate);
    for (let round = 0; round < rounds; round++) {
      for (const side of sides) {
        side.burst.push(await runTrial(generator, side.target, { ...traffic, seconds: burstSeconds }, usualRate));
        const before = await side.count("netgloss_explore_rows_total");
        side.usual.push(await runTrial(generator, side.target, traffic, usualRate));
        side.kept.push(((await side.count("netgloss_explore_rows_total")) - before) / seconds);
        if (withHigh) side.high.push(await runTrial(generator, side.target, traffic, highRate));
      }
    }
    return { off, on, missed: await on.count('netgloss_output_dropped_records_total{output="explore"') };
  } finally {
    for (const { target } of sides) await target.process.end("SIGKILL");
  }
};

try {
  for (const [i, rate] of keptRates.entries())
    report(rate, await runPair(rate, i === 0 ? defaultTurns : turns, i === 0));
  await generator.end();
} finally {
  await rm(directory, { recursive: true });
}

function report(keptRate: KeptRate, { off, on, missed }: Pair): void {
  const cpu = ({ usual }: Side): number => cpuOfRecord(usual);
  const late = ({ usual }: Side): number => median(usual.map(({ drainSeconds }) => 1000 * drainSeconds));
  /** Records that the file takes a second, while more are offered. */
  const rate = ({ high }: Side): number =>
    median(high.map(({ received, drainSeconds }) => received / (seconds + drainSeconds)));
  const dropped = ({ usual, burst }: Side): number =>
    [...usual, ...burst].reduce((sum, { lost }) => sum + Object.values(lost).reduce((all, count) => all + count, 0), 0);

  if (on.high.length > 0) {
    reportRow({
      what: `CPU of a record with Explore, at ${String(usualRate)} records/s`,
      value: cpu(on),
      unit: "ns",
      peer: { what: "without", value: cpu(off) },
    });
  }
  reportRow({
    what: `Explore's part of the CPU of the pipeline, ${keptRate === "all" ? "all kept" : `SVC_EXPLORE_SAMPLED_RATE=${String(keptRate)}`}`,
    value: 100 * (cpu(on) / cpu(off) - 1),
    unit: "%",
    goal: "≤ 10 %",
  });
  reportRow({ what: "  its own thread", value: (100 * cpuOfThread(on.usual, "explore")) / cpu(off), unit: "%" });
  reportRow({ what: "  kept", value: median(on.kept), unit: "records/s" });
  reportRow({
    what: `  lost by the flows at ${String(usualRate)} records/s, bursts included`,
    value: dropped(on),
    unit: "records",
    peer: { what: "without", value: dropped(off) },
    goal: "none",
  });
  if (on.high.length === 0) return;
  reportRow({
    what: "  in the first seconds of a burst",
    value: 100 * (cpuOfRecord(on.burst) / cpuOfRecord(off.burst) - 1),
    unit: "%",
  });
  reportRow({
    what: "records that the file takes a second, of more",
    value: rate(on),
    unit: "records/s",
    peer: { what: "without", value: rate(off) },
  });
  reportRow({
    what: "how long the last records take to the file",
    value: late(on),
    unit: "ms",
    peer: { what: "without", value: late(off) },
  });
  reportRow({ what: "records that Explore itself missed, all trials", value: missed, unit: "records" });
}
