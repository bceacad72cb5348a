import assert from "node:assert/strict";
import { test } from "node:test";
import { Delivery, DeliveryError } from "../../../src/output/index.ts";
import { recordFields } from "../../../src/record/index.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "../delivery/delivery-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { clickHouseServer, type ClickHouseSettings } from "./clickhouse-fixture.ts";
import { blockRows, insertsOf, startFakeClickHouse } from "./fake-clickhouse.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

const adapterTo = (port: number, given: Partial<ClickHouseSettings> = {}) =>
  adapterOf("CLICKHOUSE", clickHouseServer(`http://127.0.0.1:${port}`, given));

const head = '{"@timestamp":"2026-11-22T04:00:00.250Z","flow.export.ip.addr":"192.0.2.1"';
const telemetry =
  '{"@timestamp":"2026-11-22T04:00:00Z","system.ip.addr":"192.0.2.9","snmp.object.name":"IF-MIB::ifXTable","ifName":"xe-0/0/7"}';

test("tables are made with a typed column for each field, and given the columns that they lack", async (t) => {
  const fake = await startFakeClickHouse(t);
  fake.tables.set("netgloss_flow", {
    columns: new Set(["timestamp", "flow_bytes", "other"]),
    rows: [],
    engine: "MergeTree ORDER BY timestamp",
  });
  const adapter = adapterTo(fake.port, { DATABASE: "net", TABLE_TTL: 7 });
  assert.deepEqual(await adapter.open(signal), [
    "the table netgloss_flow does not recognise inserts that are sent again: records may be there twice",
  ]);
  assert.equal(fake.statements[0], "CREATE DATABASE IF NOT EXISTS `net`");
  assert.match(
    fake.statements[1] ?? "",
    /^ALTER TABLE `net`\.`netgloss_flow` ADD COLUMN IF NOT EXISTS `flow_export_ip_addr` IPv6,/,
  );
  assert.doesNotMatch(fake.statements[1] ?? "", /`flow_bytes`/);
  const create = fake.statements[3] ?? "";
  assert.match(
    create,
    /^CREATE TABLE IF NOT EXISTS `net`\.`netgloss_telemetry` \(\n {2}`timestamp` DateTime64\(3, 'UTC'\),\n/,
  );
  const option = fake.statements[2] ?? "";
  for (const definition of [
    "`flow_export_ip_addr` IPv6,",
    "`flow_src_ip_addr` Nullable(IPv6),",
    "`flow_bytes` Nullable(UInt64),",
    "`flow_src_ip_subnet_name` LowCardinality(String),",
    "`flow_src_ip_subnet_tags` Array(LowCardinality(String)),",
    "`flow_src_isInternal` Nullable(Bool),",
    "`flow_src_mac_addr` String,",
    "`other` Map(LowCardinality(String), String)\n",
  ]) {
    assert.ok(option.includes(definition), definition);
  }
  assert.match(
    option,
    /ORDER BY \(toStartOfHour\(timestamp\), flow_export_ip_addr, timestamp\)\nTTL .* INTERVAL 7 DAY/,
  );
  await adapter.close();

  fake.statements.length = 0;
  const again = adapterTo(fake.port, { DATABASE: "net" });
  await again.open(signal);
  assert.deepEqual(fake.statements, [], "what is there is not made again");
  await again.close();
});

test("every field of flow records has a column in the table of flows", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  await adapter.close();
  const made = fake.statements.find((statement) => /CREATE TABLE .*flow`? /.test(statement)) ?? "";
  const lacking = recordFields
    .filter(({ name }) => name.startsWith("flow."))
    .filter(({ name }) => !made.includes(`\`${name.replaceAll(".", "_")}\``));
  assert.deepEqual(lacking, []);
});

test("every field of the table of records has a column name of its own", () => {
  const names = recordFields.map(({ name }) => name.replace("@", "").replaceAll(".", "_"));
  assert.equal(new Set(names).size, new Set(recordFields.map(({ name }) => name)).size);
});

test("records whose lines are cut off are counted when their table has taken them", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  const whole = `${head},"flow.bytes":7}`;
  assert.deepEqual(await adapter.send(batchOf([whole, whole.slice(0, -3), telemetry]), signal), {
    ...accepted,
    cut: 1,
  });
  assert.deepEqual(await adapter.send(batchOf([whole, telemetry], 1), signal), accepted);
  await adapter.close();
});

