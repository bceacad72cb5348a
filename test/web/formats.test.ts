import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { keyText, rowText } from "../../web/src/format/key-text.ts";
import { shortened } from "../../web/src/format/shortened.ts";
import { curlOf } from "../../web/src/format/curl.ts";
import { formatChange, formatDuration, formatNumber, formatShare, formatWhole } from "../../web/src/format/numbers.ts";
import { formatAge } from "../../web/src/format/times.ts";

/** With plain spaces, as they look. */
const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, " ");

test("numbers have three digits that count, a prefix and a unit", () => {
  const cases: [number, Parameters<typeof formatNumber>[1], string][] = [
    [0, "bit/s", "0 bit/s"],
    [999, "B", "999 B"],
    [999.6, "B", "1 kB"],
    [1_234_567, "bit/s", "1.23 Mbit/s"],
    [12_345, "records/s", "12.3 k records/s"],
    [0.25, "flows/s", "0.25 flows/s"],
    [0.0123, "", "0.012"],
    [-1500, "packets", "−1.5 k packets"],
    [3_725, "seconds", "1 h 2 min"],
    [41.26, "%", "41.3 %"],
    [2.5e21, "B", "2500 EB"],
  ];
  for (const [value, unit, expected] of cases) assert.equal(plain(formatNumber(value, unit)), expected);
  for (const none of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(formatNumber(none, "B"), "–");
});

test("a number never reads as one that is more than one per cent away", () => {
  const sizes = ["", "k", "M", "G", "T", "P", "E"];
  fc.assert(
    fc.property(fc.double({ min: 1, max: 1e20, noNaN: true }), (value) => {
      const [digits = "", unit = "B"] = plain(formatNumber(value, "B")).split(" ");
      const read = Number(digits) * 1000 ** sizes.indexOf(unit.slice(0, -1));
      assert.ok(Math.abs(read - value) <= value / 100, `${String(value)} reads as ${digits} ${unit}`);
      assert.ok(Number(digits) < 1000 || unit === "EB");
    }),
  );
});

test("long names keep their begin and their end, and no character is cut", () => {
  assert.equal(shortened("web-1"), "web-1");
  assert.equal(shortened("backup-of-the-database-servers-in-frankfurt-2", 20), "backup-of-the…furt-2");
  assert.equal(shortened("😀".repeat(30), 4), "😀😀…😀");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 4, max: 40 }), (text, most) => {
      const short = Array.from(shortened(text, most));
      assert.ok(short.length <= most && (Array.from(text).length > most || shortened(text, most) === text));
    }),
  );
});

test("lengths of time have their two largest units", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [0.0123, "12.3 ms"],
    [9.96, "9.96 s"],
    [59.6, "1 min"],
    [3600, "1 h"],
    [90_061, "1 d 1 h"],
    [86_460, "1 d"],
    [-5, "−5 s"],
  ];
  for (const [seconds, expected] of cases) assert.equal(plain(formatDuration(seconds)), expected);
  assert.equal(plain(formatAge(1000, 2500)), "just now");
  assert.equal(plain(formatAge(0, 61_000)), "1 min 1 s ago");
});

test("shares, changes and whole numbers", () => {
  assert.deepEqual(
    [0, 0.0004, 0.0312, 0.31, 1].map((x) => plain(formatShare(x))),
    ["0.0 %", "< 0.1 %", "3.1 %", "31 %", "100 %"],
  );
  assert.deepEqual(
    (
      [
        [110, 100],
        [50, 100],
        [300, 100],
        [5, 0],
        [0, 0],
        [1, null],
        [1000.1, 1000],
      ] as const
    ).map(([a, b]) => plain(formatChange(a, b))),
    ["+10 %", "−50 %", "×3.0", "new", "±0 %", "–", "±0 %"],
  );
  assert.deepEqual(
    [12, 1234567, 1234.5].map((x) => plain(formatWhole(x))),
    ["12", "1 234 567", "1 234.5"],
  );
});

test("commands are quoted for a shell, and hold no secret", () => {
  assert.equal(curlOf({ url: "http://h:1/livez" }), "curl -s http://h:1/livez");
  assert.equal(
    curlOf({ url: "http://h/a?b=c", body: { name: "it's" }, user: "alice" }),
    `curl -s 'http://h/a?b=c' \\\n  -u alice \\\n  -H 'content-type: application/json' \\\n  --data-raw '{"name":"it'\\''s"}'`,
  );
  assert.match(curlOf({ url: "http://h/", hasToken: true }), /Bearer \$NETGLOSS_TOKEN/);
});

test("a value that is not there: a name is called so, anything else is none", () => {
  assert.equal(keyText(null, "flow.src.ip.subnet.name"), "without a name");
  assert.equal(keyText(null, "flow.src.ip.subnet.tags"), "(none)");
  assert.equal(keyText("", "flow.src.site.name"), "(empty)");
  const fields = ["flow.src.ip.subnet.name", "flow.dst.l4.port.id"];
  assert.equal(rowText(["web-1", 443], fields), "web-1 → 443");
  assert.equal(rowText([null, null], fields), "without a name → (none)");
});
