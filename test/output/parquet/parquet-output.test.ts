import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { LakeFolder, ParquetOutput, type OutputAdapter } from "../../../src/output/index.ts";
import { nodeFileIo } from "../../../src/base/file/index.ts";
import { systemClock } from "../../../src/base/report/index.ts";
import { recordFields } from "../../../src/record/index.ts";
import { faultFileIo } from "../../support/fault-file-io.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { adapterOf, settingsFor } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { bucketKeys, FakeBucket } from "./fake-bucket.ts";
import { filesBelow, lakeReader } from "./lake-fixture.ts";

const signal = new AbortController().signal;

async function openFolder(t: TestContext): Promise<{ root: string; adapter: OutputAdapter }> {
  const root = tempDirectory(t);
  const adapter = adapterOf("PARQUET", { LOCATION: root });
  await adapter.open(signal);
  return { root, adapter };
}

test("parquet: a record of every field is read back as it was, field by field", async (t) => {
  const { root, adapter } = await openFolder(t);
  const full = {
    ...Object.fromEntries(recordFields.map(({ name, example }) => [name, example])),
    "flow.record.type": undefined,
  };
  const line = JSON.stringify({ ...full, "flow.src.site.name": 'a "b" ü', "flow.odd": [1] });
  assert.deepEqual(await adapter.send(batchOf([line, numberedFlow(3)]), signal), { refused: [], retry: [] });
  const read = await lakeReader(t, root);
  const rows = await read("SELECT * FROM $lake ORDER BY flow_bytes = 3");
  assert.equal(rows.length, 2);
  const row = rows[0] ?? {};
  const other = JSON.parse(String(row["other"])) as Record<string, unknown>;
  const lacking = Object.entries(full).filter(([name, value]) => {
    if (value === undefined) return false;
    if (name in other) return JSON.stringify(other[name]) !== JSON.stringify(value);
    const found = row[name.replace("@", "").replaceAll(".", "_")];
    if (found === undefined || found === null) return true;
    if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)) {
      const time = `${(found as string).replace(" ", "T").replace(/\+00$/, "")}Z`;
      return Math.abs(Date.parse(time) - Date.parse(value)) > 1;
    }
    // Numbers of 64 bits are texts in JSON of DuckDB.
    const texts = (one: unknown): unknown => (typeof one === "number" ? String(one) : one);
    const plain = (one: unknown): string => JSON.stringify(Array.isArray(one) ? one.map(texts) : texts(one));
    return plain(found) !== plain(value);
  });
  assert.deepEqual(
    lacking.map(([name]) => `${name}: ${String(row[name.replaceAll(".", "_")])}`),
    [],
  );
  assert.equal(row["flow_src_site_name"], 'a "b" ü', "a key of metadata is a column");
  assert.deepEqual(other["flow.odd"], [1]);
  assert.equal(rows[1]?.["flow_src_ip_addr"], null);
  assert.deepEqual(JSON.parse(String(rows[1]?.["other"])), { n: 3 });
  await adapter.close();
});

