import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { dataSet, fields, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4]) };
const names: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"], [34, 4]) };

/** Sends from one and the same port, as an exporter does. */
async function createSender(t: TestContext): Promise<(to: CollectorProcess, datagram: Buffer) => void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  cleanUp(t, () => socket.close());
  return (to, datagram) => socket.send(datagram, to.flowPort, "127.0.0.1");
}

for (const [before, after] of [
  [1, 2],
  [2, "main"],
] as const) {
  test(`killed with ${before} decoding threads, restarted with ${after}: data decodes at once`, (t) =>
    killAndRestart(t, before, after));
}

async function killAndRestart(t: TestContext, before: number, after: number | "main"): Promise<void> {
  const directory = tempDirectory(t);
  const state = join(directory, "state");
  const output = join(directory, "flows.ndjson");
  const settings = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_STATE_DIRECTORY_PATH: state,
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: output,
  };
  // A file of somebody else must not keep it from starting.
  mkdirSync(join(state, "flow"), { recursive: true });
  writeFileSync(join(state, "flow", "exporters-00.state"), "not ours");
  const send = await createSender(t);

  const first = await startCollectorProcess({ settings: { ...settings, SVC_PROCESSOR_POOL_SIZE: `${before}` } });
  cleanUp(t, () => first.end("SIGKILL"));
  assert.equal(await first.metric("netgloss_flow_state_ignored_total"), 1);
  send(first, ipfix([ipfixTemplates(flow), ipfixTemplates(names)]));
  send(first, ipfix([dataSet(names, [uint(7, 4), Buffer.from("eth7"), uint(10, 4)])]));
  await until("the names are read", async () => (await first.metric("netgloss_flow_options_records_total")) === 1);
  await until("they are on the disk", () =>
    readdirSync(join(state, "flow"))
      .filter((name) => name.endsWith(".state"))
      .some((name) => readFileSync(join(state, "flow", name), "utf8").includes("eth7")),
  );
  await first.end("SIGKILL");

  const second = await startCollectorProcess({ settings: { ...settings, SVC_PROCESSOR_POOL_SIZE: `${after}` } });
  cleanUp(t, () => second.end("SIGKILL"));
  assert.equal(await second.metric("netgloss_flow_templates_restored_total"), 2);
  send(second, ipfix([dataSet(flow, [uint(100, 4), uint(7, 4)])]));
  const line = await until("the record", () => {
    const text = existsSync(output) ? readFileSync(output, "utf8") : "";
    return text.endsWith("\n") && text;
  });
  const record = JSON.parse(line) as Record<string, unknown>;
  assert.equal(record["flow.bytes"], 1000);
  assert.equal(record["flow.in.netif.name"], "eth7");

  const view = (await (await fetch(`${second.api}/api/v1/flow/exporters`)).json()) as {
    exporters: { domains: { templates: { id: number; origin: string }[] }[] }[];
  };
  const templates = view.exporters[0]?.domains[0]?.templates.map(({ id, origin }) => [id, origin]);
  assert.deepEqual(templates, [
    [300, "restored"],
    [400, "restored"],
  ]);
  assert.deepEqual(await second.end(), { code: 0, signal: null });
}

test("without a directory nothing is kept, and the log says so", async (t) => {
  const collector = await startCollectorProcess({
    settings: { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_PROCESSOR_POOL_SIZE: "main" },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const lines = collector.log().filter((line) => String(line["msg"]).includes("SVC_STATE_DIRECTORY_PATH"));
  assert.equal(lines.length, 1);
});
