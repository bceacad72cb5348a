import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  answerTable,
  type AskClickHouse,
  ClickHouseExplore,
  ExploreError,
  readQuery,
  tableParquet,
} from "../../src/explore/index.ts";
import { clickHouseColumns } from "../../src/output/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import {
  checkAnswers,
  checkDifferent,
  checkRegexes,
  checkUtilisation,
  now,
  sampleRecords,
} from "../explore/query-cases.ts";
import { lineOf, partsWithin, sumsBy } from "../explore/query-model.ts";
import { clickHouseServer } from "../output/clickhouse/clickhouse-fixture.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { startPartner } from "../support/partner.ts";

test("answers of ClickHouse are those of a slow model over the records that the output stored", async (t) => {
  const { url } = await startPartner(t, "clickhouse");
  const never = new AbortController().signal;
  const adapter = adapterOf("CLICKHOUSE", clickHouseServer(String(url), { TABLE_TTL: 0 }));
  await adapter.open(never);
  await adapter.send(batchOf(sampleRecords.map((record) => lineOf(record).trimEnd())), never);
  await adapter.close();
  const ask: AskClickHouse = async (statement, parameters, signal) => {
    const query = new URLSearchParams({ user: "netgloss", password: "secret", ...parameters });
    const answer = await fetch(`${String(url)}/?${query.toString()}`, { method: "POST", body: statement, signal });
    const text = await answer.text();
    if (!answer.ok) throw new ExploreError("unavailable", `${text}\n${statement}`);
    return text;
  };
  const explore = new ClickHouseExplore({
    ask,
    parquet: tableParquet,
    database: "default",
    table: "netgloss_flow",
    columns: clickHouseColumns(),
    fields: [],
    memoryBytes: 2 ** 30,
    timeoutMs: 30_000,
    clock: systemClock,
  });
  const answer = await explore.query(readQuery({ dimensions: ["flow.src.ip.addr"], granularity: "none" }, now), never);
  const parquet = Buffer.from(await explore.parquet(answerTable(answer)));
  assert.equal(parquet.toString("latin1", 0, 4) + parquet.toString("latin1", parquet.length - 4), "PAR1PAR1");
  const hour = 3_600_000;
  const ago = (hours: number): string => new Date(now - hours * hour).toISOString();
  const compared = await explore.query(
    readQuery({ from: ago(1), to: ago(0), compare: true, granularity: "none" }, now),
    never,
  );
  assert.equal(compared.missingBefore?.from, ago(2));
  await checkAnswers((query) => explore.query(query, never), sampleRecords, 100);
  await checkRegexes((query) => explore.query(query, never), sampleRecords);
  await checkUtilisation((query) => explore.query(query, never), sampleRecords);
  await checkDifferent((query) => explore.query(query, never), sampleRecords);

  await isAsView(ask);

  // A table that was made before records had the field: no clock is known to be off.
  await ask("ALTER TABLE default.netgloss_flow DROP COLUMN flow_export_clock_offset", {}, never);
  const withoutOffset = sampleRecords.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => name !== "flow.export.clock.offset")),
  );
  await checkAnswers((query) => explore.query(query, never), withoutOffset, 20);
});

/** The view for boards has in each minute, and in all of a range, what the model has there. */
async function isAsView(ask: AskClickHouse): Promise<void> {
  const never = new AbortController().signal;
  const definition = new URL("../../../monitoring/clickhouse/flow-flowed.sql", import.meta.url);
  await ask(readFileSync(definition, "utf8"), { database: "default" }, never);
  const [begin, end] = [now - 3_600_000 + 7000, now - 90_000];
  for (const step of [0, 60]) {
    const sums = (["bytes", "packets"] as const)
      .map((name) => `toString(sum(toInt128(${name}))) AS ${name}`)
      .join(", ");
    const text = await ask(
      `SELECT toString(toUnixTimestamp(time)) AS at, ${sums} FROM default.netgloss_flow_flowed(begin = ${begin}, end = ${end}, step = ${step}) GROUP BY time FORMAT JSONEachRow`,
      {},
      never,
    );
    const rows = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, string>]));
    assert.equal(rows.length, step === 0 ? 1 : 59);
    for (const { at, ...found } of rows) {
      const bucket = 1000 * Number(at);
      const within = [Math.max(begin, bucket), step === 0 ? end : Math.min(end, bucket + 1000 * step)] as const;
      for (const name of ["bytes", "packets"] as const) {
        const parts = partsWithin(sampleRecords, name, "flowed", ...within);
        assert.equal(found[name], String(sumsBy(parts, [], name).get("[]") ?? 0n), `${name} ${String(at)}`);
      }
    }
  }
}
