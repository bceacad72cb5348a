import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableParquet } from "../../src/explore/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

test("a table as Parquet has the types of its fields, and times are instants", async (t) => {
  const file = join(tempDirectory(t), "table.parquet");
  const head = ["@timestamp", "time", "flow.src.ip.addr", "flow.bytes", "share", "isTrue", "flow.src.ip.subnet.tags"];
  const lines = [
    ["2026-01-02T03:04:05.678Z", "2026-01-02T03:00:00.000Z", "10.0.0.1", 7, 0.5, true, ["a", "b"]],
    [null, "2026-01-02T03:01:00.000Z", "(total)", 2 ** 40, 1, null, null],
  ];
  writeFileSync(file, await tableParquet({ head, lines }));
  const connection = await (await DuckDBInstance.create()).connect();
  const typesOf = await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${file}'`);
  assert.deepEqual(
    typesOf.getRowObjects().map(({ column_name, column_type }) => [column_name, column_type]),
    [
      ["@timestamp", "TIMESTAMP WITH TIME ZONE"],
      ["time", "TIMESTAMP WITH TIME ZONE"],
      ["flow.src.ip.addr", "VARCHAR"],
      ["flow.bytes", "BIGINT"],
      ["share", "DOUBLE"],
      ["isTrue", "BOOLEAN"],
      ["flow.src.ip.subnet.tags", "VARCHAR[]"],
    ],
  );
  const rows = await connection.runAndReadAll(
    `SELECT epoch_ms("@timestamp"), epoch_ms("time"), "flow.bytes" FROM '${file}'`,
  );
  assert.deepEqual(rows.getRows(), [
    [1767323045678n, 1767322800000n, 7n],
    [null, 1767322860000n, 1099511627776n],
  ]);
});

test("a time of a field that is a word for all rows is a text", async (t) => {
  const file = join(tempDirectory(t), "table.parquet");
  writeFileSync(
    file,
    await tableParquet({ head: ["flow.start.timestamp"], lines: [["2026-01-02T03:04:05Z"], ["(total)"]] }),
  );
  const connection = await (await DuckDBInstance.create()).connect();
  const rows = await connection.runAndReadAll(`SELECT * FROM '${file}'`);
  assert.deepEqual(rows.getRows(), [["2026-01-02T03:04:05Z"], ["(total)"]]);
});
