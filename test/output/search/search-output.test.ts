import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputAdapter, RecordBatch } from "../../../src/output/index.ts";
import { recordFields } from "../../../src/record/index.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startFakeSearchServer } from "./fake-search-server.ts";
import { searchServer, type SearchSettings } from "./search-fixture.ts";
import { adapterOf } from "../adapter-fixture.ts";

const signal = new AbortController().signal;

const adapterTo = (
  port: number,
  given: Partial<SearchSettings> = {},
  word: "ELASTICSEARCH" | "OPENSEARCH" = "ELASTICSEARCH",
): OutputAdapter => adapterOf(word, searchServer(`http://127.0.0.1:${port}`, given));

function batchOf(lines: readonly string[], number = 0): RecordBatch {
  const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return {
    id: { instance: "abc", number },
    chunks: [chunk],
    count: lines.length,
    byteLength: chunk.length,
    oldestAt: 0,
  };
}

const snmp = `{"@timestamp":"2026-01-02T00:00:00.000Z","system.ip.addr":"192.0.2.9","snmp.object.name":"if","n":3}`;
const options = `{"@timestamp":"2026-02-01T00:00:00.000Z","flow.export.ip.addr":"192.0.2.1","flow.record.type":"options","n":2}`;

test("records go to the index of their type, each under its identity, once", async (t) => {
  for (const COMPRESSION of ["none", "gzip"] as const) {
    const fake = await startFakeSearchServer(t);
    const adapter = adapterTo(fake.port, { COMPRESSION });
    assert.deepEqual(await adapter.open(signal), []);
    const batch = batchOf([numberedFlow(1), options, snmp], 40);
    for (let i = 0; i < 2; i++) assert.deepEqual(await adapter.send(batch, signal), { refused: [], retry: [] });
    assert.deepEqual(
      [...fake.documents].map(([id, { n }]) => [id, n]),
      [
        ["netgloss-flow/abc-14-0", 1],
        ["netgloss-flow-option/abc-14-1", 2],
        ["netgloss-telemetry/abc-14-2", 3],
      ],
    );
    await adapter.close();
  }
});

test("indices by day and month are those of the record's own time", async (t) => {
  const fake = await startFakeSearchServer(t);
  for (const period of ["daily", "monthly"] as const) {
    const adapter = adapterTo(fake.port, { INDEX_PERIOD: period, INDEX_SUFFIX: "edge" });
    await adapter.open(signal);
    await adapter.send(batchOf([numberedFlow(0), options, snmp, `{"n":1}`]), signal);
    await adapter.close();
  }
  assert.deepEqual(
    [...fake.documents.keys()].map((id) => id.split("/")[0]),
    [
      "netgloss-flow-edge-2026.01.01",
      "netgloss-flow-option-edge-2026.02.01",
      "netgloss-telemetry-edge-2026.01.02",
      "netgloss-telemetry-edge-undated",
      "netgloss-flow-edge-2026.01",
      "netgloss-flow-option-edge-2026.02",
      "netgloss-telemetry-edge-2026.01",
    ],
  );
});

test("the names of indices begin as the operator says", async (t) => {
  const fake = await startFakeSearchServer(t);
  const adapter = adapterTo(fake.port, { INDEX_PREFIX: "elastiflow", INDEX_SUFFIX: "codex" });
  await adapter.open(signal);
  await adapter.send(batchOf([numberedFlow(1), options, snmp]), signal);
  await adapter.close();
  const indices = ["elastiflow-flow-codex", "elastiflow-flow-option-codex", "elastiflow-telemetry-codex"];
  assert.deepEqual(
    [...fake.documents.keys()].map((id) => id.split("/")[0]),
    indices,
  );
  const patterns = fake.puts.get("/_index_template/elastiflow-codex")?.["index_patterns"];
  assert.deepEqual(patterns, [...indices, "elastiflow-as-path-hop-codex"]);
});

