import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createEmbeddedExplore, readFlowsQuery, readQuery, type EmbeddedExplore } from "../../src/explore/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/report/index.ts";

const now = Date.now();
const never = new AbortController().signal;

async function openExplore(t: TestContext, directory?: string): Promise<EmbeddedExplore> {
  const path = directory ?? mkdtempSync(join(tmpdir(), "netgloss-explore-"));
  if (directory === undefined) t.after(() => rmSync(path, { recursive: true, force: true }));
  const explore = createEmbeddedExplore({
    config: {
      directory: path,
      maxBytes: 2 ** 30,
      maxHours: 24,
      memoryBytes: 256 * 2 ** 20,
      fields: ["flow.src.site.name"],
      maxMetadataFields: 8,
      timeoutMs: 10_000,
    },
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    metrics: createMetrics(),
    onFault: () => {},
  });
  await explore.start();
  return explore;
}

const line = (fields: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ "@timestamp": new Date(now - 5000).toISOString(), "flow.export.type": "ipfix", ...fields })}\n`;

test("what was taken is answered, and there after a restart", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-explore-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const first = await openExplore(t, directory);
  const lines = [
    line({ "flow.src.ip.addr": "10.0.0.1", "flow.src.site.name": "Berlin", "flow.bytes": 700 }),
    line({ "flow.src.ip.addr": "10.0.0.2", "flow.bytes": 200 }),
    line({
      "flow.src.ip.addr": "2001:db8::1",
      "flow.src.site.name": "Paris, a long name of a place",
      "flow.bytes": 100,
    }),
    line({ "flow.record.type": "options", "flow.bytes": 5 }),
  ];
  first.take(Buffer.from(lines.join("")));
  await first.stop();

  const second = await openExplore(t, directory);
  const query = { dimensions: ["flow.src.site.name"], limit: 2, granularity: "none" };
  const answer = await second.query(readQuery(query, now), never);
  assert.deepEqual(
    answer.rows.map(({ key, value, share }) => [key, value, share]),
    [
      [["Berlin"], 700, 0.7],
      [[null], 200, 0.2],
    ],
  );
  assert.deepEqual(answer.others, { keys: 1, share: 0.1, value: 100 });
  const flows = await second.flows(readFlowsQuery({ filter: "src in 2001:db8::/32" }, now), never);
  assert.equal(flows.records[0]?.["flow.src.site.name"], "Paris, a long name of a place");
  await second.stop();
});
