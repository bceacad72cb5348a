// One load of our own definitions in a process of its own: the first load of a start, of which nothing is compiled by V8 yet.
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn } from "../../src/snmp/index.ts";

export interface LoadFigures {
  /** Milliseconds of CPU, of all threads of the process. */
  readonly cpu: number;
  /** The longest that the event loop was held, milliseconds. */
  readonly held: number;
  readonly attributes: number;
  readonly parsed: number;
}

const root = join(import.meta.dirname, "../../..");

/** @param compiled whether the compiled form of the program is used. */
async function load(compiled: boolean): Promise<LoadFigures> {
  const loader = new DefinitionsLoader({
    paths: definitionPathsIn(join(root, "definitions")),
    metrics: createMetrics(),
    clock: systemClock,
    compiled: join(root, compiled ? "dist/program/definitions.compiled" : "none"),
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  // The monitor counts from its first tick on, and sees a block when the loop turns again.
  await sleep(5);
  const before = process.cpuUsage();
  const { definitions, parsedFiles } = await loader.load("start");
  const { user, system } = process.cpuUsage(before);
  await sleep(5);
  delay.disable();
  const counts = Array.from(definitions?.objects.values() ?? [], (object) => object.attributes.size);
  const attributes = counts.reduce((sum, count) => sum + count, 0);
  return { cpu: (user + system) / 1000, held: delay.max / 1e6, attributes, parsed: parsedFiles };
}

process.on("message", (compiled: boolean) => {
  void load(compiled).then((figures) => process.send?.(figures));
});
process.on("disconnect", () => process.exit());
