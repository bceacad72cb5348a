import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromIPC } from "apache-arrow";
import { tableArrow, tableParquet } from "../../src/explore/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const head = [
  "@timestamp",
  "time",
  "flow.src.ip.addr",
  "flow.dst.l4.port.id",
  "flow.bytes",
  "share",
  "isTrue",
  "flow.src.ip.subnet.tags",
  "flow.packets",
];
const lines = [
  ["2026-01-02T03:04:05.678Z", "2026-01-02T03:00:00.000Z", "10.0.0.1", 443, 7, 0.5, true, ["a", "b"], null],
  [null, "2026-01-02T03:01:00.000Z", "(total)", "(total)", 2 ** 40, 1, null, null, null],
];

test("a table as Arrow has the types of its fields, and times are instants", () => {
  const table = tableFromIPC(tableArrow({ head, lines }));
  assert.deepEqual(
    table.schema.fields.map(({ name, type }) => [name, String(type)]),
    [
      ["@timestamp", "Timestamp<NANOSECOND, UTC>"],
      ["time", "Timestamp<NANOSECOND, UTC>"],
      ["flow.src.ip.addr", "Utf8"],
      ["flow.dst.l4.port.id", "Utf8"],
      ["flow.bytes", "Int64"],
      ["share", "Float64"],
      ["isTrue", "Bool"],
      ["flow.src.ip.subnet.tags", "List<Utf8>"],
      ["flow.packets", "Int64"],
    ],
  );
  const rows = table.toArray().map((row) => Object.values((row as { toJSON(): object }).toJSON()) as unknown[]);
  const plain = (value: unknown): unknown =>
    value !== null && typeof value === "object" ? [...(value as Iterable<unknown>)] : value;
  assert.deepEqual(
    rows.map((row) => row.map(plain)),
    [
      [1767323045678, 1767322800000, "10.0.0.1", "443", 7n, 0.5, true, ["a", "b"], null],
      [null, 1767322860000, "(total)", "(total)", 2n ** 40n, 1, null, null, null],
    ],
  );
  assert.equal(tableFromIPC(tableArrow({ head, lines: [] })).numRows, 0);
});

test("a table as Parquet has the types of its fields, and times are instants", async (t) => {
  const file = join(tempDirectory(t), "table.parquet");
  writeFileSync(file, await tableParquet({ head, lines }));
  const connection = await (await DuckDBInstance.create()).connect();
  const typesOf = await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${file}'`);
  assert.deepEqual(
    typesOf.getRowObjects().map(({ column_name, column_type }) => [column_name, column_type]),
    [
      ["@timestamp", "TIMESTAMP WITH TIME ZONE"],
      ["time", "TIMESTAMP WITH TIME ZONE"],
      ["flow.src.ip.addr", "VARCHAR"],
      ["flow.dst.l4.port.id", "VARCHAR"],
      ["flow.bytes", "BIGINT"],
      ["share", "DOUBLE"],
      ["isTrue", "BOOLEAN"],
      ["flow.src.ip.subnet.tags", "VARCHAR[]"],
      ["flow.packets", "BIGINT"],
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
