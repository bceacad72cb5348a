import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { RecordBatchReader, Type, type Data, type RecordBatch } from "apache-arrow";
import * as fc from "fast-check";
import {
  ArrowStream,
  columnOf,
  recordFields,
  type BatchColumn,
  type Column,
  type ColumnBatch,
} from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";
import { anyLine, columns } from "./any-line.ts";
import { SlowLineColumns } from "./slow-line-columns.ts";

const golden = "test/flow/golden/";
const goldenLines = readdirSync(golden).flatMap((name) =>
  readFileSync(golden + name, "utf8")
    .split("\n")
    .filter((line) => line !== ""),
);
const allColumns = recordFields
  .map(({ name }) => columnOf(name))
  .filter((column): column is Column => column !== undefined);

const streamOf = (declared: readonly Column[], lines: Uint8Array): Buffer => {
  const stream = new ArrowStream(declared, { hasRest: true });
  return Buffer.concat([stream.begin(), ...stream.take(lines), stream.flush(), stream.end()]);
};

/** The values of a column by rows, as another reader finds them; numbers of 64 bits and times as they are. */
function valuesOf({ children, values, valueOffsets, typeId, length, getValid }: Arrow): unknown[] {
  const at = (i: number): unknown => {
    if (typeId === Type.List) return valuesOf(children[0] as Arrow).slice(valueOffsets[i], valueOffsets[i + 1]);
    if (typeId === Type.Bool) return (((values as Uint8Array)[i >> 3] as number) >> (i & 7)) & 1;
    if (typeId !== Type.Utf8) return (values as ArrayLike<unknown>)[i];
    return Buffer.from((values as Uint8Array).subarray(valueOffsets[i], valueOffsets[i + 1])).toString();
  };
  return Array.from({ length }, (_, i) => (getValid(i) ? at(i) : undefined));
}
type Arrow = Pick<Data, "children" | "values" | "valueOffsets" | "typeId" | "length" | "getValid">;

/** The same of a batch of columns. */
function expectedOf({ column, presence, data, offsets }: BatchColumn, { rows, texts }: ColumnBatch): unknown[] {
  const at = (i: number): unknown => {
    const value = data[i];
    if (column.type !== "text") return value;
    return Buffer.from(texts.bytes.subarray(texts.offsets[Number(value)], texts.offsets[Number(value) + 1])).toString();
  };
  const items = (row: number): unknown[] =>
    Array.from({ length: (offsets[row + 1] as number) - (offsets[row] as number) }, (_, i) =>
      at((offsets[row] as number) + i),
    );
  const has = (row: number): boolean => (((presence[row >> 3] as number) >> (row & 7)) & 1) === 1;
  return Array.from({ length: rows }, (_, row) => (has(row) ? (column.isArray ? items(row) : at(row)) : undefined));
}

function assertSame(declared: readonly Column[], lines: Buffer): void {
  const reader = RecordBatchReader.from(streamOf(declared, lines)).open();
  const names = reader.schema.fields.map(({ name }) => name);
  const batches: RecordBatch[] = [...reader];
  const slow = new SlowLineColumns(
    declared.map((column) => (column.type === "address" ? { ...column, type: "text" } : column)),
    { maxRows: 65_536, hasRest: true },
  );
  slow.take(lines, 0);
  const batch = slow.batch();
  assert.deepEqual(names, [...declared.map(({ field }) => field), "rest"]);
  assert.equal(
    batches.reduce((sum, { numRows }) => sum + numRows, 0),
    batch.rows,
  );
  for (const [i, column] of [...batch.columns, batch.rest as BatchColumn].entries()) {
    const found = batches.flatMap(({ data }) => valuesOf(bound(data.children[i] as Data)));
    assert.deepEqual(found, expectedOf(column, batch), names[i]);
  }
}

/** Its parts, with a method that can be called alone. */
function bound(data: Data): Arrow {
  const { children, values, valueOffsets, typeId, length } = data;
  return {
    children: children.map(bound) as unknown as Data[],
    values,
    valueOffsets,
    typeId,
    length,
    getValid: (i) => data.getValid(i),
  };
}

describe("lines as a stream of Arrow, read by another reader", () => {
  test("golden records have the values that they have as columns", () => {
    assertSame(allColumns, Buffer.from(`${goldenLines.join("\n")}\n`));
  });

  test("any records", () => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 12 }), (lines) => {
        assertSame(columns, Buffer.from(lines.map((line) => `${line}\n`).join("")));
      }),
      runs(100),
    );
  });

  test("many rows are several batches, in their order", () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => `{"integer":${n},"text":"${n % 7}","x":${n}}\n`);
    assertSame(columns, Buffer.from(lines.join("")));
    const stream = new ArrowStream(columns, { hasRest: false });
    assert.equal(stream.take(Buffer.from(lines.join(""))).length, 2);
    assert.equal(stream.rows, 10_000 - 2 * 4096);
  });

  test("the schema says types, and a batch may have no rows, and notes", () => {
    const stream = new ArrowStream(columns, { hasRest: true });
    const bytes = Buffer.concat([stream.begin(), stream.flush({ tail: '{"seen":0}' }), stream.end()]);
    const reader = RecordBatchReader.from(bytes).open();
    assert.deepEqual(
      reader.schema.fields.slice(0, 8).map(({ name, type, nullable }) => [name, String(type), nullable]),
      [
        ["text", "Utf8", true],
        ["address", "Utf8", true],
        ["integer", "Int64", true],
        ["unsigned", "Uint64", true],
        ["double", "Float64", true],
        ["boolean", "Bool", true],
        ["time", "Timestamp<NANOSECOND, UTC>", true],
        ["list.of.text.with.a.long.name", "List<Utf8>", true],
      ],
    );
    assert.deepEqual(
      [...reader].map(({ numRows }) => numRows),
      [0],
    );
    assert.ok(bytes.includes('{"seen":0}'));
  });
});