test("the template has every field of the table, and is replaced by a newer one only", async (t) => {
  const fake = await startFakeSearchServer(t);
  const path = "/_index_template/netgloss";
  const open = async (
    given: Partial<SearchSettings> = {},
    word?: Parameters<typeof adapterTo>[2],
  ): Promise<readonly string[]> => {
    const adapter = adapterTo(fake.port, given, word);
    const warnings = await adapter.open(signal);
    await adapter.close();
    return warnings;
  };
  await open();
  const made = fake.puts.get(path) as unknown as {
    data_stream?: object;
    index_patterns: string[];
    version: number;
    template: {
      settings: { index: Record<string, unknown> };
      mappings: {
        properties: Record<string, { type: string }>;
        dynamic_templates: Record<string, { match_mapping_type?: string }>[];
      };
    };
  };
  assert.ok(made.data_stream);
  assert.deepEqual(made.template.settings.index["lifecycle"], { name: "netgloss" });
  assert.ok(fake.puts.has("/_ilm/policy/netgloss"));
  // A rule without a type of JSON would hold for objects: `.site.name` of an operator's metadata makes `flow.src.site` one.
  for (const rule of made.template.mappings.dynamic_templates.flatMap((one) => Object.values(one))) {
    assert.ok(rule.match_mapping_type, JSON.stringify(rule));
  }
  const { properties } = made.template.mappings;
  assert.deepEqual(Object.keys(properties).toSorted(), recordFields.map(({ name }) => name).toSorted());
  assert.equal(properties["flow.src.ip.addr"]?.type, "ip");
  assert.equal(properties["flow.bytes"]?.type.endsWith("long"), true);

  const puts = (): number => fake.server.calls.filter((call) => call.method === "PUT" && call.path === path).length;
  await open({ INDEX_TEMPLATE_OVERWRITE: false });
  assert.equal(puts(), 1);
  await open();
  assert.equal(puts(), 2);
  fake.puts.set(path, { version: made.version + 1 });
  await open();
  assert.equal(puts(), 2);
  await open({ INDEX_TEMPLATE_ENABLE: false });
  fake.puts.set(path, { version: 1 });
  assert.deepEqual(await open(), ["the index template netgloss is not one of netgloss: it stays as it is"]);
  assert.equal(puts(), 2);
  await open({ INDEX_PERIOD: "daily", INDEX_PREFIX: "elastiflow", INDEX_SUFFIX: "x" }, "OPENSEARCH");
  const daily = fake.puts.get("/_index_template/elastiflow-x");
  assert.equal(daily?.["data_stream"], undefined);
  assert.deepEqual(daily?.["index_patterns"], [
    "elastiflow-flow-x-*",
    "elastiflow-flow-option-x-*",
    "elastiflow-telemetry-x-*",
    "elastiflow-as-path-hop-x-*",
  ]);
});

test("first contact says what is wrong, and goes on where it can", async (t) => {
  const fake = await startFakeSearchServer(t);
  const open = async (given: Partial<SearchSettings> = {}): Promise<readonly string[]> => {
    const adapter = adapterTo(fake.port, given);
    try {
      return await adapter.open(signal);
    } finally {
      await adapter.close();
    }
  };
  fake.refusals.set("PUT /_ilm", 405);
  assert.match((await open())[0] ?? "", /lifecycle policy netgloss could not be made/);
  fake.refusals.set("PUT /_index_template", 403);
  fake.puts.clear();
  assert.match((await open())[1] ?? "", /index template netgloss could not be made.*lack permission/);
  fake.refusals.set("PUT /_index_template", 400);
  await assert.rejects(open(), /the index template netgloss is refused/);
  fake.refusals.clear();
  fake.judgePut = (body) =>
    body.includes("unsigned_long") ? "the mapper type [unsigned_long] does not exist" : undefined;
  assert.match((await open())[0] ?? "", /no type unsigned_long/);
  assert.doesNotMatch(JSON.stringify(fake.puts.get("/_index_template/netgloss")), /unsigned_long/);
  fake.puts.clear();
  fake.judgePut = () => "no such codec";
  await assert.rejects(open(), /the index template netgloss is refused: .*\(no such codec\)/);
  fake.judgePut = () => undefined;
  fake.refusals.set("GET /", 401);
  await assert.rejects(open(), /refuses the credentials/);
  fake.refusals.clear();
  fake.version = { number: "7.10.2" };
  assert.match((await open())[0] ?? "", /elasticsearch 7\.10\.2 is older/);
  fake.version = { number: "3.6.0", distribution: "opensearch" };
  assert.match((await open())[0] ?? "", /the server is opensearch 3\.6\.0, not elasticsearch/);
});

