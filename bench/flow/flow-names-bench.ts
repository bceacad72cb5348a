// What client and server, identifiers and joined fields cost the whole pipeline, from the socket to the output: CPU of a record of all
// threads, with all of these names and without them, in turns.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { startCollectorTarget, type CollectorTarget } from "./collector-target.ts";
import type { Trial } from "./find-rate.ts";
import { recordsPerDatagram } from "./packet-layout.ts";
import { runTrial } from "./trial.ts";

const turns = 7;
const seconds = 2;
/** Records a second that two cores take without a loss. */
const rates = { netflow9: 200_000, ipfix: 200_000, netflow5: 200_000, sflow: 100_000 } as const;
type Protocol = keyof typeof rates;
const withoutNames = {
  SVC_PROCESSOR_EXPAND_CLISRV: "false",
  SVC_PROCESSOR_ENRICH_CONVERSATIONID_ENABLE: "false",
  SVC_PROCESSOR_ENRICH_JOIN_ASN: "false",
  SVC_PROCESSOR_ENRICH_JOIN_GEOIP: "false",
  SVC_PROCESSOR_ENRICH_JOIN_SEC: "false",
  SVC_PROCESSOR_ENRICH_JOIN_SUBNETATTR: "false",
};

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const generator = startHelper("flow/generator-process.js");
try {
  for (const protocol of Object.keys(rates) as Protocol[]) await compare(protocol);
  await generator.end();
} finally {
  await rm(directory, { recursive: true });
}

async function compare(protocol: Protocol): Promise<void> {
  const on = await start(protocol, "on", {});
  const off = await start(protocol, "off", withoutNames);
  const trial = ({ target }: Side): Promise<Trial> =>
    runTrial(generator, target, { protocol, exporters: 2, templates: 1, seconds }, rates[protocol]);
  try {
    for (const side of [on, off]) await trial(side);
    for (let turn = 0; turn < turns; turn++) for (const side of [on, off]) side.trials.push(await trial(side));
  } finally {
    for (const { target } of [on, off]) await target.process.end("SIGKILL");
  }
  reportRow({
    what: `${protocol}, all names: a record through the pipeline`,
    value: median(on.trials.map(allThreads)),
    unit: "ns",
    peer: { what: "without these names", value: median(off.trials.map(allThreads)) },
    goal: "≤ 1.25 ×",
  });
  const lost = [...on.trials, ...off.trials].reduce((sum, { sent, received }) => sum + sent - received, 0);
  if (lost > 0) reportRow({ what: "  lost", value: lost, unit: "records" });
}

interface Side {
  readonly target: CollectorTarget;
  readonly trials: Trial[];
}

/** A collector with a metadata file of its own. */
async function start(protocol: Protocol, name: string, settings: Readonly<Record<string, string>>): Promise<Side> {
  const metadataPath = join(directory, `${protocol}-${name}.yml`);
  writeMetadataFile(metadataPath, 100_000);
  const target = await startCollectorTarget({
    metadataPath,
    output: "/dev/null",
    settings,
    recordsPerDatagram: recordsPerDatagram[protocol],
  });
  return { target, trials: [] };
}

/** Nanoseconds of CPU for a record. */
function allThreads({ cpu }: Trial): number {
  return Object.values(cpu).reduce((sum, each) => sum + each, 0);
}
