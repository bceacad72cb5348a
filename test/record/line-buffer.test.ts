import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineBuffer, renderFields, type RecordFields, type Scalar, type Value } from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

function render(...fields: [string, Value][]): string {
  const lines = new LineBuffer();
  lines.append(new Map(fields));
  return text(lines.take());
}

/** The slow model: what JSON.stringify makes of each part, with a bigint's digits as they are. */
function model(record: RecordFields): string {
  const scalar = (value: Scalar): string => (typeof value === "bigint" ? value.toString() : JSON.stringify(value));
  const any = (value: Value): string => (typeof value === "object" ? `[${value.map(scalar).join()}]` : scalar(value));
  return `{${[...record].map(([name, value]) => `${JSON.stringify(name)}:${any(value)}`).join()}}\n`;
}

const string = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 40 }),
  fc.constantFrom("__proto__", "0", "", "\n", "\ud800", "a\udc00b", "\u2028\u2029", '"\\', "é", "日本", "😀", "\x7f"),
);
const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  string,
  fc.double(),
  fc.integer(),
  fc.nat(),
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.bigInt(),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.boolean(),
);
const record: fc.Arbitrary<RecordFields> = fc
  .array(fc.tuple(string, fc.oneof({ weight: 4, arbitrary: scalar }, fc.array(scalar, { maxLength: 5 }))), {
    maxLength: 30,
  })
  .map((fields) => new Map(fields));

test("a line is what JSON.stringify would write, in one line", () => {
  const lines = new LineBuffer();
  fc.assert(
    fc.property(fc.array(record, { maxLength: 4 }), (records) => {
      for (const each of records) lines.append(each);
      assert.equal(lines.count, records.length);
      const expected = records.map(model).join("");
      assert.equal(lines.byteLength, Buffer.byteLength(expected));
      const bytes = lines.take();
      assert.equal(text(bytes), expected);
      assert.equal(lines.count, 0);
      assert.equal(bytes.filter((byte) => byte === 0x0a).length, records.length);
    }),
    runs(200),
  );
});

test("rendered fields stand behind those of the record as if they were of it", () => {
  const lines = new LineBuffer();
  fc.assert(
    fc.property(fc.array(fc.tuple(record, record), { maxLength: 3 }), (pairs) => {
      const names = (fields: RecordFields) => [...fields.keys()];
      fc.pre(pairs.every(([own, more]) => names(more).every((name) => !own.has(name))));
      for (const [own, more] of pairs) lines.append(own, more.size === 0 ? [] : [renderFields([...more])]);
      const expected = pairs.map(([own, more]) => model(new Map([...own, ...more]))).join("");
      assert.equal(text(lines.take()), expected);
    }),
    runs(150),
  );
});

test("lines that begin alike are written like any others", () => {
  const lines = new LineBuffer();
  const tags = ["a", "b"];
  const value = fc.constantFrom<Value>(0, -0, 1, 1n, "1", "", true, false, NaN, "x", tags, ["a", "b"], []);
  const alike = fc
    .array(fc.tuple(fc.constantFrom("a", "b", "c"), value), { maxLength: 4 })
    .map((fields): RecordFields => new Map(fields));
  const head = fc.constantFrom<[string, Value][]>(
    [],
    Array.from({ length: 20 }, (_, i) => [`head${i}`, i % 3]),
  );
  fc.assert(
    fc.property(head, fc.array(fc.oneof(alike, record), { maxLength: 12 }), fc.nat(11), (before, records, takeAt) => {
      let written = "";
      let expected = "";
      for (const [i, fields] of records.entries()) {
        const whole: RecordFields = new Map([...before, ...fields]);
        lines.append(whole);
        expected += model(whole);
        if (i === takeAt) written += text(lines.take());
      }
      written += text(lines.take());
      assert.equal(written, expected);
    }),
    runs(150),
  );
});

test("a line parses back to the same fields", () => {
  fc.assert(
    fc.property(record, (fields) => {
      const line = render(...fields);
      const parsed = JSON.parse(line) as Record<string, unknown>;
      assert.deepEqual(new Set(Object.keys(parsed)), new Set(fields.keys()));
      const plain = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(plain);
        if (typeof value === "bigint") return Number(value);
        if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
        return value;
      };
      for (const [name, value] of fields) {
        assert.deepEqual(Object.getOwnPropertyDescriptor(parsed, name)?.value, plain(value));
      }
    }),
    runs(150),
  );
});

test("numbers keep all their digits", () => {
  assert.equal(
    render(
      ["a", 18446744073709551615n],
      ["b", -9223372036854775808n],
      ["c", Number.MAX_SAFE_INTEGER],
      ["d", 0xffffffff],
      ["e", 0x100000000],
      ["f", -1],
      ["g", 0.1],
      ["h", 5e-324],
      ["i", 1e21],
      ["j", -0],
    ),
    '{"a":18446744073709551615,"b":-9223372036854775808,"c":9007199254740991,"d":4294967295,"e":4294967296,"f":-1,' +
      '"g":0.1,"h":5e-324,"i":1e+21,"j":0}\n',
  );
});

test("every number of digits of a uint32 is written whole", () => {
  for (let digits = 1; digits <= 10; digits++) {
    for (const value of [10 ** (digits - 1), Math.min(10 ** digits - 1, 0xffffffff)]) {
      assert.equal(render(["n", value]), `{"n":${value}}\n`);
    }
  }
});

test("what JSON has no number for is null", () => {
  assert.equal(render(["a", NaN], ["b", Infinity], ["c", [-Infinity, 1]]), '{"a":null,"b":null,"c":[null,1]}\n');
});

test("a record without fields is an empty object", () => {
  assert.equal(render(), "{}\n");
});

test("nothing taken is an empty array", () => {
  const lines = new LineBuffer();
  assert.equal(lines.take().length, 0);
  assert.equal(lines.byteLength, 0);
});

test("what was taken stays as it is while more is appended", () => {
  const lines = new LineBuffer();
  const taken: { bytes: Uint8Array; before: string }[] = [];
  for (let i = 0; i < 2000; i++) {
    lines.append(
      new Map<string, Value>([
        ["i", i],
        ["pad", "x".repeat(i % 700)],
      ]),
    );
    if (i % 7 !== 0) continue;
    const bytes = lines.take();
    taken.push({ bytes, before: text(bytes) });
  }
  for (const { bytes, before } of taken) assert.equal(text(bytes), before);
});

test("a line longer than any slab is written whole, after others and before others", () => {
  const lines = new LineBuffer();
  const records: RecordFields[] = [
    new Map([["a", 1]]),
    new Map<string, Value>([
      ["long", "é\n".repeat(400_000)],
      ["b", 2],
    ]),
    new Map<string, Value>([["list", Array.from({ length: 200_000 }, (_, i) => i)]]),
    new Map([["c", 3]]),
  ];
  for (const each of records) lines.append(each);
  assert.equal(lines.count, 4);
  assert.equal(text(lines.take()), records.map(model).join(""));
});

test("more names than are remembered are all written", () => {
  const lines = new LineBuffer();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 20_000; i++) lines.append(new Map([[`flow.ie.${i}.1`, i]]));
  }
  const parsed = text(lines.take()).trimEnd().split("\n");
  assert.equal(parsed.length, 40_000);
  assert.equal(parsed[39_999], '{"flow.ie.19999.1":19999}');
});