test("parquet: values of all kinds, absent ones among them, in the order of time", async (t) => {
  const { root, adapter } = await openFolder(t);
  let state = 1;
  const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  const start = Date.parse("2026-11-27T05:00:00Z");
  const records = Array.from({ length: 5000 }, (_, n) => ({
    "@timestamp": new Date(start + random(3_600_000)).toISOString(),
    "flow.export.ip.addr": "192.0.2.1",
    "flow.export.type": "netflow",
    "flow.bytes": [n, random(2 ** 31) * 2 ** 20, 7][random(3)],
    "flow.reverse.packets": random(2 ** 31) * 2 ** 19 + random(2 ** 19),
    ...(random(3) > 0 && { "flow.packets": random(40) }),
    ...(random(4) > 0 && { "flow.start.timestamp": new Date(start - random(9_000_000)).toISOString() }),
    ...(random(2) > 0 && { "flow.src.ip.addr": `10.0.${random(200)}.${random(250)}` }),
    ...(random(2) > 0 && { "flow.src.as.label": `AS ${random(30)}` }),
    ...(random(2) > 0 && { "flow.src.ip.subnet.tags": Array.from({ length: random(4) }, () => `t${random(9)}`) }),
    ...(random(900) === 0 && { "flow.reverse.bytes": 2 ** 53 + 2 * random(9) }),
  }));
  await adapter.send(batchOf(records.map((record) => JSON.stringify(record))), signal);
  const read = await lakeReader(t, root);
  const found = await read(
    "SELECT epoch_ms(timestamp)::DOUBLE AS time, flow_bytes::DOUBLE AS bytes, flow_packets::DOUBLE AS packets, epoch_ms(flow_start_timestamp)::DOUBLE AS start, " +
      "flow_src_ip_addr AS src, flow_src_as_label AS label, flow_src_ip_subnet_tags AS tags, flow_reverse_bytes::DOUBLE AS reverse, flow_reverse_packets::DOUBLE AS dense FROM $lake",
  );
  const expected = records
    .map((record, n) => [Date.parse(record["@timestamp"]), n, record] as const)
    .toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
    .map(([time, , record]) => ({
      time,
      bytes: record["flow.bytes"],
      packets: record["flow.packets"] ?? null,
      start: record["flow.start.timestamp"] === undefined ? null : Date.parse(record["flow.start.timestamp"]),
      src: record["flow.src.ip.addr"] ?? null,
      label: record["flow.src.as.label"] ?? null,
      tags: record["flow.src.ip.subnet.tags"] ?? null,
      reverse: record["flow.reverse.bytes"] ?? null,
      dense: record["flow.reverse.packets"],
    }));
  assert.deepEqual(found, expected);
  const statistics = await read(
    `SELECT path_in_schema AS name, stats_min_value AS least, stats_max_value AS greatest, stats_null_count AS nulls FROM parquet_metadata('${root}/flow/*/*/*.parquet') WHERE path_in_schema IN ('flow_packets', 'flow_src_as_label')`,
  );
  const absent = (name: "flow.packets" | "flow.src.as.label"): string =>
    String(records.filter((record) => record[name] === undefined).length);
  assert.deepEqual(statistics, [
    { name: "flow_packets", least: "0", greatest: "39", nulls: absent("flow.packets") },
    { name: "flow_src_as_label", least: "AS 0", greatest: "AS 9", nulls: absent("flow.src.as.label") },
  ]);
  const sizes = await read(
    `SELECT path_in_schema AS name, compression = 'UNCOMPRESSED' AS plain, sign(total_compressed_size - total_uncompressed_size)::INT AS grown FROM parquet_metadata('${root}/flow/*/*/*.parquet') WHERE path_in_schema IN ('flow_export_type', 'flow_reverse_packets', 'timestamp') ORDER BY ALL`,
  );
  assert.deepEqual(sizes, [
    { name: "flow_export_type", plain: true, grown: 0 },
    { name: "flow_reverse_packets", plain: false, grown: 1 },
    { name: "timestamp", plain: false, grown: -1 },
  ]);
  await adapter.close();
});

test("parquet: a batch has a file for each hour, which is replaced when the batch comes again; an hour that is over is marked", async (t) => {
  const { root, adapter } = await openFolder(t);
  const at = (time: string): string => numberedFlow(1).replace(/"2026[^"]*"/, `"${time}"`);
  const lines = [at("2026-11-27T05:59:59.999999999Z"), at("2026-11-27T06:00:00Z"), at("2026-11-27T05:00:00Z")];
  const batch = { ...batchOf(lines), oldestAt: Date.parse("2026-11-27T06:00:00Z") };
  await adapter.send(batch, signal);
  await adapter.send(batch, signal);
  const host = hostname().replaceAll(/[^\w.-]/g, "_");
  const names = (hour: string): string => `flow/date=2026-11-27/hour=${hour}`;
  assert.deepEqual(filesBelow(root), [`${names("05")}/abc-0.parquet`, `${names("06")}/abc-0.parquet`]);
  const later = { ...batchOf([at("2026-11-27T06:11:00Z")], 1), oldestAt: Date.parse("2026-11-27T06:11:00Z") };
  await adapter.send(later, signal);
  assert.deepEqual(
    filesBelow(root).filter((name) => name.includes("_SUCCESS")),
    [`${names("05")}/_SUCCESS.${host}`],
  );
  const read = await lakeReader(t, root);
  assert.deepEqual(
    await read("SELECT date::VARCHAR AS date, hour, count(*)::INT AS n FROM $lake GROUP BY ALL ORDER BY hour"),
    [
      { date: "2026-11-27", hour: "05", n: 2 },
      { date: "2026-11-27", hour: "06", n: 2 },
    ],
  );
  await adapter.close();
});

