import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  type BatchColumn,
  type Column,
  type ColumnBatch,
  columnOf,
  LineColumns,
  recordFields,
} from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";
import { goldenLines } from "./golden-records.ts";
import { SlowLineColumns } from "./slow-line-columns.ts";

const allColumns = recordFields
  .map(({ name }) => columnOf(name))
  .filter((column): column is Column => column !== undefined);

/** One column of each type, and one with arrays of it. */
const types = ["text", "address", "integer", "unsigned", "double", "boolean", "time"] as const;
const columns: readonly Column[] = [
  ...types.map((type) => ({ field: type, type, isArray: false })),
  ...types.map((type) => ({ field: `list.of.${type}.with.a.long.name`, type, isArray: true })),
  { field: 'a "quoted\\ näme', type: "text", isArray: false },
];

/** A batch without its codes of texts, whose order is nobody's. */
function plain({ rows, columns: all, rest, texts }: ColumnBatch): unknown {
  const textOf = (code: number): string =>
    Buffer.from(texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1])).toString();
  const plainColumn = ({ column, count, presence, data, offsets }: BatchColumn): unknown => ({
    field: column.field,
    count,
    presence: [...presence],
    data: column.type === "text" ? Array.from(data as Uint32Array, textOf) : [...data],
    offsets: [...offsets],
  });
  return { rows, columns: all.map(plainColumn), rest: rest && plainColumn(rest) };
}

/** Reads lines twice, so that names and texts of the first time are met again. */
function assertSame(declared: readonly Column[], bytes: Buffer, reader?: LineColumns): void {
  const options = { maxRows: 65_536, hasRest: true };
  const fast = reader ?? new LineColumns(declared, options);
  const slow = new SlowLineColumns(declared, options);
  slow.take(bytes, 0);
  const expected = plain(slow.batch());
  for (let time = 0; time < 2; time++) {
    fast.clear();
    assert.equal(fast.take(bytes, 0), bytes.length);
    assert.deepEqual(plain(fast.batch()), expected);
  }
}

