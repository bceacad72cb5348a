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
import { anyLine, columns, type Field, likeLines, lineOf, types } from "./any-line.ts";
import { goldenLines } from "./golden-records.ts";
import { isWholeLine, SlowLineColumns } from "./slow-line-columns.ts";

const allColumns = recordFields
  .map(({ name }) => columnOf(name))
  .filter((column): column is Column => column !== undefined);

/** A batch without its codes of texts, whose order is nobody's. */
function plain({ rows, cutRows, columns: all, rest, texts }: ColumnBatch): unknown {
  const textOf = (code: number): string =>
    Buffer.from(texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1])).toString();
  const plainColumn = ({ column, count, presence, data, offsets }: BatchColumn): unknown => ({
    field: column.field,
    count,
    presence: [...presence],
    data: column.type === "text" ? Array.from(data as Uint32Array, textOf) : [...data],
    offsets: [...offsets],
  });
  return { rows, cutRows, columns: all.map(plainColumn), rest: rest && plainColumn(rest) };
}

/** Reads lines twice, so that names and texts of the first time are met again. */
function assertSame(declared: readonly Column[], bytes: Buffer, reader?: LineColumns, arraysAsJson = false): void {
  const options = { maxRows: 65_536, hasRest: true, arraysAsJson };
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

describe("lines as columns, the fast way", () => {
  test("golden records are the same as the plain way", () => {
    assertSame(allColumns, Buffer.from(`${goldenLines.join("\n")}\n`));
  });

  test("any records are the same as the plain way, of one reader, whatever it has read before", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 12 }), fc.boolean(), (lines, hasEnd) => {
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

  test("arrays as JSON are the same as the plain way, and what is no array, or no JSON, does not fit", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true, arraysAsJson: true });
    const same = (text: string): void => assertSame(columns, Buffer.from(text), reader, true);
    fc.assert(
      fc.property(fc.oneof(likeLines, fc.array(anyLine, { maxLength: 12 })), (lines) => same(lines.join("\n"))),
      runs(1000),
    );
    const arrays = columns.filter(({ isArray }) => isArray).map(({ field }) => field);
    assert.ok(arrays.length > 0);
    for (const field of arrays) {
      for (const value of ['["a","b"]', "[]", '"["', '"[]"', '["é\\n"]', "[[1]]", "[1 2]", "1", '{"a":1}', '["a"']) {
        same(`{"integer":1,"${field}":${value},"double":2}`);
      }
    }
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

  test("lines of which each is a little longer than the one before take no more memory than the longest", () => {
    const reader = new LineColumns(columns, { maxRows: 1, hasRest: false });
    const longest = Buffer.from(`{"x":"${"z".repeat(1 << 20)}"}`);
    for (let left = 64; left >= 0; left--) {
      reader.clear();
      assert.equal(reader.take(longest.subarray(left), 0), longest.length - left);
    }
    const { byteLength } = reader.batch().texts.bytes.buffer;
    assert.ok(byteLength < 8 << 20, `${byteLength} bytes`);
  });

  test("damaged lines become one row each, and the lines behind them are whole", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    const damaged = fc.oneof(
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes.map((byte) => (byte === 10 ? 11 : byte)))),
      fc.tuple(anyLine, fc.nat(400), fc.nat(400), fc.uint8Array({ maxLength: 3 })).map(([text, cut, at, bytes]) => {
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

  test("lines that are cut off are counted, wherever that is", () => {
    const reader = new LineColumns(columns, { maxRows: 1, hasRest: false });
    const cutRowsOf = (bytes: Buffer): number => {
      reader.clear();
      reader.take(bytes, 0);
      return reader.batch().cutRows;
    };
    fc.assert(
      fc.property(anyLine, fc.nat(400), (text, at) => {
        const whole = Buffer.from(text);
        const cut = whole.subarray(0, Math.max(1, Math.min(at, whole.length - 1)));
        assert.equal(cutRowsOf(whole), 0);
        assert.equal(cutRowsOf(cut), 1, cut.toString());
        assert.deepEqual([isWholeLine(text), isWholeLine(cut.toString())], [true, false]);
      }),
      runs(1000),
    );
  });

  test("what is no JSON is left out of the rest and counted, and the fields beside it stay", () => {
    const reader = new LineColumns(columns, { maxRows: 65_536, hasRest: true });
    const bad =
      `1x tru True nul fals 01 -01 - -x 1. .5 1e 1e+ +1 NaN "b\\q" "\\u12g4" "a\u0001" [1,] [,1] [1 2] [1,2} {"a"} {"a":} {"a":1,}
      {a:1} {"a":1] [tru] [{"a\\q":1}] {"a":["b\\q"]} ${"[".repeat(300)}${"]".repeat(300)}`.split(/\s+(?!2\])/u);
    const good =
      `1 -0 0.5e-7 1E+2 true false null "" "b\\"" "\\u00eF" [] {} [1,[2,{"a":null}]] {"a":{"b":"]}"},"c":-1.5} [${"1,".repeat(300)}0]
      ${"[".repeat(200)}${"]".repeat(200)}`.split(/\s+/u);
    const restOf = (lines: readonly string[]): { readonly rest: readonly string[]; readonly cutRows: number } => {
      reader.clear();
      reader.take(Buffer.from(lines.join("\n")), 0);
      const { rest, texts, cutRows } = reader.batch();
      const text = (code: number): string =>
        Buffer.from(texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1])).toString();
      return { rest: Array.from(rest?.data ?? [], text), cutRows };
    };
    const lineWith = (field: string): string => `{"integer":7,"x":1,${field},"y":2}`;
    for (const text of bad) {
      // The second time it stands where it stood in the line before.
      for (const field of [`"q":${text}`, `"text":${text}`]) {
        if (field === '"text":"a\u0001"') continue;
        const { rest, cutRows } = restOf([lineWith(field), lineWith(field)]);
        assert.equal(cutRows, 2, field);
        for (const each of rest) assert.match(each, /^\{"x":1(?:,"y":2)?\}$/u, field);
      }
    }
    for (const text of good) {
      const { rest, cutRows } = restOf([lineWith(`"q":${text}`), lineWith(`"q":${text}`)]);
      assert.deepEqual({ rest, cutRows }, { rest: Array(2).fill(`{"x":1,"q":${text},"y":2}`), cutRows: 0 });
    }
    assert.deepEqual(restOf([lineWith('"b\\q":1'), lineWith('"\u0001":1')]), {
      rest: Array(2).fill('{"x":1,"y":2}'),
      cutRows: 2,
    });
    for (const between of ['"x"', "x", " ", "}", '""']) {
      const { rest, cutRows } = restOf([`{"q":"b"${between}"y":1}`]);
      assert.deepEqual({ rest, cutRows }, { rest: ['{"q":"b"}'], cutRows: 1 }, between);
    }
  });

  test("more names than are remembered", () => {
    const lines = Array.from(
      { length: 3000 },
      (_, i) => `{"text":"${i}","a${i}":1,"b${i}":2,"c${i}":[3],"integer":${i},"${"d".repeat(1100)}":4}`,
    );
    assertSame(columns, Buffer.from(lines.join("\n")));
  });

  test("names that are left out are those of the lines before, and nothing else changes", () => {
    const declared = allColumns.slice(0, 30);
    const options = { maxRows: 65_536, hasRest: true };
    const reader = new LineColumns(declared, options);
    const fieldsOf = (line: string): Record<string, unknown> => JSON.parse(line) as Record<string, unknown>;
    const known = new Set(declared.map(({ field }) => field));
    let leftOut = 0;
    for (let from = 0; from < goldenLines.length; from += 100) {
      const lines = goldenLines.slice(from, from + 100);
      reader.take(Buffer.from(`${lines.join("\n")}\n`), 0);
      const all = new LineColumns(declared, options);
      all.take(Buffer.from(`${lines.join("\n")}\n`), 0);
      const [{ columns: read, rest, cutRows, texts }, whole] = [reader.batch(), all.batch()];
      assert.deepEqual(
        plain({ rows: lines.length, cutRows, columns: read, rest: undefined, texts }),
        plain({ ...whole, rest: undefined }),
      );
      const wanted = lines.map((line) => Object.entries(fieldsOf(line)).filter(([name]) => !known.has(name)));
      const others = Array.from(rest?.data ?? [], (code) =>
        Buffer.from(texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1])).toString(),
      );
      assert.deepEqual(
        others.map((text) => (text === "" ? {} : fieldsOf(text))),
        wanted.map((fields) => Object.fromEntries(fields)),
      );
      leftOut += (whole.rest?.count ?? 0) - (rest?.count ?? 0);
      for (const line of lines) for (const name of Object.keys(fieldsOf(line))) known.add(name);
      reader.clear();
      reader.leaveOutKnown();
    }
    assert.ok(leftOut > 0, "some records have nothing that is new");
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