test("records that are refused, busy or not permitted", async (t) => {
  const fake = await startFakeSearchServer(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  fake.judge = ({ n }) => {
    if (n === 1) return { status: 400, type: "document_parsing_exception", reason: "object mapping tried to parse" };
    return n === 3 ? { status: 429, type: "es_rejected_execution_exception", reason: "queue" } : undefined;
  };
  const { refused, retry, fault } = await adapter.send(batchOf([0, 1, 2, 3, 4].map(numberedFlow)), signal);
  assert.deepEqual(refused, [{ index: 1, reason: "document_parsing_exception: object mapping tried to parse" }]);
  assert.deepEqual([retry, fault?.blame, fault?.code], [[3], "store", "record_429"]);
  fake.judge = ({ n }) =>
    n === 0
      ? { status: 403, type: "security_exception", reason: "no permissions for [indices:data/write]" }
      : { status: 500, type: "fail_processor_exception", reason: `it stumbles over ${String(n)}` };
  const held = await adapter.send(batchOf([numberedFlow(0), numberedFlow(1)]), signal);
  assert.deepEqual([held.retry, held.fault?.blame, held.fault?.code], [[0, 1], "operator", "record_403"]);
  assert.deepEqual(held.unclear, [{ index: 1, reason: "fail_processor_exception: it stumbles over 1" }]);
  assert.match(held.fault?.message ?? "", /does not take records: security_exception: no permissions/);
  await adapter.close();
});

test("what an operator must mend is told from a fault of a record, whatever the status", async (t) => {
  const fake = await startFakeSearchServer(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  for (const [status, type, reason, advice] of [
    [
      400,
      "validation_exception",
      "this action would add [2] shards, but this cluster currently has [8]/[8] maximum normal shards open",
      /max_shards_per_node/,
    ],
    [400, "index_closed_exception", "closed", /open the index/],
    [403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)];", /remove the block/],
    [
      429,
      "cluster_block_exception",
      "blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark]",
      /disk is full/,
    ],
    [
      400,
      "illegal_argument_exception",
      "Limit of total fields [1000] has been exceeded while adding new fields [1]",
      /total_fields\.limit/,
    ],
    [400, "illegal_argument_exception", "pipeline with id [geo] does not exist", /make the ingest pipeline/],
    [404, "index_not_found_exception", "no such index [x]", /make the index/],
  ] as const) {
    fake.judge = ({ n }) => (n === 1 ? { status, type, reason } : undefined);
    const { refused, retry, fault } = await adapter.send(batchOf([numberedFlow(0), numberedFlow(1)], status), signal);
    assert.deepEqual([refused, retry, fault?.blame], [[], [1], "operator"], reason);
    assert.match(fault?.message ?? "", advice);
  }
  await adapter.close();
});

test("an answer that does not say what happened to each record acknowledges nothing", async (t) => {
  const fake = await startFakeSearchServer(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  const ok = { create: { status: 201 } };
  for (const answer of [
    { errors: false },
    { errors: false, items: [] },
    { errors: false, items: [ok] },
    { errors: false, items: [ok, ok, ok] },
    { errors: false, items: [ok, { create: {} }] },
    { errors: true, items: [ok, {}] },
    { items: [ok] },
    {},
    "<html>",
  ]) {
    fake.server.answer = (_, response) => void response.writeHead(200).end(JSON.stringify(answer));
    const sent = adapter.send(batchOf([numberedFlow(0), numberedFlow(1)]), signal);
    await assert.rejects(sent, { blame: "store", code: "protocol" }, JSON.stringify(answer));
  }
  await adapter.close();
});

test("through every fault of the way and of the server nothing is missing and nothing is there twice", async (t) => {
  const fake = await startFakeSearchServer(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", fake.port);
  const busy = { status: 429, type: "busy", reason: "busy" };
  const moods = [
    () => {
      fake.judge = () => undefined;
      fake.refusals.clear();
      fake.isLying = false;
    },
    () => void fake.refusals.set("POST", 429),
    () => void fake.refusals.set("POST", 503),
    () => fake.refusals.clear(),
    () => void (fake.judge = ({ n }) => (Number(n) % 3 === 0 ? busy : undefined)),
    () => void (fake.isLying = true),
  ];
  await keepLedger(
    t,
    {
      adapter: adapterTo(proxy.port),
      proxy,
      isExactlyOnce: true,
      numbers: async () => [...fake.documents.values()].map(({ n }) => Number(n)),
      moods,
    },
    { records: 20_000, step: 100, faultMs: 60 },
  );
});
