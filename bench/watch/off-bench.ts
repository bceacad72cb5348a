// What Watch costs the threads that decode: CPU of a record of a collector without it, of one with five rules, and of one that was built from the
// commit before Watch, in turns. `NETGLOSS_BEFORE` names the folder of that one; without it, there is no such figure. All that has changed since is
// in it, too: only a collector that has become dearer says something of Watch.
//   git worktree add ../before "$(git log --format=%H --diff-filter=A -- src/watch/watch.ts)^"
//   (cd ../before && npm ci && npm run build) && NETGLOSS_BEFORE=$PWD/../before npm run bench -- watch-off
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCollectorTarget, type CollectorTarget } from "../flow/collector-target.ts";
import type { Trial } from "../flow/find-rate.ts";
import { recordsPerDatagram } from "../flow/packet-layout.ts";
import { cpuOfRecord, runTrial } from "../flow/trial.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { fiveRules } from "./five-rules.ts";

const turns = 12;
/** Records a second: enough to be measured, and few enough that a busy host takes them. */
const rate = 50_000;
const traffic = { protocol: "netflow9", exporters: 2, templates: 1, seconds: 3 } as const;

interface Side {
  readonly name: "before" | "off" | "on";
  readonly target: CollectorTarget;
  readonly trials: Trial[];
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const rulesPath = join(directory, "watch.yml");
await writeFile(rulesPath, fiveRules);
const before = process.env["NETGLOSS_BEFORE"];
const generator = startHelper("flow/generator-process.js");

async function start(name: Side["name"]): Promise<Side> {
  const metadataPath = join(directory, `${name}.yml`);
  writeMetadataFile(metadataPath, 1000);
  const target = await startCollectorTarget({
    metadataPath,
    output: "/dev/null",
    ...(name === "on" && { settings: { SVC_WATCH_RULES_PATH: rulesPath } }),
    ...(name === "before" && { folder: before }),
    recordsPerDatagram: recordsPerDatagram.netflow9,
  });
  return { name, target, trials: [] };
}

const sides: Side[] = [];
try {
  for (const name of ["before", "off", "on"] as const)
    if (name !== "before" || before !== undefined) sides.push(await start(name));
  for (const { target } of sides) await runTrial(generator, target, traffic, rate);
  for (let turn = 0; turn < turns; turn++)
    // Each is the first as often as the others.
    for (let i = 0; i < sides.length; i++) {
      const side = sides[(turn + i) % sides.length] as Side;
      side.trials.push(await runTrial(generator, side.target, traffic, rate));
    }
  await generator.end();
} finally {
  for (const { target } of sides) await target.process.end("SIGKILL");
  await rm(directory, { recursive: true });
}

const costs = new Map(sides.map(({ name, trials }) => [name, cpuOfRecord(trials)]));
const [old, off = 0, on = 0] = [costs.get("before"), costs.get("off"), costs.get("on")];
if (old !== undefined) {
  reportRow({
    what: "CPU of a record, Watch off",
    value: off,
    unit: "ns",
    peer: { what: "the commit before Watch", value: old },
  });
  reportRow({ what: "dearer than before Watch, off", value: 100 * (off / old - 1), unit: "%", goal: "≤ 3 %" });
}
reportRow({ what: "CPU of a record, five rules", value: on, unit: "ns", peer: { what: "off", value: off } });