test("fields go to the columns of their table; what does not fit there keeps its name among the others", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  assert.deepEqual(await adapter.open(signal), []);
  const lines = [
    `${head},"flow.bytes":9007199254740991,"flow.src.ip.subnet.name":"off\\"ice","flow.src.ip.subnet.tags":["a","b"]}`,
    `${head},"flow.bytes":[1,2],"site.name":"n\\"1","flow.ie.x":["a\\\\\\"",{"b":1}],"flow.ie.y":true,"flow.src.as.org":7}`,
    telemetry,
    `${head},"flow.record.type":"options","flow.scope.system":1}`,
    `${head},"flow.start.timestamp":"2400-01-01T00:00:00Z"}`,
  ];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  const rows = fake.tables.get("netgloss_flow")?.rows;
  const common = { timestamp: "2026-11-22T04:00:00.250Z", flow_export_ip_addr: "192.0.2.1" };
  assert.deepEqual(rows?.[0], {
    ...common,
    flow_bytes: 9007199254740991,
    flow_src_ip_subnet_name: 'off"ice',
    flow_src_ip_subnet_tags: ["a", "b"],
  });
  assert.deepEqual(rows[1], {
    ...common,
    other: {
      "flow.bytes": "[1,2]",
      "site.name": 'n"1',
      "flow.ie.x": '["a\\\\\\"",{"b":1}]',
      "flow.ie.y": "true",
      "flow.src.as.org": "7",
    },
  });
  assert.deepEqual(rows[2], { ...common, other: { "flow.start.timestamp": "2400-01-01T00:00:00Z" } });
  assert.deepEqual(fake.tables.get("netgloss_flow_option")?.rows, [
    { ...common, flow_record_type: "options", other: { "flow.scope.system": "1" } },
  ]);
  assert.deepEqual(fake.tables.get("netgloss_telemetry")?.rows, [
    {
      timestamp: "2026-11-22T04:00:00.000Z",
      system_ip_addr: "192.0.2.9",
      snmp_object_name: "IF-MIB::ifXTable",
      other: { ifName: "xe-0/0/7" },
    },
  ]);
  for (const parameters of insertsOf(fake.server.calls)) assert.equal(parameters.get("async_insert"), "0");
  await adapter.close();
});

test("a batch that comes again has the tokens that it had, of each table", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port, { COMPRESSION: "gzip" });
  await adapter.open(signal);
  const batch = batchOf([`${head},"flow.bytes":1}`, telemetry, `${head},"flow.bytes":2}`]);
  for (let i = 0; i < 3; i++) await adapter.send(batch, signal);
  const tokens = insertsOf(fake.server.calls).map((parameters) => parameters.get("insert_deduplication_token"));
  assert.equal(new Set(tokens).size, 2);
  assert.equal(fake.tables.get("netgloss_flow")?.rows.length, 2);
  await adapter.send(batchOf([`${head},"flow.bytes":1}`], 1), signal);
  assert.equal(fake.tables.get("netgloss_flow")?.rows.length, 3, "the same lines of another batch are others");
  await adapter.close();
});

test("one record that cannot be read becomes a dead letter, the others arrive once", async (t) => {
  const fake = await startFakeClickHouse(t);
  fake.isReadable = (row) => row["flow_bytes"] !== 13;
  const delivery = new Delivery({
    ...deliveryOptions({ BATCH_MAX_BYTES: 100_000, maxBatchRecords: 64, TIMEOUT: 5, QUEUE_SIZE: 1 << 20 }),
    adapter: adapterTo(fake.port),
    instance: "once00000000",
  });
  delivery.start();
  const lines = Array.from({ length: 64 }, (_, n) =>
    n % 8 === 5 ? telemetry : `${head},"flow.bytes":${n === 12 ? 13 : n * 100}}`,
  );
  delivery.add(Buffer.from(lines.map((line) => `${line}\n`).join("")), 64, () => {});
  await until("all is delivered or refused", () => {
    const { deliveredRecords, refusedRecords } = delivery.state();
    return deliveredRecords + refusedRecords === 64;
  });
  assert.equal(delivery.state().refusedRecords, 1);
  await delivery.stop(1000);
  assert.equal(fake.tables.get("netgloss_flow")?.rows.length, 55);
  assert.equal(fake.tables.get("netgloss_telemetry")?.rows.length, 8);
});

