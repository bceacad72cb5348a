// The whole way of flow records, from the socket to the output: the highest rate without loss, and what it costs.
import { open, mkdtemp, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeBareFile } from "../support/bare-file.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { startCollectorTarget } from "./collector-target.ts";
import { findRate, type FoundRate } from "./find-rate.ts";
import { protocols, recordsPerDatagram } from "./packet-layout.ts";
import { reportCost } from "./report-cost.ts";
import { runTrial, type Target, type Traffic } from "./trial.ts";

const entries = 100_000;
const seconds = 1.5;
const maxDrain = 0.2;
const goals: Readonly<Record<(typeof protocols)[number] | "mix", readonly [toNull: number, toFile: number]>> = {
  netflow9: [1_000_000, 400_000],
  "netflow9-ipv6": [600_000, 240_000],
  ipfix: [600_000, 240_000],
  netflow5: [1_000_000, 400_000],
  sflow: [200_000, 200_000],
  mix: [600_000, 240_000],
};

const averageRecords = protocols.reduce((sum, protocol) => sum + recordsPerDatagram[protocol], 0) / protocols.length;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPaths = { 4: join(directory, "ipaddrs.yml"), 6: join(directory, "ipaddrs6.yml") } as const;
writeMetadataFile(metadataPaths[4], entries, 4);
writeMetadataFile(metadataPaths[6], entries, 6);
const generator = startHelper("flow/generator-process.js");
try {
  const bare = await bareReceiver();
  reportRow({ what: "a bare socket that only counts, none lost", value: bare.best.rate, unit: "records/s" });
  reportCost(bare.best);
  for (const protocol of Object.keys(goals) as (keyof typeof goals)[]) {
    for (const output of ["/dev/null", join(directory, "flows.ndjson")]) {
      const { best, worst, bareFile } = await collector(protocol, output);
      const isFile = bareFile !== undefined;
      reportRow({
        what: `${protocol} to ${isFile ? "a file" : output}, none lost`,
        value: best.rate,
        unit: protocol === "sflow" ? "samples/s" : "records/s",
        peer: isFile
          ? { what: "a bare file of such lines", value: bareFile }
          : { what: "the bare socket", value: bare.best.rate },
        goal: goals[protocol][isFile ? 1 : 0].toLocaleString("en").replaceAll(",", " "),
      });
      reportCost(best, worst);
    }
  }
  await allNew();
  await generator.end();
} finally {
  await rm(directory, { recursive: true });
}

/** Addresses all over 10.0.0.0/8: each is looked up for the first time, and no cache helps. */
async function allNew(): Promise<void> {
  const target = await startCollectorTarget({
    metadataPath: metadataPaths[4],
    output: "/dev/null",
    recordsPerDatagram: recordsPerDatagram.netflow9,
  });
  const order: Traffic = { ...traffic("netflow9"), addresses: "all" };
  try {
    await runTrial(generator, target, { ...order, seconds: 3 }, 100_000);
    const { best, worst } = await findRate(400_000, seconds, maxDrain, (rate) =>
      runTrial(generator, target, order, rate),
    );
    const what = "netflow9 to /dev/null, all addresses new, none lost";
    reportRow({ what, value: best.rate, unit: "records/s", goal: "600 000" });
    reportCost(best, worst);
  } finally {
    await target.process.end("SIGKILL");
  }
}

function traffic(protocol: Traffic["protocol"]): Traffic {
  return { protocol, seconds, exporters: protocol === "mix" ? 2 * protocols.length : 2, templates: 1 };
}

async function bareReceiver(): Promise<FoundRate> {
  const helper = startHelper("flow/receiver-process.js");
  const port = await helper.ask<number>("port");
  const target: Target = {
    port,
    cpu: () => new Map(),
    async counts() {
      return { received: (await helper.ask<number>("count")) * recordsPerDatagram.netflow9, lost: {} };
    },
  };
  const found = await findRate(1_000_000, seconds, maxDrain, (rate) =>
    runTrial(generator, target, traffic("netflow9"), rate),
  );
  await helper.end();
  return found;
}

interface Measured extends FoundRate {
  /** How many lines a second went into a file without a collector, just before the trials; undefined without a file. */
  readonly bareFile: number | undefined;
}

async function collector(protocol: Traffic["protocol"], output: string): Promise<Measured> {
  const target = await startCollectorTarget({
    metadataPath: metadataPaths[protocol === "netflow9-ipv6" ? 6 : 4],
    output,
    recordsPerDatagram: protocol === "mix" ? averageRecords : recordsPerDatagram[protocol],
  });
  try {
    // The first seconds are the compiler's.
    await runTrial(generator, target, { ...traffic(protocol), seconds: 2 }, 100_000);
    const isFile = output !== "/dev/null";
    const lineBytes = isFile ? (await stat(output)).size / (await target.counts()).received : 0;
    const bareFiles: number[] = [];
    const found = await findRate(protocol === "sflow" ? 120_000 : 400_000, seconds, maxDrain, async (rate) => {
      if (!isFile) return runTrial(generator, target, traffic(protocol), rate);
      // What was written before is not to count against the system's limit of pages that wait for the disk.
      await truncate(output);
      bareFiles.push((await writeBareFile(`${output}.bare`, 2 * rate * seconds * lineBytes)) / lineBytes);
      const trial = await runTrial(generator, target, traffic(protocol), rate);
      await checkFile(output, trial.received);
      return trial;
    });
    await target.process.end();
    return { ...found, bareFile: isFile ? median(bareFiles) : undefined };
  } finally {
    await target.process.end("SIGKILL");
    if (output !== "/dev/null") await rm(output, { force: true });
  }
}

/** The file must hold what the collector says it has written. */
async function checkFile(path: string, records: number): Promise<void> {
  const file = await open(path);
  let lines = 0;
  const buffer = Buffer.alloc(4 * 1024 * 1024);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) break;
    const bytes = buffer.subarray(0, bytesRead);
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) lines++;
  }
  await file.close();
  if (lines !== records) throw new Error(`${path} has ${lines} lines where ${records} records were written`);
}
