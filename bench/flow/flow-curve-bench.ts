// What a record takes of the CPU, all threads together, with more metadata, more exporters, more templates.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { startCollectorTarget, type CollectorTarget } from "./collector-target.ts";
import { recordsPerDatagram } from "./packet-layout.ts";
import { runTrial } from "./trial.ts";

interface Point {
  readonly entries: number;
  readonly exporters: number;
  readonly templates: number;
}

const usual: Point = { entries: 100_000, exporters: 2, templates: 1 };
const rate = 150_000;
/** Long enough that each template of each exporter has been seen so often that a program is made for it. */
const warmRecords = 64;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const generator = startHelper("flow/generator-process.js");
try {
  let usualTime: number | undefined;
  for (const entries of [100_000, 1000, 1_000_000]) {
    const metadataPath = join(directory, "ipaddrs.yml");
    writeMetadataFile(metadataPath, entries);
    const target = await startCollectorTarget({
      metadataPath,
      output: "/dev/null",
      recordsPerDatagram: recordsPerDatagram.netflow9,
    });
    try {
      const points: Partial<Point>[] = [{ entries }];
      if (entries === usual.entries) {
        points.push(
          { exporters: 1 },
          { exporters: 100 },
          { exporters: 10_000 },
          { templates: 100 },
          { templates: 1000 },
        );
      }
      for (const point of points) usualTime = (await measure(target, { ...usual, ...point }, usualTime)) ?? usualTime;
    } finally {
      await target.process.end("SIGKILL");
    }
  }
  await generator.end();
} finally {
  await rm(directory, { recursive: true });
}

/** @returns nanoseconds for a record; the first that is measured is what the others are compared with. */
async function measure(target: CollectorTarget, point: Point, usualTime: number | undefined): Promise<number> {
  const traffic = { protocol: "netflow9", exporters: point.exporters, templates: point.templates } as const;
  const warmSeconds = Math.max(2, (3 * warmRecords * point.exporters * point.templates) / rate);
  await runTrial(generator, target, { ...traffic, seconds: warmSeconds }, rate);
  const trial = await runTrial(generator, target, { ...traffic, seconds: 2 }, rate);
  const time = Object.values(trial.cpu).reduce((sum, each) => sum + each, 0);
  const { entries, exporters, templates } = point;
  const count = (number: number): string => number.toLocaleString("en").replaceAll(",", " ");
  reportRow({
    what: `${count(entries)} entries, ${count(exporters)} exporters, ${count(templates)} templates each`,
    value: time,
    unit: "ns/record",
    ...(usualTime !== undefined && { peer: { what: "the first of these", value: usualTime } }),
  });
  const lost = trial.sent - trial.received;
  if (lost > 0) {
    const places = Object.entries(trial.lost).map(([place, number]) => `${place} ${number}`);
    reportRow({ what: `  lost at ${rate}/s: ${places.join(", ")}`, value: (100 * lost) / trial.sent, unit: "%" });
  }
  return usualTime ?? time;
}
