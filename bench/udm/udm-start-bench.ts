// What a start with metadata costs: until the store is ready, and how long the event loop stands still meanwhile.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import type { StartCost } from "./start-process.ts";

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const peerEntries = 100_000;
try {
  const peerFile = join(directory, "peer.yml");
  writeMetadataFile(peerFile, peerEntries);
  const peerText = await readFile(peerFile, "utf8");
  const begin = performance.now();
  load(peerText);
  const peerMs = performance.now() - begin;
  await measureStart(1000, 5, peerMs);
  await measureStart(100_000, 5, peerMs, "≤ 500 ms");
  await measureStart(1_000_000, 3, peerMs, "≤ 3 s");
} finally {
  await rm(directory, { recursive: true });
}

/** @param peerMs what the peer takes for {@link peerEntries}. */
async function measureStart(entries: number, rounds: number, peerMs: number, goal?: string): Promise<void> {
  const path = join(directory, `${entries}.yml`);
  writeMetadataFile(path, entries);
  const costs: StartCost[] = [];
  for (let round = 0; round < rounds; round++) {
    const helper = startHelper("udm/start-process.js");
    costs.push(await helper.ask<StartCost>(path));
    await helper.end();
  }
  const of = (figure: keyof StartCost): number => median(costs.map((cost) => cost[figure]));
  if (of("entries") !== entries) throw new Error(`${of("entries")} entries were read of ${entries}`);
  const what = `start with ${entries.toLocaleString("en").replaceAll(",", " ")} entries`;
  const peer = { what: "js-yaml's load alone, of 100 000 and scaled", value: (peerMs * entries) / peerEntries };
  reportRow({
    what: `${what}, until it is ready`,
    value: of("ms"),
    unit: "ms",
    peer,
    ...(goal !== undefined && { goal }),
  });
  reportRow({ what: `${what}, processor time`, value: of("cpuMs"), unit: "ms" });
  reportRow({ what: `${what}, of that the main thread`, value: of("mainCpuMs"), unit: "ms" });
  reportRow({ what: `${what}, longest block of the loop`, value: of("longestBlockMs"), unit: "ms", goal: "≤ 50 ms" });
  reportRow({ what: `${what}, resident afterwards`, value: of("residentMb"), unit: "MB" });
  reportRow({ what: `${what}, index`, value: of("indexMb"), unit: "MB" });
}