test("what an exception means", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  fake.judge = () => 516;
  await assert.rejects(adapter.open(signal), /answers: Code: 516/);
  fake.judge = () => undefined;
  await adapter.open(signal);
  const batch = batchOf([`${head}}`, `${head}}`]);
  for (const [code, kind] of [
    [252, "store"],
    [241, "store"],
    [117, "record"],
    [27, "record"],
  ] as const) {
    fake.judge = () => code;
    await assert.rejects(adapter.send(batch, signal), (error) => {
      assert.ok(error instanceof DeliveryError);
      assert.deepEqual([error.blame, error.code], [kind, `exception_${code}`]);
      return true;
    });
  }
  fake.judge = () => undefined;
  fake.tables.delete("netgloss_flow");
  await assert.rejects(adapter.send(batch, signal), /Code: 60/);
  assert.deepEqual(await adapter.send(batch, signal), accepted, "a table that is gone is made again");
  await adapter.close();
});

test("a user who may not make tables learns what is missing", async (t) => {
  const fake = await startFakeClickHouse(t);
  const reader = adapterTo(fake.port, { TABLE_CREATE: false });
  await assert.rejects(reader.open(signal), /the table netgloss_flow is not in default, or may not be seen/);
  for (const name of ["flow", "flow_option", "telemetry"]) {
    fake.tables.set(`netgloss_${name}`, {
      columns: new Set(["timestamp", "flow_bytes", "other"]),
      rows: [],
      engine: "non_replicated_deduplication_window = 100",
    });
  }
  assert.deepEqual(await reader.open(signal), []);
  await reader.send(batchOf([`${head},"flow.bytes":5}`]), signal);
  assert.deepEqual(fake.tables.get("netgloss_flow")?.rows, [
    { timestamp: "2026-11-22T04:00:00.250Z", flow_bytes: 5, other: { "flow.export.ip.addr": "192.0.2.1" } },
  ]);
  await reader.close();
  fake.judge = (statement) => (statement.startsWith("ALTER") ? 497 : undefined);
  const writer = adapterTo(fake.port);
  assert.match((await writer.open(signal)).join(), /netgloss_flow lacks \d+ columns that the user may not add/);
  await writer.close();
  fake.tables.get("netgloss_flow")?.columns.delete("other");
  const strict = adapterTo(fake.port, { TABLE_CREATE: false });
  await assert.rejects(strict.open(signal), /needs the columns timestamp and other Map/);
  await strict.close();
});

