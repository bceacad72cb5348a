import assert from "node:assert/strict";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { startHttpServer } from "../output/http/http-fixture.ts";
import { startFakeSearchServer } from "../output/search/fake-search-server.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";

async function outputTest(name: string, env: Record<string, string>): Promise<{ code: number; said: string }> {
  const terminal = createFakeTerminal(["output", "test", name], env);
  const code = await runProgram(terminal);
  return { code, said: terminal.written.out + terminal.written.err };
}

test("netgloss output test sends one record and reports the result", async (t) => {
  const server = await startHttpServer(t);
  const env = { SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${server.port}/in` };
  const good = await outputTest("http", env);
  assert.equal(good.code, 0);
  assert.match(good.said, /http: connected\nhttp: one record was sent and acknowledged/);
  const record = JSON.parse(server.calls.at(-1)?.body ?? "") as Record<string, unknown>;
  assert.equal(record["flow.export.ip.addr"], "192.0.2.1");

  server.answer = (_, response) => void response.writeHead(403).end();
  const refused = await outputTest("http", env);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /error: http: 127\.0\.0\.1:\d+ refuses the credentials: they lack permission/);

  const away = await outputTest("cribl", { SVC_OUTPUT_CRIBL_ADDRESSES: "127.0.0.1:1" });
  assert.deepEqual([away.code, /refuses connections/.test(away.said)], [1, true]);
  const unknown = await outputTest("nothing", {});
  assert.equal(unknown.code, 2);
  assert.match(unknown.said, /there is no output nothing: one of elasticsearch, opensearch, http, cribl/);
});

test("netgloss output test says which record a store refuses, and why", async (t) => {
  const fake = await startFakeSearchServer(t);
  const env = { SVC_OUTPUT_ELASTICSEARCH_ADDRESSES: `127.0.0.1:${fake.port}` };
  fake.judge = () => ({ status: 400, type: "strict_dynamic_mapping_exception", reason: "not allowed" });
  const refused = await outputTest("elasticsearch", env);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /the record was refused: strict_dynamic_mapping_exception: not allowed/);
});

test("settings of outputs that cannot work are named", async () => {
  const check = async (env: Record<string, string>): Promise<{ code: number; said: string }> => {
    const terminal = createFakeTerminal(["config", "check"], env);
    return { code: await runProgram(terminal), said: terminal.written.err };
  };
  const noAddress = await check({ SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true" });
  assert.equal(noAddress.code, 78);
  assert.match(noAddress.said, /SVC_OUTPUT_GENERIC_HTTP_ADDRESSES must be set/);
  const noState = await check({ SVC_OUTPUT_CRIBL_ENABLE: "true", SVC_OUTPUT_CRIBL_SPOOL_MODE: "always" });
  assert.match(noState.said, /SVC_STATE_DIRECTORY_PATH must be set, because SVC_OUTPUT_CRIBL_SPOOL_MODE is always/);
  const withPassword = await check({ SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: "http://me:secret@host/" });
  assert.match(withPassword.said, /SVC_OUTPUT_GENERIC_HTTP_ADDRESSES must be .* without user and password/);
});

test("the output to Kafka says what it cannot reach, and which of its settings cannot work", async () => {
  const away = await outputTest("kafka", { SVC_OUTPUT_KAFKA_BROKERS: "127.0.0.1:1" });
  assert.equal(away.code, 1);
  assert.match(away.said, /error: kafka: 127\.0\.0\.1:1 refuses connections/);
  const check = async (env: Record<string, string>): Promise<string> => {
    const terminal = createFakeTerminal(["config", "check"], env);
    assert.equal(await runProgram(terminal), 78);
    return terminal.written.err;
  };
  const on = { SVC_OUTPUT_KAFKA_ENABLE: "true", SVC_OUTPUT_KAFKA_SASL_ENABLE: "true" };
  assert.match(await check(on), /SASL_USERNAME must be set(.|\n)*SASL_PASSWORD must be set/);
  const bearer = await check({ ...on, SVC_OUTPUT_KAFKA_SASL_MECHANISM: "OAUTHBEARER" });
  assert.match(bearer, /SASL_TOKEN_FILEPATH must be set/);
  assert.match(await check({ SVC_OUTPUT_KAFKA_PRODUCER_REQUIRED_ACKS: "0" }), /all \(-1\), leader \(1\)/);
  assert.match(await check({ SVC_OUTPUT_KAFKA_TOPIC: "a/b" }), /SVC_OUTPUT_KAFKA_TOPIC must be a topic/);
  assert.match(await check({ SVC_OUTPUT_KAFKA_BROKERS: "http://kafka:9092" }), /<host>:<port>/);
});
