// How long small reads take while long calls are under way, with a million entries: lists of all of them and batches that create
// 100 000 more. Clients have processes of their own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { BatchCreateUdmsRequestSchema } from "../../src/server/gen/udm/v1/udm_pb.ts";
import { metadataSettings, startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { metadataKey, writeMetadataFile } from "../support/metadata-file.ts";
import type { LongCall, LongCallResult } from "./long-call-process.ts";
import type { ProbeOrder, ProbeTimes } from "./probe-process.ts";

const entryCount = 1_000_000;
const batchSize = 100_000;
const listRounds = 3;
/** How long the reads run alone. */
const quietMs = 5_000;
const service = "/api/v1/enrich/ipaddr/udm.v1.UdmService";

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
writeMetadataFile(metadataPath, entryCount);
const collector = await startCollectorProcess({ settings: metadataSettings(metadataPath) });
const pid = collector.child.pid ?? 0;
const port = Number(new URL(collector.api).port);
const probe = startHelper("api/probe-process.js");
const caller = startHelper("api/long-call-process.js");
try {
  const wait = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, quietMs));
  // The first calls find nothing compiled.
  await during(wait);
  const quiet = await during(wait);
  report("alone", quiet);
  const lists: Partial<Record<LongCall["wire"], number>> = {};
  for (const wire of ["REST", "Connect", "gRPC", "gRPC-Web"] as const) {
    const body = wire === "REST" ? Buffer.from("{}") : Buffer.alloc(0);
    await call({ wire, port, path: `${service}/ListUdms`, body });
    const start = cpuTime(pid);
    const seen = await during(async () => {
      for (let i = 0; i < listRounds; i++) await call({ wire, port, path: `${service}/ListUdms`, body });
    });
    lists[wire] = ((cpuTime(pid) - start) / listRounds / entryCount) * 1e6;
    report(`all by ${wire}`, seen, quiet);
  }
  for (const wire of ["Connect", "gRPC", "gRPC-Web"] as const) {
    if (lists[wire] === undefined || lists.REST === undefined) continue;
    const peer = { what: "REST", value: lists.REST };
    reportRow({
      what: `an entry of a list of all by ${wire}`,
      value: lists[wire],
      unit: "µs CPU",
      peer,
      goal: "≤ 3 ×",
    });
  }
  for (const [i, wire] of (["REST", "Connect", "gRPC", "gRPC-Web"] as const).entries()) {
    const body = batchBody(wire, 11 + i);
    const seen = await during(() => call({ wire, port, path: `${service}/BatchCreateUdms`, body }));
    report(`${batchSize} created by ${wire}`, seen, quiet);
  }
} finally {
  await Promise.all([probe.end(), caller.end()]);
  await collector.end();
  await rm(directory, { recursive: true });
}

interface Seen extends ProbeTimes {
  /** Longest time that a timer of the collector was late, milliseconds. */
  readonly held: number;
  readonly ms: number;
}

async function during(action: () => Promise<unknown>): Promise<Seen> {
  const order = { port, path: `${service}/ListUdms`, body: JSON.stringify({ key: metadataKey(300), exact: true }) };
  await lag();
  await probe.ask({ op: "start", ...order } satisfies ProbeOrder);
  const start = performance.now();
  await action();
  const ms = performance.now() - start;
  const times = await probe.ask<ProbeTimes>({ op: "stop", ...order } satisfies ProbeOrder);
  const held = await lag();
  return { ...times, held, ms };
}

/** Since the last reading. */
async function lag(): Promise<number> {
  const text = await (await fetch(`${collector.api}/metrics`)).text();
  return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (.*)$/m.exec(text)?.[1]);
}

async function call(what: LongCall): Promise<LongCallResult> {
  return caller.ask<LongCallResult>(what);
}

function report(what: string, seen: Seen, quiet?: Seen): void {
  const peer = (value: number): { peer?: { what: string; value: number } } =>
    quiet === undefined ? {} : { peer: { what: "alone", value } };
  reportRow({ what: `${what}: list one key by REST, p99`, value: seen.p99, unit: "ms", ...peer(quiet?.p99 ?? 0) });
  reportRow({ what: `${what}: list one key by REST, longest`, value: seen.max, unit: "ms", ...peer(quiet?.max ?? 0) });
  reportRow({ what: `${what}: event loop held, longest`, value: seen.held, unit: "ms", goal: "≤ 50 ms" });
  if (quiet !== undefined) reportRow({ what: `${what}: the long call itself`, value: seen.ms, unit: "ms" });
}

function batchBody(wire: LongCall["wire"], net: number): Buffer {
  const requests = Array.from({ length: batchSize }, (_, i) => ({
    udm: {
      key: `${net}.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
      name: `net-${i}`,
      tags: [`site-${i >> 8}`, "prod"],
      vlan: String((i % 4000) + 1),
      metadata: { ".site.name": `Site ${i >> 8}` },
    },
  }));
  if (wire === "REST") return Buffer.from(JSON.stringify({ requests }));
  const messages = requests.map(({ udm }) => ({ udm: { ...udm, vlan: BigInt(udm.vlan) } }));
  return Buffer.from(
    toBinary(BatchCreateUdmsRequestSchema, create(BatchCreateUdmsRequestSchema, { requests: messages })),
  );
}
