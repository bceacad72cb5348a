import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { startHttpServer } from "../output/http/http-fixture.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

async function run(args: readonly string[], env: Record<string, string>) {
  const terminal = createFakeTerminal(args, env);
  const code = await runProgram(terminal);
  return { code, out: terminal.written.out, err: terminal.written.err };
}

const check = (env: Record<string, string>) => run(["config", "check"], env);

test("an instance has settings of its own; config print shows all of them and where they come from", async () => {
  const { code, out } = await run(["config", "print"], {
    SVC_OUTPUT_KAFKA_TOPIC: "all",
    SVC_OUTPUT_KAFKA__EDGE_1__ENABLE: "true",
    SVC_OUTPUT_KAFKA__EDGE_1__BROKERS: "edge:9092",
    SVC_OUTPUT_KAFKA__EDGE_1__SASL_PASSWORD: "secret",
  });
  assert.equal(code, 0);
  for (const line of [
    "SVC_OUTPUT_KAFKA_ENABLE: false  # default",
    "SVC_OUTPUT_KAFKA_TOPIC: all  # environment",
    "SVC_OUTPUT_KAFKA__EDGE_1__ENABLE: true  # environment",
    'SVC_OUTPUT_KAFKA__EDGE_1__BROKERS: "edge:9092"  # environment',
    "SVC_OUTPUT_KAFKA__EDGE_1__TOPIC: netgloss  # default",
    "# SVC_OUTPUT_KAFKA__EDGE_1__SASL_PASSWORD: hidden  # environment",
  ]) {
    assert.ok(out.includes(`${line}\n`), line);
  }
});

test("a wrong name of an instance's setting is refused with the nearest one", async () => {
  const said = async (name: string): Promise<string> => {
    const { code, err } = await check({ [name]: "1" });
    assert.equal(code, 78, name);
    return err;
  };
  assert.match(
    await said("SVC_OUTPUT_KAFKA__EDGE__TOPIK"),
    /SVC_OUTPUT_KAFKA__EDGE__TOPIK is not a setting: is SVC_OUTPUT_KAFKA__EDGE__TOPIC meant\?/,
  );
  assert.match(await said("SVC_OUTPUT_KAFKA__EDGE__NOTHING_LIKE_IT"), /there is no SVC_OUTPUT_KAFKA_NOTHING_LIKE_IT/);
  assert.match(await said("SVC_OUTPUT_KAFKQ__EDGE__TOPIC"), /KAFKQ is no output with instances: is KAFKA meant\?/);
  assert.match(await said("SVC_OUTPUT_STDOUT__EDGE__RATE"), /outputs with instances are ELASTICSEARCH, /);
  for (const name of ["SVC_OUTPUT_KAFKA__edge__TOPIC", "SVC_OUTPUT_KAFKA__EDGE_TOPIC", "SVC_OUTPUT_KAFKA____TOPIC"]) {
    assert.match(await said(name), /an instance is SVC_OUTPUT_KAFKA__<NAME>__<SETTING>/);
  }
});

test("settings of an instance that cannot work are named as they were given", async () => {
  const { err } = await check({
    SVC_OUTPUT_NATS__A__ENABLE: "true",
    SVC_OUTPUT_NATS__A__USERNAME: "me",
    SVC_OUTPUT_NATS__A__TOKEN: "secret",
    SVC_OUTPUT_NATS__B__ENABLE: "maybe",
    SVC_OUTPUT_GENERIC_HTTP__A__ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP__A__TOKEN: "secret",
    SVC_OUTPUT_GENERIC_HTTP__A__TOKEN_FILE: "/none",
  });
  assert.match(err, /only one of SVC_OUTPUT_NATS__A__USERNAME, SVC_OUTPUT_NATS__A__TOKEN may be set/);
  assert.match(err, /SVC_OUTPUT_NATS__B__ENABLE must be true or false/);
  assert.match(err, /SVC_OUTPUT_GENERIC_HTTP__A__ADDRESSES must be set, because SVC_OUTPUT_GENERIC_HTTP__A__ENABLE/);
  assert.match(err, /SVC_OUTPUT_GENERIC_HTTP__A__TOKEN_FILE and SVC_OUTPUT_GENERIC_HTTP__A__TOKEN are both set/);
  const filter = await check({ SVC_OUTPUT_LOKI__A__ENABLE: "true", SVC_OUTPUT_LOKI__A__FILTER: "src in nowhere" });
  assert.match(filter.err, /SVC_OUTPUT_LOKI__A__FILTER/);
  const off = await check({ SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_LOKI__A__TENANT: "a" });
  assert.match(off.err, /warning: SVC_OUTPUT_LOKI__A__ENABLE is not set: this output is off/);
});

test("several outputs of a kind deliver, each with its own metrics, state, routing and test", async (t) => {
  const [first, second] = [await startHttpServer(t), await startHttpServer(t)];
  const state = tempDirectory(t);
  const settings = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_PROCESSOR_POOL_SIZE: "1",
    SVC_STATE_DIRECTORY_PATH: state,
    SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${first.port}/in`,
    SVC_OUTPUT_GENERIC_HTTP_BATCH_DEADLINE: "20",
    SVC_OUTPUT_GENERIC_HTTP__EDGE_B__ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP__EDGE_B__ADDRESSES: `http://127.0.0.1:${second.port}/in`,
    SVC_OUTPUT_GENERIC_HTTP__EDGE_B__BATCH_DEADLINE: "20",
    SVC_OUTPUT_GENERIC_HTTP__EDGE_B__SPOOL_MODE: "always",
    SVC_OUTPUT_GENERIC_HTTP__EDGE_B__DROP_FIELDS: "flow.bytes",
  };
  const collector = await startCollectorProcess({ settings });
  cleanUp(t, () => collector.end("SIGKILL"));
  await sendDatagram(collector.flowPort, netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }]));
  const bodyOf = ({ calls }: typeof first) => calls.find(({ method }) => method === "POST")?.body ?? "";
  await until("both have it", () => bodyOf(first) !== "" && bodyOf(second) !== "");
  assert.match(bodyOf(first), /"flow\.bytes"/);
  assert.doesNotMatch(bodyOf(second), /"flow\.bytes"/);
  const answer = await (await fetch(`${collector.api}/api/v1/outputs`)).json();
  assert.deepEqual(
    (answer as { outputs: { name: string }[] }).outputs.map(({ name }) => name),
    ["http", "http-edge-b"],
  );
  const metrics = await (await fetch(`${collector.api}/metrics`)).text();
  assert.match(metrics, /netgloss_output_records_total\{output="http-edge-b"\} 1/);
  assert.ok(existsSync(join(state, "output", "http-edge-b", "spool")));
  await collector.end();

  const tested = await run(["output", "test", "http-edge-b"], settings);
  assert.deepEqual([tested.code, tested.err], [0, ""]);
  assert.match(second.calls.at(-1)?.body ?? "", /"flow\.export\.type":"test"/);
  const unknown = await run(["output", "test", "http-nowhere"], settings);
  assert.match(unknown.err, /there is no output http-nowhere: one of .*, http-edge-b/);
});