test("through every fault of the way and of the server nothing is missing and nothing is there twice", async (t) => {
  const fake = await startFakeClickHouse(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", fake.port);
  const moods = [
    () => void ((fake.isLying = false), (fake.judge = () => undefined)),
    () => void (fake.isLying = true),
    () => void (fake.judge = (statement) => (statement.startsWith("INSERT") ? 252 : undefined)),
  ];
  const line = (n: number) => (n % 5 === 0 ? telemetry.replace("}", `,"n":${n}}`) : numberedFlow(n));
  await keepLedger(
    t,
    {
      adapter: adapterTo(proxy.port, { COMPRESSION: "gzip" }),
      proxy,
      isExactlyOnce: true,
      numbers: async () =>
        [...fake.tables.values()].flatMap(({ rows }) => rows.map((row) => Number((row["other"] as { n: string }).n))),
      moods,
    },
    { records: 20_000, step: 100, faultMs: 60, line },
  );
});

test("a column of a type that cannot hold its field is left alone, and named; the field goes to the others", async (t) => {
  const fake = await startFakeClickHouse(t);
  fake.types.set("flow_bytes", "Date").set("flow_packets", "LowCardinality(Nullable(String))");
  const adapter = adapterTo(fake.port);
  const warnings = await adapter.open(signal);
  assert.deepEqual(
    warnings.map((warning) => warning.replace(/netgloss_\w+/, "T")),
    Array.from(
      { length: 2 },
      () =>
        "the column flow_bytes of the table T is Date and cannot hold flow.bytes, which is Nullable(UInt64): its values go to the column other",
    ),
  );
  assert.deepEqual(await adapter.send(batchOf([`${head},"flow.bytes":5}`]), signal), accepted);
  assert.deepEqual(fake.tables.get("netgloss_flow")?.rows.at(-1)?.["other"], { "flow.bytes": "5" });
  fake.types.set("timestamp", "String");
  await adapter.close();
  const other = adapterTo(fake.port);
  assert.deepEqual((await other.open(signal)).length, 2);
  fake.types.set("timestamp", "UInt32");
  await assert.rejects(adapterTo(fake.port).open(signal), {
    blame: "operator",
    message: /timestamp .* is UInt32: it must be DateTime64/,
  });
  await other.close();
});

test("a view that fails for some rows does not keep them from the table, nor has them there twice", async (t) => {
  const fake = await startFakeClickHouse(t);
  const { answer } = fake.server;
  let isBroken = false;
  fake.server.answer = (call, response) => {
    const { searchParams } = new URL(call.path, "http://fake");
    const isInsert = searchParams.get("query")?.startsWith("INSERT") === true;
    const fails = (): boolean => isBroken || blockRows(call.bytes).some((row) => row["flow_bytes"] === 7);
    if (!isInsert || !fails() || searchParams.get("materialized_views_ignore_errors") === "1") {
      answer(call, response);
      return;
    }
    // As the real server does: the rows are in the table when the view fails.
    const code = "Code: 395. DB::Exception: it throws: while pushing to view default.sums (4d1c). (FUNCTION_THROW_IF)";
    const fakeAnswer = {
      writeHead: () => fakeAnswer,
      end: () => response.writeHead(500, { "x-clickhouse-exception-code": "395" }).end(code),
    };
    answer(call, fakeAnswer as unknown as typeof response);
  };
  const delivery = new Delivery({
    ...deliveryOptions({ BATCH_MAX_BYTES: 100_000, maxBatchRecords: 4, TIMEOUT: 5, QUEUE_SIZE: 1 << 20 }),
    adapter: adapterTo(fake.port),
    instance: "view00000000",
  });
  delivery.start();
  const numbers = (): unknown[] => (fake.tables.get("netgloss_flow")?.rows ?? []).map((row) => row["flow_bytes"]);
  let n = 0;
  const send = (count: number): void => {
    for (const end = n + count; n < end; n++) delivery.add(Buffer.from(`${head},"flow.bytes":${n}}\n`), 1, () => {});
  };
  isBroken = true;
  send(20);
  await until("the view is named", () =>
    delivery.state().fault?.includes("view default.sums fails: mend or detach it"),
  );
  await until("it is tried again", () => delivery.state().retriedRecords > 100);
  assert.deepEqual([delivery.state().deliveredRecords, delivery.state().refusedRecords], [0, 0]);
  isBroken = false;
  await until("all are delivered", () => {
    if (delivery.state().deliveredRecords < n) send(1);
    return delivery.state().deliveredRecords === n;
  });
  await delivery.stop(1000);
  assert.equal(delivery.state().refusedRecords, 0);
  assert.deepEqual(
    numbers().toSorted((a, b) => Number(a) - Number(b)),
    Array.from({ length: n }, (_, i) => i),
  );
});

test("a try by hand leaves no row", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  assert.deepEqual(await adapter.rehearse?.(batchOf([`${head},"flow.bytes":5}`]), signal), accepted);
  assert.deepEqual(fake.tables.get("netgloss_flow")?.rows, []);
  fake.judge = (statement) => (statement.startsWith("INSERT") ? 497 : undefined);
  await assert.rejects(adapter.rehearse?.(batchOf([`${head}}`]), signal) ?? Promise.resolve(), { blame: "operator" });
  await adapter.close();
});

test("in a cluster a table keeps the rows of a shard, with replicas, and another is in front of all shards", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port, { DATABASE: "net", CLUSTER: "{cluster}" });
  assert.deepEqual(await adapter.open(signal), []);
  assert.equal(fake.statements[0], "CREATE DATABASE IF NOT EXISTS `net` ON CLUSTER '{cluster}'");
  assert.match(
    fake.statements[1] ?? "",
    /^CREATE TABLE IF NOT EXISTS `net`\.`netgloss_flow_local` ON CLUSTER '\{cluster\}' \(\n {2}`timestamp` .*\n\) ENGINE = ReplicatedMergeTree\nPARTITION BY .*SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,/s,
  );
  assert.equal(
    fake.statements[2],
    "CREATE TABLE IF NOT EXISTS `net`.`netgloss_flow` ON CLUSTER '{cluster}' AS `net`.`netgloss_flow_local`\n" +
      "ENGINE = Distributed('{cluster}', 'net', 'netgloss_flow_local', cityHash64(timestamp, flow_export_ip_addr))",
  );
  assert.equal(fake.statements.length, 7);
  assert.deepEqual(await adapter.send(batchOf([`${head},"flow.bytes":5}`]), signal), accepted);
  const [insert] = insertsOf(fake.server.calls);
  assert.match(insert?.get("query") ?? "", /^INSERT INTO `net`\.`netgloss_flow` \(/);
  assert.equal(insert?.get("insert_distributed_sync"), "1", "acknowledged is stored on the shards");
  await adapter.close();

  fake.statements.length = 0;
  fake.tables.get("netgloss_flow")?.columns.delete("flow_bytes");
  const again = adapterTo(fake.port, { DATABASE: "net", CLUSTER: "{cluster}" });
  await again.open(signal);
  const added = "ON CLUSTER '{cluster}' ADD COLUMN IF NOT EXISTS `flow_bytes` Nullable(UInt64)";
  assert.deepEqual(fake.statements, [
    `ALTER TABLE \`net\`.\`netgloss_flow_local\` ${added}`,
    `ALTER TABLE \`net\`.\`netgloss_flow\` ${added}`,
  ]);
  await again.close();

  for (const table of fake.tables.values()) table.engine = table.engine.replace(/cityHash64.*/, "rand())");
  const spread = adapterTo(fake.port, { DATABASE: "net", CLUSTER: "{cluster}" });
  assert.match((await spread.open(signal)).join(), /netgloss_flow does not recognise inserts that are sent again/);
  await spread.close();
});

