// Flows go on being enriched while the database of the metadata is away, also after a restart of the collector.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { startDatabase } from "../support/postgresql.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

interface Flows {
  /** Sends this many flows, one every 10 ms. */
  send(count: number): Promise<void>;
  /** The name of each flow's source, by the flow's number; undefined for one without. */
  readonly names: ReadonlyMap<number, string | undefined>;
}

/** Numbered flows from 10.0.0.1, and the records of them. */
function flowsOf(collector: CollectorProcess): Flows {
  const names = new Map<number, string | undefined>();
  let sent = 0;
  const { stdout } = collector.child;
  assert.ok(stdout !== null);
  createInterface({ input: stdout }).on("line", (line) => {
    const record = JSON.parse(line) as Record<string, unknown>;
    const number = Number(record["flow.bytes"]);
    assert.ok(!names.has(number), `flow ${number} came twice`);
    names.set(number, record["flow.src.ip.subnet.name"] as string | undefined);
  });
  return {
    names,
    async send(count) {
      for (let i = 0; i < count; i++) {
        await sendDatagram(
          collector.flowPort,
          netflow5([{ source: "10.0.0.1", bytes: ++sent }], { sequence: sent - 1 }),
        );
        await sleep(10);
      }
      await until("all records are there", () => names.size === sent);
    },
  };
}

async function startCollector(t: TestContext, url: string, state: string): Promise<CollectorProcess> {
  const collector = await startCollectorProcess({
    stdout: "pipe",
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_STDOUT_ENABLE: "true",
      SVC_STATE_DIRECTORY_PATH: state,
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE: "postgresql",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: url,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  return collector;
}

test("no flow goes without its name while the database is away, falls silent, comes back, or is away at a start", async (t) => {
  const database = await startDatabase(t);
  const proxy = await startFaultProxy(t, database.host, database.port);
  const url = database.url.replace(`:${database.port}/`, `:${proxy.port}/`);
  const state = join(tempDirectory(t), "state");
  mkdirSync(state);
  const readiness = async ({ api }: CollectorProcess): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${api}/readyz`);
    return { status: answer.status, text: await answer.text() };
  };

  const first = await startCollector(t, url, state);
  assert.equal((await first.call("CreateUdm", { udm: { key: "10.0.0.1", name: "one" } })).status, 200);
  const flows = flowsOf(first);
  await flows.send(10);

  proxy.fault = "away";
  proxy.cut();
  await flows.send(50);
  await until("it says that it is stale", async () => /is away/.test((await readiness(first)).text));
  assert.equal((await first.call("UpdateUdm", { udm: { key: "10.0.0.1", name: "no" } })).status, 503);
  proxy.fault = "silent";
  await flows.send(50);
  proxy.fault = "pass";
  proxy.cut();
  await flows.send(20);
  await until("writes are taken", async () => {
    const { status } = await first.call("UpdateUdm", { udm: { key: "10.0.0.1", name: "one", tags: ["back"] } });
    return status === 200;
  });
  await flows.send(10);
  assert.deepEqual(new Set(flows.names.values()), new Set(["one"]));
  await first.end();

  proxy.fault = "away";
  const second = await startCollector(t, url, state);
  const { status, text } = await readiness(second);
  assert.equal(status, 200);
  assert.match(text, /"degraded"/);
  assert.match(text, /the metadata is as of change 2 of 20\d\d-.*, and cannot be written/);
  assert.ok(((await second.metric("netgloss_udm_postgresql_stale_seconds")) ?? 0) > 0);
  const later = flowsOf(second);
  await later.send(30);
  assert.deepEqual(new Set(later.names.values()), new Set(["one"]));
});
