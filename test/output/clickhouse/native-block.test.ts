import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { sentColumn } from "../../../src/output/clickhouse/sent-column.ts";
import { TableBlocks } from "../../../src/output/clickhouse/table-blocks.ts";
import { createLayouts, type TableColumn } from "../../../src/output/clickhouse/table-layout.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { NativeReader, type NativeColumn, type NativeValue } from "./native-reader.ts";

const [flows] = createLayouts((field) => field);
const columns = flows?.columns ?? [];
const newBlocks = (): TableBlocks =>
  new TableBlocks(
    createLayouts((field) => field).map((layout) =>
      layout.columns.flatMap((column) => sentColumn(column, column.type) ?? []),
    ),
    (written) => Buffer.from(written),
  );

function blocksOf(lines: readonly string[], blocks = newBlocks()): (readonly NativeColumn[])[] {
  return blocks.insertsOf(batchOf(lines)).flatMap(({ body }) => new NativeReader(Buffer.from(body)).blocks());
}

/** A value as a line has it, and what the table shows of it; undefined: it goes to the others. */
interface Written {
  readonly json: string;
  readonly shown: NativeValue | undefined;
}

const text = fc
  .string({ unit: "grapheme", maxLength: 300 })
  .map((value): Written => ({ json: JSON.stringify(value), shown: value }));
const time = fc
  .date({ min: new Date("1900-01-01T00:00:00Z"), max: new Date("2261-12-31T00:00:00Z"), noInvalidDate: true })
  .map((date): Written => ({ json: JSON.stringify(date), shown: BigInt(date.getTime()) }));
const integers = (min: bigint, max: bigint) =>
  fc.bigInt({ min, max }).map((value): Written => ({ json: String(value), shown: value }));
const address = fc.oneof(
  fc.ipV4().map((value): Written => {
    const bytes = value.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
    return { json: `"${value}"`, shown: `00000000000000000000ffff${bytes.join("")}` };
  }),
  fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 8, maxLength: 8 }).map((groups): Written => {
    const parts = groups.map((group) => group.toString(16));
    return { json: `"${parts.join(":")}"`, shown: parts.map((part) => part.padStart(4, "0")).join("") };
  }),
);
const ofType: Readonly<Record<TableColumn["fieldType"], fc.Arbitrary<Written>>> = {
  keyword: text,
  geo_point: text,
  ip: address,
  long: integers(-(2n ** 63n), 2n ** 63n - 1n),
  unsigned_long: integers(0n, 2n ** 64n - 1n),
  double: fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value): Written => ({ json: JSON.stringify(value), shown: value + 0 })),
  boolean: fc.boolean().map((value): Written => ({ json: String(value), shown: value })),
  date: time,
  date_nanos: time.map(({ json, shown }): Written => ({ json, shown: (shown as bigint) * 1_000_000n })),
};
const misfit = fc
  .constantFrom('{"a":"b"}', '[["a"]]', '[{"a":1}]', "[[]]")
  .map((json): Written => ({ json, shown: undefined }));

const key = new Set(["@timestamp", "flow.export.ip.addr"]);
/** A field that has a column, and a value of it. */
const field = fc
  .constantFrom(...columns.filter((column) => !key.has(column.field) && column.field !== "flow.record.type"))
  .chain((column) => {
    const value = ofType[column.fieldType];
    const list = fc.array(value, { minLength: 1, maxLength: 4 }).map((items): Written => ({
      json: `[${items.map(({ json }) => json).join(",")}]`,
      shown: items.map(({ shown }) => shown as NativeValue),
    }));
    return fc
      .oneof({ arbitrary: column.isArray ? list : value, weight: 8 }, { arbitrary: misfit, weight: 1 })
      .map(({ json, shown }) => ({ field: column.field, name: column.name, json, shown }));
  });
/** A field of the operator's own. */
const other = fc
  .tuple(fc.constantFrom("flow.src.site.name", 'odd "name"', "n", "ünï"), fc.oneof(text, misfit, integers(0n, 99n)))
  .map(([name, { json }]) => ({ field: name, name: undefined, json, shown: undefined }));

const record = fc.uniqueArray(fc.oneof(field, field, other), { selector: (one) => one.field, maxLength: 20 });