test("parquet: cut off before or after any call, no file is half there, and the next run has each record once", async (t) => {
  const settings = settingsFor("PARQUET", { LOCATION: "/" });
  const context = { clock: systemClock, nameOf: (name: string) => name };
  const batch = batchOf(Array.from({ length: 20 }, (_, n) => numberedFlow(n)));
  for (let last = 1, isOver = false; !isOver; last++) {
    for (const kind of ["before", "after"] as const) {
      const root = tempDirectory(t);
      let calls = 0;
      // From this call on nothing happens any more, as after a kill.
      const io = faultFileIo(nodeFileIo, () => (++calls > last ? "EIO" : undefined));
      if (kind === "after") io.arm({ call: last, kind, code: "EIO" });
      const first = new ParquetOutput(settings, context, new LakeFolder(root, systemClock, io));
      isOver = await first
        .open(signal)
        .then(() => first.send(batch, signal))
        .then(
          () => true,
          () => false,
        );
      for (const name of filesBelow(root).filter((each) => each.endsWith(".parquet"))) {
        assert.equal(readFileSync(join(root, name)).toString("latin1").slice(-4), "PAR1", name);
      }
      const second = adapterOf("PARQUET", { LOCATION: root });
      await second.open(signal);
      await second.send(batch, signal);
      const read = await lakeReader(t, root);
      assert.deepEqual(await read("SELECT count(*)::INT AS n, count(DISTINCT flow_bytes)::INT AS numbers FROM $lake"), [
        { n: 20, numbers: 20 },
      ]);
    }
  }
});

test("parquet: a short write is continued, a full disk is the operator's, and what was left behind long ago goes", async (t) => {
  const root = tempDirectory(t);
  const temporary = join(root, "_temporary");
  mkdirSync(temporary);
  const [old, young] = [join(temporary, "a-1.tmp"), join(temporary, "b-1.tmp")];
  for (const path of [old, young]) writeFileSync(path, "half");
  utimesSync(old, 1, 1);
  let isFull = false;
  const io = faultFileIo(nodeFileIo, (call) => {
    if (call !== "file.writeAt") return undefined;
    return isFull ? "ENOSPC" : { taken: 1000 };
  });
  const context = { clock: systemClock, nameOf: (name: string) => name };
  const adapter = new ParquetOutput(
    settingsFor("PARQUET", { LOCATION: root }),
    context,
    new LakeFolder(root, systemClock, io),
  );
  await adapter.open(signal);
  assert.deepEqual(filesBelow(root), ["_temporary/b-1.tmp"]);
  await adapter.send(batchOf([numberedFlow(1)]), signal);
  const read = await lakeReader(t, root);
  assert.equal((await read("SELECT flow_bytes FROM $lake")).length, 1);
  isFull = true;
  await assert.rejects(adapter.send(batchOf([numberedFlow(2)], 1), signal), {
    blame: "operator",
    code: "enospc",
    message: new RegExp(`^${root} is on a full disk`),
  });
  assert.equal(filesBelow(root).filter((name) => name.endsWith(".tmp")).length, 1);
  writeFileSync(join(root, "file"), "");
  const below = adapterOf("PARQUET", { LOCATION: join(root, "file", "lake") });
  await assert.rejects(below.open(signal), { blame: "operator", code: "enotdir" });
  if (process.getuid?.() === 0) return;
  chmodSync(root, 0o500);
  await assert.rejects(adapterOf("PARQUET", { LOCATION: join(root, "lake") }).open(signal), { blame: "operator" });
});

const bucketSettings = (port: number) => ({
  LOCATION: "s3://flows/lake",
  S3_ENDPOINT: `http://127.0.0.1:${port}`,
  ...bucketKeys,
});

test("parquet: a bucket gets whole objects by signed requests, and its errors say who is to mend them", async (t) => {
  const bucket = await FakeBucket.start(t);
  const adapter = adapterOf("PARQUET", bucketSettings(bucket.port));
  const warnings = await adapter.open(signal);
  assert.match(warnings[0] ?? "", /without TLS/);
  await adapter.send(batchOf([numberedFlow(1)]), signal);
  const [, name = ""] = [...bucket.objects.keys()];
  assert.match(name, /^lake\/flow\/date=2026-01-01\/hour=00\/abc-0\.parquet$/);
  const folder = tempDirectory(t);
  mkdirSync(join(folder, "flow/a/b"), { recursive: true });
  writeFileSync(join(folder, "flow/a/b/c.parquet"), bucket.objects.get(name) ?? "");
  const read = await lakeReader(t, folder);
  assert.equal((await read("SELECT flow_bytes FROM $lake")).length, 1);

  const judged = [
    [503, "SlowDown", "store"],
    [500, "InternalError", "store"],
    [507, "", "operator"],
    [502, "", "store"],
    [403, "AccessDenied", "operator"],
    [403, "RequestTimeTooSkewed", "operator"],
    [400, "AuthorizationHeaderMalformed", "operator"],
    [301, "PermanentRedirect", "operator"],
    [413, "EntityTooLarge", "operator"],
    [204, "", "operator"],
    [200, "", "operator"],
  ] as const;
  for (const [status, code, blame] of judged) {
    bucket.answers.push([status, code]);
    await assert.rejects(adapter.send(batchOf([numberedFlow(2)], 2), signal), { blame }, `${status} ${code}`);
  }
  await adapter.close();
  const others = [
    [{ S3_SECRET_ACCESS_KEY: "wrong" }, /signature is wrong: is S3_SECRET_ACCESS_KEY right\? \(403/],
    [{ LOCATION: "s3://other/lake" }, /there is no such bucket: create it/],
    [{ S3_ACCESS_KEY_ID: "" }, /needs S3_ACCESS_KEY_ID/],
    [{ S3_ENDPOINT: "http://127.0.0.1:1" }, /nothing listens there/],
  ] as const;
  for (const [given, message] of others) {
    const stranger = adapterOf("PARQUET", { ...bucketSettings(bucket.port), ...given });
    await assert.rejects(stranger.open(signal), message);
    await stranger.close();
  }
});

test("parquet: a record whose line is cut off has what was before the cut, and is counted", async (t) => {
  const { root, adapter } = await openFolder(t);
  const lines = [numberedFlow(1), numberedFlow(2).replace(/,"n":2\}$/, ',"n')];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [], cut: 1 });
  const read = await lakeReader(t, root);
  assert.deepEqual(await read("SELECT flow_bytes::INT AS n, other FROM $lake ORDER BY n"), [
    { n: 1, other: '{"n":1}' },
    { n: 2, other: null },
  ]);
  await adapter.close();
});

