// From the wire to the record that a broker has acknowledged, next to kcat (librdkafka), which produces a file of the same lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPartner } from "../../test/support/partner.ts";
import { startCollectorTarget, type CollectorTarget } from "../flow/collector-target.ts";
import { findRate } from "../flow/find-rate.ts";
import { recordsPerDatagram } from "../flow/packet-layout.ts";
import { reportCost } from "../flow/report-cost.ts";
import { runTrial, type Traffic } from "../flow/trial.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

const compression = "lz4";
const entries = 100_000;
/** In the file for kcat. */
const seconds = 4;
const fileRate = 100_000;
const rounds = 3;
const traffic: Traffic = { protocol: "netflow9", seconds: 3, exporters: 2, templates: 1 };

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
const linesPath = join(directory, "lines.ndjson");
writeMetadataFile(metadataPath, entries);
const generator = startHelper("flow/generator-process.js");
const ends: (() => unknown)[] = [() => rm(directory, { recursive: true }), () => generator.end()];
try {
  const broker = String((await startPartner({ after: (end) => void ends.push(end) }, "kafka"))["bootstrap"]);
  const count = await writeLines();
  await kcat(broker);
  const theirs: number[] = [];
  for (let round = 0; round < rounds; round++) theirs.push(count / (await kcat(broker)));
  const peer = { what: "kcat from a file", value: median(theirs) };
  reportRow({
    what: `kcat, a file of ${count} lines, ${Math.round((await stat(linesPath)).size / count)} bytes each`,
    value: peer.value,
    unit: "records/s",
  });
  for (const [format, messages] of [
    ["json", "lines"],
    ["protobuf", "messages of Protocol Buffers"],
  ] as const) {
    const target = await start({
      SVC_OUTPUT_KAFKA_ENABLE: "true",
      SVC_OUTPUT_KAFKA_BROKERS: broker,
      SVC_OUTPUT_KAFKA_TOPIC: `ours-${format}`,
      SVC_OUTPUT_KAFKA_FORMAT: format,
      SVC_OUTPUT_KAFKA_PRODUCER_COMPRESSION: compression,
      SVC_OUTPUT_KAFKA_BATCH_DEADLINE: "100",
    });
    // The first seconds are the compiler's, here and there.
    await runTrial(generator, target, { ...traffic, seconds: 6 }, 50_000);
    const { best, worst } = await findRate(70_000, traffic.seconds, 0.2, (rate) =>
      runTrial(generator, target, traffic, rate),
    );
    reportRow({
      what: `NetFlow v9 from the wire to Kafka, ${messages}, acknowledged, ${compression}`,
      value: best.rate,
      unit: "records/s",
      peer,
      goal: "≥ 0.5",
    });
    reportCost(best, worst);
    await target.process.end();
  }
} finally {
  for (const end of ends.toReversed()) await end();
}

async function start(settings: Readonly<Record<string, string>>): Promise<CollectorTarget> {
  const target = await startCollectorTarget({
    metadataPath,
    recordsPerDatagram: recordsPerDatagram.netflow9,
    settings,
  });
  ends.push(() => target.process.end("SIGKILL"));
  return target;
}

/** The lines that a collector writes. @returns how many. */
async function writeLines(): Promise<number> {
  const target = await start({ SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: linesPath });
  const { received } = await runTrial(generator, target, { ...traffic, seconds }, fileRate);
  await target.process.end();
  return received;
}

/** @returns how many seconds it took until all was acknowledged. */
async function kcat(broker: string): Promise<number> {
  const begun = performance.now();
  const settings = ["linger.ms=100", "acks=all", "enable.idempotence=true", "queue.buffering.max.messages=1000000"];
  const child = spawn(
    "kcat",
    ["-P", "-b", broker, "-t", "theirs", "-z", compression, ...settings.flatMap((one) => ["-X", one]), "-l", linesPath],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`kcat ended with ${String(code)}`);
  return (performance.now() - begun) / 1000;
}
