import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { answerTable, ExploreError, readFlowsQuery, readQuery, tableCsv } from "../../src/explore/index.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";

const now = Date.now();
const never = new AbortController().signal;

const line = (fields: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ "@timestamp": new Date(now - 5000).toISOString(), "flow.export.type": "ipfix", ...fields })}\n`;

test("what was taken is answered, and there after a restart", async (t) => {
  const directory = exploreDirectory(t);
  const first = await openExplore(t, { directory });
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
  takeLines(first, Buffer.from(lines.join("")));
  await first.stop();

  const second = await openExplore(t, { directory });
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
  const table = answerTable(answer);
  assert.equal(
    tableCsv(table),
    "flow.src.site.name,bytes,share\r\nBerlin,700,0.7\r\n,200,0.2\r\n(others),100,0.1\r\n(total),1000,1\r\n",
  );
  const parquet = Buffer.from(await second.parquet(table));
  assert.equal(parquet.toString("latin1", 0, 4) + parquet.toString("latin1", parquet.length - 4), "PAR1PAR1");
});

test("a store that is stopped while it is opened or asked ends the questions, and leaves no call of DuckDB under way", async (t) => {
  const program = join(import.meta.dirname, "stop-life.js");
  const { stdout } = await promisify(execFile)(process.execPath, [program, exploreDirectory(t)]);
  assert.equal(stdout, "stopped\n".repeat(3));
});

test("in CSV names of fields stay as they are, and what a spreadsheet would take for a formula is none, in lists, too", () => {
  const table = { head: ["@timestamp", "tags", "n"], lines: [["=1+1", ["=cmd()", "b"], -7]] };
  assert.equal(tableCsv(table), "@timestamp,tags,n\r\n'=1+1,'=cmd();b,-7\r\n");
});

test("rows that wait for a file with further columns are bounded, and none is lost where no more are given meanwhile", async (t) => {
  const faults: (string | undefined)[] = [];
  const explore = await openExplore(t, { onFault: (fault) => faults.push(fault) });
  // No file has any of the columns yet.
  const lines = Buffer.from(line({ "flow.bytes": 1 }).repeat(2048));
  let rows = 0;
  const take = (): void => {
    explore.take(lines, 2048);
    rows += 2048;
  };
  for (let i = 0; i < 100 && explore.hasRoom(); i++) take();
  assert.ok(!explore.hasRoom(), `${rows} rows wait`);
  // A turn of the thread may bring some more.
  for (let i = 0; i < 20; i++) take();
  await explore.flush();
  assert.ok(explore.hasRoom());
  take();
  await explore.flush();
  assert.equal(explore.status().rows, rows);
  assert.deepEqual(
    faults.filter((fault) => fault !== undefined),
    [],
  );
});

test("keys of metadata become columns by themselves, and are there at once after a restart", async (t) => {
  const directory = exploreDirectory(t);
  const first = await openExplore(t, { directory });
  const some = Buffer.from(
    line({ "flow.dst.tenant": "shop", "flow.dst.Tenant": "twin", 'flow.dst.a "name"; --': "x", "flow.bytes": 3 }),
  );
  for (let i = 0; i < 6; i++) {
    takeLines(first, some);
    await first.flush();
  }
  assert.ok(
    first.status().fields.some(({ name, label }) => name === "flow.dst.tenant" && label === "Destination tenant"),
  );
  await first.stop();
  const second = await openExplore(t, { directory });
  const query = readQuery({ dimensions: ["flow.dst.tenant"], filter: "dst.tenant = shop", granularity: "none" }, now);
  const { rows } = await second.query(query, never);
  assert.equal(rows.length, 1);
  assert.deepEqual(rows[0]?.key, ["shop"]);
  assert.equal(rows[0]?.value, 18, "the first records count, too");
});

test("a key of metadata is in sums from the first record that has it, beside records that have it not or others", async (t) => {
  const explore = await openExplore(t);
  const expected = { "(none)": 0, a: 0, b: 0 };
  for (let i = 0; i < 5000; i++) {
    const key = i % 7 === 3 ? "a" : i > 2500 && i % 7 === 4 ? "b" : undefined;
    expected[key ?? "(none)"] += 2;
    const names = { ...(key !== undefined && { "flow.src.room": key }), ...(i === 4000 && { "flow.dst.rack": "r" }) };
    takeLines(explore, Buffer.from(line({ ...names, "flow.bytes": 2 })));
  }
  await explore.flush();
  const sums = async (dimension: string): Promise<Record<string, unknown>> => {
    const { rows } = await explore.query(readQuery({ dimensions: [dimension], granularity: "none" }, now), never);
    return Object.fromEntries(rows.map(({ key, value }) => [key[0] ?? "(none)", value]));
  };
  assert.deepEqual(await sums("flow.src.room"), expected);
  assert.deepEqual(await sums("flow.dst.rack"), { "(none)": 9998, r: 2 });
});

test("a question that is at fault names its field, a field that is not kept the nearest one", async (t) => {
  const refused = (body: unknown, field: string, message: RegExp): void =>
    assert.throws(
      () => readQuery(body, now),
      (error) => error instanceof ExploreError && error.field === field && message.test(error.message),
    );
  refused([], "", /must be a JSON object/);
  refused({ form: "-1h" }, "form", /there is no field "form"/);
  refused({ from: "yesterday" }, "from", /must be a time such as/);
  refused({ from: "now", to: "-1h" }, "from", /before to/);
  refused({ from: "0001-01-01T00:00:00Z" }, "from", /between the years 1970 and 2200/);
  refused({ from: "-999999d" }, "from", /between the years 1970 and 2200/);
  refused({ to: "9999-12-31T00:00:00Z" }, "to", /between the years 1970 and 2200/);
  refused({ filter: "src = " }, "filter", /^filter:1:7: expected a value/);
  refused({ dimensions: ["a", "b", "c", "d", "e"] }, "dimensions", /at most 4/);
  refused({ measure: "joules" }, "measure", /must be one of bytes/);
  refused({ limit: 0 }, "limit", /from 1 to 1000/);
  refused({ from: "-30d", granularity: "10s" }, "granularity", /more than 2000 times/);
  refused({ granularity: "none", percentile: 95 }, "percentile", /needs a granularity/);

  const explore = await openExplore(t);
  const ask = (body: unknown): Promise<unknown> => explore.query(readQuery(body, now), never);
  await assert.rejects(ask({ dimensions: ["flow.src.ip.adr"] }), /did you mean flow\.src\.ip\.addr\?/);
  await ask({ dimensions: ["flow.src.rack.number"], filter: "dst.rack.number = 7" });
  await assert.rejects(ask({ dimensions: ["@timestamp"] }), /is a time/);
  await assert.rejects(ask({ filter: "mpls.vpn.rd = 1" }), /SVC_EXPLORE_FIELDS adds fields/);
});

test("a question that nobody waits for ends, and others are answered", async (t) => {
  const explore = await openExplore(t);
  const controller = new AbortController();
  const asked = explore.query(readQuery({}, now), controller.signal);
  controller.abort(new ExploreError("canceled", "nobody waits"));
  await assert.rejects(asked, /nobody waits/);
  assert.equal((await explore.query(readQuery({}, now), never)).total.value, 0);
});