test("parquet: what a store has taken without an ETag is looked for", async (t) => {
  const bucket = await FakeBucket.start(t);
  bucket.hasEtags = false;
  const adapter = adapterOf("PARQUET", bucketSettings(bucket.port));
  await adapter.open(signal);
  assert.deepEqual(await adapter.send(batchOf([numberedFlow(1)]), signal), { refused: [], retry: [] });
  assert.equal(bucket.objects.size, 2);
  // A page that answers to all: what it says was not stored.
  bucket.answers.push([200, ""]);
  await assert.rejects(adapter.send(batchOf([numberedFlow(2)], 2), signal), {
    blame: "operator",
    message: /stores an object without an ETag, which cannot be found then \(404\)/,
  });
  bucket.isReadable = false;
  await assert.rejects(adapter.send(batchOf([numberedFlow(3)], 3), signal), {
    blame: "operator",
    message: /cannot be found then \(403\): .* may the key read \(s3:GetObject\)\?/,
  });
  bucket.answers.push([200, ""], [503, ""]);
  await assert.rejects(adapter.send(batchOf([numberedFlow(4)], 4), signal), { blame: "store" });
  await adapter.close();
});

test("parquet: an hour is marked when nothing of it waits, whatever became of a batch that failed", async (t) => {
  const bucket = await FakeBucket.start(t);
  const adapter = adapterOf("PARQUET", bucketSettings(bucket.port));
  await adapter.open(signal);
  const marks = (): string[] => [...bucket.objects.keys()].filter((name) => name.includes("_SUCCESS"));
  const arrived = (minute: string, number: number) => ({
    ...batchOf([numberedFlow(1).replace(/"2026[^"]*"/, `"2026-11-27T${minute}:00Z"`)], number),
    oldestAt: Date.parse(`2026-11-27T${minute}:00Z`),
  });
  await adapter.send(arrived("05:20", 0), signal);
  bucket.answers.push([503, "SlowDown"]);
  const failed = arrived("05:40", 1);
  await assert.rejects(adapter.send(failed, signal));
  await adapter.send(arrived("06:20", 2), signal, failed.oldestAt);
  assert.deepEqual(marks(), [], "it waits for another try");
  await adapter.send(arrived("06:21", 3), signal);
  assert.match(marks().join(), /^lake\/flow\/date=2026-11-27\/hour=05\/_SUCCESS\.[^,]+$/, "it was dropped");
  await adapter.close();
});

test("parquet: a ledger over a bucket behind faults: nothing is lost, nothing is twice", async (t) => {
  const bucket = await FakeBucket.start(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", bucket.port);
  const adapter = adapterOf("PARQUET", bucketSettings(proxy.port));
  const numbers = async (): Promise<number[]> => {
    const root = tempDirectory(t);
    mkdirSync(join(root, "flow/a/b"), { recursive: true });
    [...bucket.objects]
      .filter(([name]) => name.endsWith(".parquet"))
      .forEach(([, bytes], i) => writeFileSync(join(root, `flow/a/b/${i}.parquet`), bytes));
    const read = await lakeReader(t, root);
    return (await read("SELECT flow_bytes::INT AS n FROM $lake")).map(({ n }) => Number(n));
  };
  const slowDown = (): void => void bucket.answers.push([503, "SlowDown"], [500, "InternalError"]);
  await keepLedger(
    t,
    { adapter, proxy, isExactlyOnce: true, numbers, moods: [slowDown] },
    { records: 3000, step: 50, faultMs: 60 },
  );
});
