// Loading a set of definitions of the size of a vendor's complete collection: the first time, again unchanged, and again
// with one file changed; and how long the event loop was blocked at most meanwhile.
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, diffDefinitions, formatFinding } from "../../src/snmp/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { writeDefinitionSet } from "./definitions-set.ts";

const rounds = 3;

const goals: Readonly<Record<string, string>> = { "first load": "≤ 1 500", unchanged: "≤ 200" };

const directory = await mkdtemp(join(tmpdir(), "netgloss-definitions-"));
try {
  const { files, bytes } = await writeDefinitionSet(directory);
  console.log(`${files} files, ${(bytes / 1e6).toFixed(1)} MB`);
  const measure = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    // The monitor counts from its first tick on.
    await new Promise((done) => setTimeout(done, 5));
    const start = performance.now();
    const result = await run();
    const duration = performance.now() - start;
    // The monitor sees a block when the loop turns again.
    await new Promise((done) => setTimeout(done, 5));
    delay.disable();
    const goal = goals[what];
    reportRow({ what, value: duration, unit: "ms", ...(goal !== undefined && { goal }) });
    reportRow({ what: `  ${what}: event loop blocked at most`, value: delay.max / 1e6, unit: "ms", goal: "≤ 50" });
    return result;
  };
  for (let round = 0; round < rounds; round++) {
    const loader = new DefinitionsLoader({
      paths: definitionPathsIn(directory),
      metrics: createMetrics(),
      clock: systemClock,
    });
    const first = await measure("first load", () => loader.load("start"));
    const [finding] = first.findings;
    if (finding !== undefined || first.definitions === undefined) throw new Error(finding && formatFinding(finding));
    const { definitions } = first;
    const same = await measure("unchanged", () => loader.load("apply"));
    if (same.definitions !== definitions || same.parsedFiles !== 0) throw new Error("the set was made again");
    await appendFile(join(directory, "objects/vendor0/mib-0.yml"), "      # changed\n      rediscover: OnChange\n");
    const changed = await measure("one file changed", () => loader.load("apply"));
    const diff = await measure("difference", async () => {
      if (changed.definitions === undefined) throw new Error("the changed set was refused");
      return diffDefinitions(definitions, changed.definitions);
    });
    console.log(`${diff.byKind.object.changed.length} object changed, ${diff.devices.size} devices affected`);
    await writeDefinitionSet(directory);
  }
} finally {
  await rm(directory, { recursive: true });
}