test("what a column of another type would change goes to the others", async (t) => {
  const fake = await startFakeClickHouse(t);
  fake.types
    .set("flow_bytes", "UInt8")
    .set("flow_src_ip_addr", "IPv4")
    .set("flow_dst_ip_addr", "Nullable(String)")
    .set("flow_sample_rate", "Int32")
    .set("flow_start_timestamp", "DateTime")
    .set("flow_src_isInternal", "UInt8");
  const adapter = adapterTo(fake.port);
  assert.deepEqual(await adapter.open(signal), []);
  const values = (bytes: string, source: string, rate: string, start: string): string =>
    `${head},"flow.bytes":${bytes},"flow.src.ip.addr":"${source}","flow.dst.ip.addr":"${source}","flow.sample_rate":${rate},"flow.start.timestamp":"${start}","flow.src.isInternal":true}`;
  const lines = [
    values("255", "192.0.2.7", "5", "2026-11-22T04:00:00Z"),
    values("256", "2001:db8::7", "0.5", "1969-12-31T23:59:59.9Z"),
    '{"@timestamp":"1899-12-31T23:59:59.999Z","flow.export.ip.addr":"192.0.2.1"}',
  ];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  const [held, odd, old] = fake.tables.get("netgloss_flow")?.rows ?? [];
  assert.deepEqual(
    [held?.["flow_bytes"], held?.["flow_src_ip_addr"], held?.["flow_dst_ip_addr"], held?.["flow_sample_rate"]],
    [255, "192.0.2.7", "192.0.2.7", 5],
  );
  assert.equal(held?.["other"], undefined);
  assert.deepEqual(odd?.["other"], {
    "flow.bytes": "256",
    "flow.src.ip.addr": "2001:db8::7",
    "flow.sample_rate": "0.5",
    "flow.start.timestamp": "1969-12-31T23:59:59.900000000Z",
  });
  assert.deepEqual(
    [odd["flow_bytes"], odd["flow_src_ip_addr"], odd["flow_dst_ip_addr"], odd["flow_src_isInternal"]],
    [undefined, undefined, "2001:db8::7", true],
  );
  assert.deepEqual(old?.["other"], { "@timestamp": "1899-12-31T23:59:59.999000000Z" });
  await adapter.close();
});

test("a column that is altered or dropped while records are sent costs none of them", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterTo(fake.port);
  await adapter.open(signal);
  const batch = batchOf([`${head},"flow.bytes":5}`]);
  fake.types.set("flow_bytes", "String");
  await assert.rejects(adapter.send(batch, signal), { blame: "operator", code: "exception_53" });
  assert.deepEqual(await adapter.send(batch, signal), accepted);
  for (const { columns } of fake.tables.values()) columns.delete("flow_bytes");
  const second = batchOf([`${head},"flow.bytes":6}`], 1);
  fake.judge = (statement) => (statement.startsWith("ALTER") ? 497 : undefined);
  await assert.rejects(adapter.send(second, signal), { blame: "operator", code: "exception_16" });
  assert.deepEqual(await adapter.send(second, signal), accepted);
  const rows = fake.tables.get("netgloss_flow")?.rows;
  assert.deepEqual([rows?.[0]?.["flow_bytes"], rows?.[1]?.["other"]], [5, { "flow.bytes": "6" }]);
  await adapter.close();
});