const digits = (maxLength: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^-?[0-9]{1,${maxLength}}$`));

/** Values as JSON has them, of all types, mostly near to what columns take. */
const scalar = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('""', '"tcp"', '"netflow"', '"\\u00e9\\n"', '"\\ud800"', '"\\/"').map(String),
  fc.string({ unit: "grapheme-ascii", minLength: 14, maxLength: 70 }).map((text) => JSON.stringify(text)),
  fc.ipV4().map((text) => `"${text}"`),
  fc.ipV6().map((text) => `"${text}"`),
  fc.stringMatching(/^[0-9a-f]{0,3}(::?[0-9A-F]{0,5}){0,8}(\.[0-9]{1,3}){0,4}$/).map((text) => `"${text}"`),
  fc.stringMatching(/^[0-9]{1,3}(\.[0-9]{0,4}){2,4}$/).map((text) => `"${text}"`),
  fc
    .date({ noInvalidDate: true, min: new Date("1600-01-01"), max: new Date("2300-01-01") })
    .map((date) => `"${date.toISOString()}"`),
  fc
    .tuple(
      fc.integer({ min: 0, max: 9999 }),
      fc.stringMatching(/^-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,10})?Z?$/),
    )
    .map(([year, rest]) => `"${String(year).padStart(4, "0")}${rest}"`),
  fc
    .constantFrom(
      "1677-09-21T00:12:43.145224192Z",
      "1677-09-21T00:12:43.145224191Z",
      "2262-04-11T23:47:16.854775807Z",
      "2262-04-11T23:47:16.854775808Z",
      "2026-02-30T24:00:00.5Z",
    )
    .map((text) => `"${text}"`),
  digits(22),
  fc.constantFrom("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
  fc.constantFrom("18446744073709551615", "18446744073709551616", "-0", "-1", "00000000000000000001"),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(digits(9), fc.stringMatching(/^[0-9]{1,9}$/)).map(([a, b]) => `${a}.${b}`),
  fc.constantFrom("true", "false", "null", "1e400", "1e3", "0.1", "123456789012345.5"),
);
const value = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 4 }).map((items) => `[${items.join(",")}]`) },
  { weight: 1, arbitrary: fc.constantFrom('{"a":"}"}', '[["]"],[]]', "[{}]") },
);
const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...columns.map(({ field }) => JSON.stringify(field))) },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map((text) => JSON.stringify(`x${text}`)) },
  { weight: 1, arbitrary: fc.constantFrom('"\\u0074ext"', '""', '"t"') },
);
type Field = readonly [key: string, text: string];
const field: fc.Arbitrary<Field> = fc.tuple(name, value);
const fields = fc.array(field, { maxLength: 24 });
const lineOf = (all: readonly Field[]): string => `{${all.map(([key, text]) => `${key}:${text}`).join(",")}}`;
const line = fields.map(lineOf);

const field0: Field = ['"x"', "0"];

/** What makes a line of the one before it. */
const edits: readonly ((all: Field[], at: number, other: Field) => unknown)[] = [
  (all, at, other) => all.splice(at, 1, other),
  (all, at, other) => all.splice(at, 0, other),
  (all, at) => all.splice(at, 1 + (at % 3)),
  (all, at) => all.splice(at, 0, ...all.slice(0, 2)),
  (all, at) => all.unshift(...all.splice(at, 2)),
  (all, at, [, text]) => all.splice(at, 1, [(all[at] ?? field0)[0], text]),
  (all, at, [key]) => all.splice(at, 1, [key, (all[at] ?? field0)[1]]),
  // A value that goes on where the other ends.
  (all, at) =>
    all.splice(at, 1, ...all.slice(at, at + 1).map(([key, text]): Field => [key, text.replace(/[0-9]$/u, "$&1")])),
];
const edit = fc.tuple(fc.constantFrom(...edits), fc.nat(24), field);
/** Lines of which each is like the one before, as those of a template are. */
const likeLines = fc
  .tuple(fields, fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 16 }))
  .map(([first, turns]) => {
    const all = first.slice();
    const lines = [lineOf(all)];
    for (const turn of turns) {
      for (const [change, at, other] of turn) change(all, Math.min(at, all.length), other);
      lines.push(lineOf(all));
    }
    return lines;
  });

describe("lines as columns, the fast way", () => {
  test("golden records are the same as the plain way", () => {
    assertSame(allColumns, Buffer.from(`${goldenLines.join("\n")}\n`));
  });

  test("any records are the same as the plain way, of one reader, whatever it has read before", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.boolean(), (lines, hasEnd) => {
        assertSame(columns, Buffer.from(lines.join("\n") + (hasEnd && lines.length > 0 ? "\n" : "")), reader);
      }),
      runs(1000),
    );
  });

  test("records that are like those before them are the same as the plain way", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    fc.assert(
      fc.property(likeLines, (lines) => assertSame(columns, Buffer.from(lines.join("\n")), reader)),
      runs(2000),
    );
  });

  test("golden records, each with one value of another, are the same as the plain way", () => {
    const texts = goldenLines.join("\n");
    const used = allColumns.filter((column) => texts.includes(`"${column.field}":`));
    const reader = new LineColumns(used, { maxRows: 65_536, hasRest: true });
    const parts = goldenLines.map((text) =>
      text
        .slice(1, -1)
        .split(/,(?="[^"]+":)/u)
        .map((part): Field => [part.slice(0, part.indexOf(":")), part.slice(part.indexOf(":") + 1)]),
    );
    const golden = fc.constantFrom(...parts);
    fc.assert(
      fc.property(golden, fc.array(fc.tuple(golden, fc.nat(), fc.nat(4)), { maxLength: 8 }), (first, turns) => {
        let all = first;
        const lines = [lineOf(all)];
        for (const [other, at, kind] of turns) {
          all = kind === 0 ? other : all.with(at % all.length, other[at % other.length] as Field);
          lines.push(lineOf(all));
        }
        assertSame(used, Buffer.from(`${lines.join("\n")}\n`), reader);
      }),
      runs(100),
    );
  });

  test("more fields than are kept of the line before", () => {
    const numbers = (from: number): Field[] =>
      Array.from({ length: 1500 }, (_, i) => [`"n${from + i}"`, String(i % 7)] as const);
    const more: Field[] = [
      ['"text"', '"a"'],
      ['"integer"', "1"],
    ];
    const lines = [numbers(0), [...more, ...numbers(0)], numbers(700), numbers(0), [...more, ...numbers(3), ...more]];
    assertSame(columns, Buffer.from([...lines, ...lines].map(lineOf).join("\n")));
  });

  test("rows are added to a batch that was looked at", () => {
    const options = { maxRows: 65_536, hasRest: true };
    const fast = new LineColumns(columns, options);
    fc.assert(
      fc.property(fc.array(likeLines, { maxLength: 4 }), (parts) => {
        fast.clear();
        const slow = new SlowLineColumns(columns, options);
        for (const lines of parts) {
          const bytes = Buffer.from(`${lines.join("\n")}\n`);
          fast.take(bytes, 0);
          slow.take(bytes, 0);
          assert.deepEqual(plain(fast.batch()), plain(slow.batch()));
        }
      }),
      runs(300),
    );
  });

  test("values of a column's own type go there", () => {
    const own: Readonly<Record<(typeof types)[number], string>> = {
      text: '"tcp"',
      address: '"2001:db8::192.0.2.1"',
      integer: "-9223372036854775808",
      unsigned: "18446744073709551615",
      double: "-0.25",
      boolean: "true",
      time: '"2026-11-22T04:00:00.123456789Z"',
    };
    const all = columns
      .slice(0, 2 * types.length)
      .map(({ field: key, type, isArray }) => `"${key}":${isArray ? `[${own[type]},${own[type]}]` : own[type]}`);
    const bytes = Buffer.from(`{${all.join(",")}}`);
    const reader = new LineColumns(columns, { maxRows: 1, hasRest: true });
    reader.take(bytes, 0);
    const batch = reader.batch();
    assert.deepEqual(
      batch.columns.map(({ count, data }) => [
        count,
        data.length / (data instanceof Uint8Array && data.length > 2 ? 16 : 1),
      ]),
      columns.map(({ isArray }, index) => [index < 14 ? 1 : 0, isArray ? 2 : 1]),
    );
    assert.equal(batch.rest?.count, 0);
    assertSame(columns, bytes);
  });

  test("texts that nobody has seen, more than a table of them holds at first", () => {
    const lines = Array.from({ length: 9000 }, (_, i) => `{"text":"${"long ".repeat(i % 9)}${i}","x":${i}}\n`);
    const bytes = Buffer.from(lines.join(""));
    assertSame([columns[0] as Column], bytes);
  });

  test("a line that is larger than the memory, and its neighbours", () => {
    const large = "z".repeat(10 << 20);
    const long = large.slice(0, 1 << 20);
    const numbers = `[${"18446744073709551615,".repeat(20_000)}1]`;
    const text = `{"text":"before"}\n{"text":"${long}","x":"${large}"}\n{"list.of.unsigned.with.a.long.name":${numbers}}\n{"text":"${long}"}\n{"text":"after"}`;
    assertSame(columns, Buffer.from(text));
  });

  test("damaged lines become one row each, and the lines behind them are whole", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    const damaged = fc.oneof(
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes.map((byte) => (byte === 10 ? 11 : byte)))),
      fc.tuple(line, fc.nat(400), fc.nat(400), fc.uint8Array({ maxLength: 3 })).map(([text, cut, at, bytes]) => {
        const cutOff = Buffer.from(text).subarray(0, cut);
        cutOff.set(
          bytes.map((byte) => (byte === 10 ? 11 : byte)).subarray(0, Math.max(0, cutOff.length - at)),
          Math.min(at, cutOff.length),
        );
        return cutOff;
      }),
    );
    const whole = Buffer.from('\n{"text":"whole","integer":7}\n');
    fc.assert(
      fc.property(fc.array(damaged, { minLength: 1, maxLength: 6 }), (lines) => {
        reader.clear();
        const bytes = Buffer.concat(lines.flatMap((one) => [one, whole]));
        assert.equal(reader.take(bytes, 0), bytes.length);
        const batch = reader.batch();
        assert.equal(batch.rows, 2 * lines.length);
        const [text, , integer] = batch.columns;
        for (let row = 1; row < batch.rows; row += 2) {
          assert.equal(integer?.data[row], 7n);
          const code = Number(text?.data[row]);
          assert.equal(
            Buffer.from(
              batch.texts.bytes.subarray(batch.texts.offsets[code], batch.texts.offsets[code + 1]),
            ).toString(),
            "whole",
          );
        }
      }),
      runs(2000),
    );
  });

  test("more names than are remembered", () => {
    const lines = Array.from(
      { length: 3000 },
      (_, i) => `{"text":"${i}","a${i}":1,"b${i}":2,"c${i}":[3],"integer":${i},"${"d".repeat(1100)}":4}`,
    );
    assertSame(columns, Buffer.from(lines.join("\n")));
  });

  test("a batch of lines in shared memory that stops when it is full, and goes on", () => {
    const text = Array.from({ length: 1000 }, (_, i) => `{"integer":${i},"x":${i}}\n`).join("");
    const shared = new Uint8Array(new SharedArrayBuffer(text.length));
    shared.set(Buffer.from(text));
    const reader = new LineColumns(columns, { maxRows: 300, hasRest: false });
    const read: bigint[] = [];
    for (let at = 0; at < shared.length; reader.clear()) {
      at = reader.take(shared, at);
      assert.equal(reader.take(shared, at), reader.rows === 300 ? at : shared.length);
      read.push(...(reader.batch().columns[2]?.data as BigInt64Array));
    }
    assert.deepEqual(
      read,
      Array.from({ length: 1000 }, (_, i) => BigInt(i)),
    );
  });
});
