// Loading a set of definitions of the size of a vendor's complete collection: the first time, again unchanged, and again
// with one file changed; and how long the event loop was blocked at most meanwhile. Before that our own definitions, as the program has
// them compiled, and as YAML in turns: each load in a process of its own, as of a start; the best of some rounds, for the host may be busy.
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, diffDefinitions, formatFinding } from "../../src/snmp/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { writeDefinitionSet } from "./definitions-set.ts";
import type { LoadFigures } from "./load-process.ts";

const rounds = 3;

const goals: Readonly<Record<string, string>> = { "first load": "≤ 1 500", unchanged: "≤ 200" };

async function loadOurs(compiled: boolean): Promise<LoadFigures> {
  const helper = startHelper("snmp/load-process.js");
  const figures = await helper.ask<LoadFigures>(compiled);
  await helper.end();
  return figures;
}

const ofYaml: LoadFigures[] = [];
const ofCompiled: LoadFigures[] = [];
for (let round = 0; round < rounds; round++) {
  ofYaml.push(await loadOurs(false));
  ofCompiled.push(await loadOurs(true));
}
const least = (figures: readonly LoadFigures[], of: "cpu" | "held"): number =>
  Math.min(...figures.map((one) => one[of]));
const [{ attributes, parsed } = { attributes: 0, parsed: 0 }] = ofCompiled;
if (parsed > 10) throw new Error("the compiled definitions are not those of the files: build the program first");
reportRow({
  what: `our own definitions, ${attributes} attributes: first load`,
  value: least(ofCompiled, "cpu"),
  unit: "ms of CPU",
  peer: { what: "YAML", value: least(ofYaml, "cpu") },
  goal: "≤ 1 200",
});
reportRow({ what: "  event loop blocked at most", value: least(ofCompiled, "held"), unit: "ms", goal: "≤ 50" });

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
