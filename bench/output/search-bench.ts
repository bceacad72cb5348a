// What `_bulk` of a real OpenSearch takes from us, next to what it takes from parallel curl of prepared bodies of the same lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adapterOf } from "../../test/output/adapter-fixture.ts";
import { startPartner } from "../../test/support/partner.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { decodeLines, startDelivery, type Lines } from "./delivery-lines.ts";

const rounds = 5;
const inFlight = 4;
/** Records of one round: enough that the last requests, which leave some connections idle, do not count. */
const wanted = 30_000;
const batchRecords = 2000;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const ends: (() => unknown)[] = [() => rm(directory, { recursive: true })];
try {
  const { url } = await startPartner({ after: (end) => void ends.push(end) }, "opensearch");
  const lines = someOf(decodeLines().lines);
  const count = lines.reduce((total, one) => total + one.count, 0);
  const delivery = startDelivery(
    adapterOf("OPENSEARCH", {
      ADDRESSES: [String(url)],
      INDEX_TEMPLATE_CODEC: "default",
      INDEX_TEMPLATE_ISM_POLICY: "none",
    }),
    {
      REQUESTS_IN_FLIGHT: inFlight,
      maxBatchRecords: batchRecords,
    },
  );
  const bodies = await writeBodies(lines);
  const ours: number[] = [];
  const theirs: number[] = [];
  const deliver = async (): Promise<number> => {
    const target = delivery.state().deliveredRecords + count;
    const begun = performance.now();
    for (const one of lines) delivery.add(one.bytes, one.count, () => {});
    while (delivery.state().deliveredRecords < target) await sleep(5);
    return performance.now() - begun;
  };
  for (let round = 0; round <= rounds; round++) {
    // Each is first in turn: the server becomes faster with time, and merges what came before.
    const isFirst = round % 2 === 0;
    const before = isFirst ? await deliver() : undefined;
    const curlMs = await curl(String(url), bodies);
    const ms = before ?? (await deliver());
    if (round === 0) continue;
    ours.push((1000 * count) / ms);
    theirs.push((1000 * count) / curlMs);
  }
  await delivery.stop(1000);
  reportRow({
    what: `_bulk of OpenSearch, ${inFlight} at a time, ${batchRecords} records each`,
    value: median(ours),
    unit: "records/s",
    peer: { what: "parallel curl of prepared bodies", value: median(theirs) },
    goal: "≥ 0.9",
  });
} finally {
  for (const end of ends.toReversed()) await end();
}

function someOf(lines: readonly Lines[]): readonly Lines[] {
  let records = 0;
  return lines.filter(({ count }) => (records += count) - count < wanted);
}

/** The lines behind actions that create them, in files of as many records as our batches have. Identities are the server's. */
async function writeBodies(lines: readonly Lines[]): Promise<readonly string[]> {
  const records = lines.flatMap(({ bytes }) => Buffer.from(bytes).toString().trimEnd().split("\n"));
  const paths: string[] = [];
  for (let from = 0; from < records.length; from += batchRecords) {
    const path = join(directory, `bulk-${paths.length}.ndjson`);
    const part = records.slice(from, from + batchRecords);
    await writeFile(path, part.map((record) => `{"create":{"_index":"netgloss-flow"}}\n${record}\n`).join(""));
    paths.push(path);
  }
  return paths;
}

/** @returns milliseconds until all was answered. */
async function curl(url: string, bodies: readonly string[]): Promise<number> {
  const args = bodies.flatMap((path, i) => [
    ...(i === 0 ? [] : ["--next"]),
    "-s",
    "-o",
    "/dev/null",
    "-H",
    "content-type: application/x-ndjson",
    "--data-binary",
    `@${path}`,
    `${url}/_bulk?filter_path=errors`,
  ]);
  const begun = performance.now();
  const child = spawn("curl", ["--parallel", "--parallel-immediate", "--parallel-max", String(inFlight), ...args]);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`curl ended with ${String(code)}`);
  return performance.now() - begun;
}
