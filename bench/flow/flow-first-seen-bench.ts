// What NetFlow v9 records whose addresses are all new cost the whole pipeline, from the socket to the output: CPU of a record of all threads,
// in turns with a plain record, whose addresses are those of traffic.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeAddressDatabases } from "../enrich/address-databases.ts";
import { addressPlan } from "../enrich/address-plan.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { startCollectorTarget, type CollectorTarget } from "./collector-target.ts";
import type { Trial } from "./find-rate.ts";
import { recordsPerDatagram } from "./packet-layout.ts";
import { runTrial, type Traffic } from "./trial.ts";

const turns = 7;
const seconds = 2;
/** Records a second that two cores take without a loss. */
const rate = 80_000;
/** In both its halves a cache of this size has fewer addresses than come before the first comes again. */
const cacheSize = 65_536;

interface Side {
  readonly what: string;
  readonly target: CollectorTarget;
  readonly addresses: "traffic" | "hosts";
  readonly trials: Trial[];
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const generator = startHelper("flow/generator-process.js");
// A name server that never answers: what waits for it is as much as may wait.
const nameServer = createSocket("udp4").bind(0, "127.0.0.1");
await once(nameServer, "listening");
try {
  await compare();
  await generator.end();
} finally {
  nameServer.close();
  await rm(directory, { recursive: true });
}

async function compare(): Promise<void> {
  const databases = await writeAddressDatabases(directory);
  const sources = {
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: databases.asn,
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: databases.geoip,
    SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: `127.0.0.1:${nameServer.address().port}`,
  };
  const plain = await start("a plain record", "traffic", {});
  const all = [
    plain,
    await start("all addresses new, four entries each", "hosts", {}),
    await start("all addresses new, four entries each, MMDB and DNS", "hosts", sources),
  ];
  try {
    for (const side of all) await trial(side);
    for (let turn = 0; turn < turns; turn++) for (const side of all) side.trials.push(await trial(side));
  } finally {
    for (const { target } of all) await target.process.end("SIGKILL");
  }
  const value = costOf(plain);
  reportRow({ what: `netflow9, ${plain.what} through the pipeline`, value, unit: "ns" });
  for (const side of all.slice(1)) {
    reportRow({
      what: side.what,
      value: costOf(side),
      unit: "ns",
      peer: { what: plain.what, value },
      goal: "≤ 3 ×",
    });
  }
  const lost = all.flatMap(({ trials }) => trials).reduce((sum, { sent, received }) => sum + sent - received, 0);
  if (lost > 0) reportRow({ what: "  lost", value: lost, unit: "records" });
}

/** A collector with a metadata file of its own. */
async function start(
  what: string,
  addresses: Side["addresses"],
  settings: Readonly<Record<string, string>>,
): Promise<Side> {
  const metadataPath = join(directory, `${what}.yml`);
  if (addresses === "hosts") await writeFile(metadataPath, addressPlan("plain"));
  else writeMetadataFile(metadataPath, 100_000);
  const target = await startCollectorTarget({
    metadataPath,
    output: "/dev/null",
    settings: { ...settings, SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: String(cacheSize) },
    recordsPerDatagram: recordsPerDatagram.netflow9,
  });
  return { what, target, addresses, trials: [] };
}

function trial({ target, addresses }: Side): Promise<Trial> {
  const traffic: Traffic = { protocol: "netflow9", exporters: 2, templates: 1, seconds, addresses };
  return runTrial(generator, target, traffic, rate);
}

/** Nanoseconds of CPU of all threads for a record. */
function costOf({ trials }: Side): number {
  return median(trials.map(({ cpu }) => Object.values(cpu).reduce((sum, each) => sum + each, 0)));
}
