import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type BatchColumn,
  type Column,
  type ColumnBatch,
  columnOf,
  LineColumns,
  recordFields,
} from "../../src/record/index.ts";
import { formatAddress } from "../../src/base/ip/index.ts";
import { goldenLines as lines } from "./golden-records.ts";

const columns = recordFields
  .map(({ name }) => columnOf(name))
  .filter((column): column is Column => column !== undefined);

function textOf({ texts }: ColumnBatch, code: number): string {
  return Buffer.from(texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1])).toString();
}

/** A value as records have it; times as nanoseconds. */
function valueAt(batch: ColumnBatch, { column, data }: BatchColumn, at: number): unknown {
  switch (column.type) {
    case "text":
      return textOf(batch, Number(data[at]));
    case "address": {
      const value = BigInt(`0x${Buffer.from(data.subarray(16 * at, 16 * at + 16) as Uint8Array).toString("hex")}`);
      return value >> 32n === 0xffffn
        ? formatAddress({ family: 4, value: value & 0xffff_ffffn })
        : formatAddress({ family: 6, value });
    }
    case "boolean":
      return data[at] === 1;
    case "time":
      return data[at];
    case "integer":
    case "unsigned":
    case "double":
      break;
  }
  return Number(data[at]);
}

/** A row as a record. */
function recordAt(batch: ColumnBatch, row: number): Record<string, unknown> {
  const has = ({ presence }: BatchColumn): boolean => (((presence[row >> 3] as number) >> (row & 7)) & 1) === 1;
  const record: Record<string, unknown> = {};
  for (const one of batch.columns) {
    if (!has(one)) continue;
    const from = one.offsets[row] ?? 0;
    record[one.column.field] = one.column.isArray
      ? Array.from({ length: (one.offsets[row + 1] ?? 0) - from }, (_, i) => valueAt(batch, one, from + i))
      : valueAt(batch, one, row);
  }
  const { rest } = batch;
  if (rest !== undefined && has(rest)) Object.assign(record, JSON.parse(textOf(batch, rest.data[row] as number)));
  return record;
}

function nanoseconds(text: string): bigint {
  const [, decimals = ""] = /\.(\d+)Z$/.exec(text) ?? [];
  return BigInt(Date.parse(text.replace(/\.\d+Z/, "Z"))) * 1_000_000n + BigInt(decimals.padEnd(9, "0"));
}

/** A line as a record, with the times of columns as nanoseconds. */
function recordOf(line: string): Record<string, unknown> {
  const record = JSON.parse(line) as Record<string, unknown>;
  for (const { field, type, isArray } of columns) {
    const value = record[field];
    if (type === "time" && !isArray && typeof value === "string") record[field] = nanoseconds(value);
  }
  return record;
}

describe("lines as columns", () => {
  test("a row says what its line says, in every golden record", () => {
    const reader = new LineColumns(columns, { maxRows: lines.length, hasRest: true });
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    assert.equal(reader.take(bytes, 0), bytes.length);
    const batch = reader.batch();
    assert.equal(batch.rows, lines.length);
    for (const [row, line] of lines.entries()) assert.deepEqual(recordAt(batch, row), recordOf(line));
  });

  test("a full batch stops before the next line, and goes on there", () => {
    const reader = new LineColumns([{ field: "flow.bytes", type: "integer", isArray: false }], {
      maxRows: 2,
      hasRest: false,
    });
    const bytes = Buffer.from([1, 2, 3].map((n) => `{"flow.bytes":${n}}\n`).join(""));
    const at = reader.take(bytes, 0);
    assert.deepEqual([...(reader.batch().columns[0]?.data ?? [])], [1n, 2n]);
    reader.clear();
    assert.equal(reader.take(bytes, at), bytes.length);
    assert.deepEqual([...(reader.batch().columns[0]?.data ?? [])], [3n]);
    assert.equal(reader.batch().rest, undefined);
  });

  test("what does not fit its column stays under its name in the rest", () => {
    const named: readonly Column[] = ["flow.bytes", "flow.src.ip.addr", "@timestamp", "flow.export.type"].map(
      (field) => columnOf(field) as Column,
    );
    const record = {
      "flow.bytes": 1.5,
      "flow.src.ip.addr": "::ffff:192.0.2.1",
      "@timestamp": "9999-01-01T00:00:00Z",
      "flow.export.type": ["ipfix", "\u{1f600}\n"],
      other: { a: [1] },
    };
    const reader = new LineColumns(named, { maxRows: 10, hasRest: true });
    reader.take(Buffer.from(`${JSON.stringify(record)}\n\n{"flow.bytes":18446744073709551616}\n`), 0);
    const batch = reader.batch();
    assert.deepEqual(recordAt(batch, 0), record);
    assert.deepEqual(recordAt(batch, 1), {});
    assert.deepEqual(recordAt(batch, 2), { "flow.bytes": 18446744073709551616 });
    assert.deepEqual(
      batch.columns.map(({ count }) => count),
      [0, 0, 0, 0],
    );
  });
});
