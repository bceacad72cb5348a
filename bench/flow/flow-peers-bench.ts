// Collectors of flows side by side: the same datagrams by the same generator, the highest rate without loss of each, and
// what a record takes of the CPU.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { startCollectorTarget } from "./collector-target.ts";
import { findRate, type FoundRate } from "./find-rate.ts";
import { recordsPerDatagram } from "./packet-layout.ts";
import { isInstalled, peers, startPeer } from "./peers.ts";
import { reportCost } from "./report-cost.ts";
import { runTrial, type Target, type Traffic } from "./trial.ts";

const seconds = 2;
const firstPort = 22_055;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
writeMetadataFile(metadataPath, 100_000);
const generator = startHelper("flow/generator-process.js");
try {
  for (const protocol of ["netflow9", "sflow"] as const) {
    const unit = protocol === "sflow" ? "samples/s" : "records/s";
    const ours = await collector(protocol);
    reportRow({ what: `${protocol}: netgloss (JSON, with two look-ups), none lost`, value: ours.best.rate, unit });
    reportCost(ours.best, ours.worst);
    for (const [i, peer] of peers.entries()) {
      if (!peer.protocols.includes(protocol)) continue;
      if (!isInstalled(peer.program)) {
        console.log(`${peer.name} is not on the PATH`);
        continue;
      }
      const target = await startPeer(peer, directory, firstPort + 10 * i, protocol);
      try {
        const { best, worst } = await search(target, protocol, peer.name === "nfcapd" ? 500_000 : 50_000);
        reportRow({
          what: `${protocol}: ${peer.name} (${peer.output}), none lost`,
          value: best.rate,
          unit,
          peer: { what: "netgloss", value: ours.best.rate },
        });
        reportCost(best, worst);
      } catch (error) {
        console.log(`${protocol}: ${peer.name}: ${String(error)}`);
      } finally {
        target.end();
      }
    }
  }
  await generator.end();
} finally {
  await rm(directory, { recursive: true, maxRetries: 3 });
}

async function search(target: Target, protocol: Traffic["protocol"], start: number): Promise<FoundRate> {
  const traffic = { protocol, exporters: 2, templates: 1 };
  await runTrial(generator, target, { ...traffic, seconds: 2 }, start / 4);
  return findRate(start, seconds, target.slack === undefined ? 0.2 : 2, (rate) =>
    runTrial(generator, target, { ...traffic, seconds }, rate),
  );
}

async function collector(protocol: "netflow9" | "sflow"): Promise<FoundRate> {
  const target = await startCollectorTarget({
    metadataPath,
    output: "/dev/null",
    recordsPerDatagram: recordsPerDatagram[protocol],
  });
  try {
    return await search(target, protocol, protocol === "sflow" ? 120_000 : 400_000);
  } finally {
    await target.process.end("SIGKILL");
  }
}