test("random records are read from their blocks as they are in their lines", () => {
  const blocks = newBlocks();
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (records) => {
      const lines = records.map(
        (fields) =>
          `{"@timestamp":"2026-11-22T04:00:00.250Z","flow.export.ip.addr":"192.0.2.1"${fields.map((one) => `,${JSON.stringify(one.field)}:${one.json}`).join("")}}`,
      );
      const [block = []] = blocksOf(lines, blocks);
      const byName = new Map(block.map((column) => [column.name, column]));
      for (const [row, fields] of records.entries()) {
        const others: Record<string, NativeValue> = {};
        for (const { field: named, name, json, shown } of fields) {
          if (shown !== undefined && name !== undefined) {
            assert.deepEqual(byName.get(name)?.values[row], shown, `${named} is ${json}`);
          } else others[named] = json.startsWith('"') ? (JSON.parse(json) as string) : json;
        }
        assert.deepEqual(byName.get("other")?.values[row] ?? {}, others);
        const given = new Set(fields.flatMap(({ name, shown }) => (shown === undefined ? [] : [name])));
        for (const { name, type, values } of block) {
          if (given.has(name) || name === "other" || name === "timestamp" || name === "flow_export_ip_addr") continue;
          const absent = type.startsWith("Nullable") ? null : type.startsWith("Array") ? [] : "";
          assert.deepEqual(values[row], absent, `${name} has no value`);
        }
        assert.equal(byName.get("timestamp")?.values[row], BigInt(Date.parse("2026-11-22T04:00:00.250Z")));
      }
    }),
    { numRuns: 60 },
  );
});

test("dictionaries of codes of one, two and four bytes, and a thousand names", () => {
  for (const distinct of [1, 256, 257, 100_000]) {
    const count = Math.max(distinct / 10, 300);
    const lines = Array.from({ length: count }, (_, n) => {
      const tags = Array.from({ length: 10 }, (_item, i) => `tag-${(10 * n + i) % distinct}`);
      return `{"@timestamp":"2026-11-22T04:00:00Z","flow.export.ip.addr":"192.0.2.1","flow.src.ip.subnet.tags":${JSON.stringify(tags)},"key.${n % 1000}":"v${n}"}`;
    });
    const [block = []] = blocksOf(lines);
    const named = (name: string): readonly NativeValue[] => block.find((column) => column.name === name)?.values ?? [];
    const tags = named("flow_src_ip_subnet_tags").flat();
    assert.deepEqual(
      tags,
      tags.map((_, i) => `tag-${i % distinct}`),
    );
    assert.equal(tags.length, 10 * count);
    assert.deepEqual(
      named("other"),
      lines.map((_, n) => ({ [`key.${n % 1000}`]: `v${n}` })),
    );
  }
});

test("more rows than a block has are several blocks, in the order of the lines", () => {
  const count = 20_000;
  const lines = Array.from(
    { length: count },
    (_, n) => `{"@timestamp":"2026-11-22T04:00:00Z","flow.export.ip.addr":"192.0.2.1","flow.bytes":${n}}`,
  );
  const found = blocksOf(lines);
  assert.equal(found.length, 2);
  assert.deepEqual(
    found.flatMap((block) => block.find(({ name }) => name === "flow_bytes")?.values ?? []),
    lines.map((_, n) => BigInt(n)),
  );
});

test("inserts are the same whether a batch comes behind flows alone or behind others", () => {
  const head = '"@timestamp":"2026-11-22T04:00:00Z","flow.export.ip.addr":"192.0.2.1"';
  const flow = `{${head},"flow.bytes":7}`;
  const others = [
    `{${head},"flow.record.type":"options","flow.bytes":8}`,
    '{"@timestamp":"2026-11-22T04:00:00Z","system.ip.addr":"192.0.2.2"}',
    `{${head},"flow.record.type":"discard","flow.bytes":9}`,
    `{${head},"flow.record.type":"counters"}`,
  ];
  const batches = [[flow, flow], [flow, ...others, flow], [flow], others, [flow, flow], [...others, flow, flow]];
  const shown = (blocks: TableBlocks, index: number): unknown =>
    blocks
      .insertsOf(batchOf(batches[index] as string[], index))
      .map(({ body, table, indexes, token, columns: names }) => {
        return { table, indexes, token, names, blocks: new NativeReader(Buffer.from(body)).blocks() };
      });
  const kept = newBlocks();
  for (const index of [0, 1, 2, 3, 4, 5, 1, 0, 0, 5, 3, 2]) {
    assert.deepEqual(shown(kept, index), shown(newBlocks(), index), `batch ${index}`);
  }
  const inserts = newBlocks().insertsOf(batchOf(batches[1] as string[]));
  assert.deepEqual(
    inserts.map(({ table, indexes }) => [table, indexes]),
    [
      [0, [0, 3, 5]],
      [1, [1]],
      [2, [2, 4]],
    ],
  );
});
