import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as hold, dictionary, jsonValue, property, string } from "fast-check";
import { MonitorSink, prettySink } from "../../src/output/index.ts";

function pretty(lines: string): string {
  let out = "";
  prettySink({ write: (bytes) => void (out += Buffer.from(bytes).toString()) }).write(Buffer.from(lines), 1);
  return out;
}

test("pretty JSON is what JSON.stringify writes with two blanks", () => {
  hold(
    property(array(dictionary(string(), jsonValue()), { maxLength: 3 }), (records) => {
      const lines = records.map((record) => `${JSON.stringify(record)}\n`).join("");
      const expected = records.map((record) => `${JSON.stringify(JSON.parse(JSON.stringify(record)), null, 2)}\n`);
      assert.equal(pretty(lines), expected.join(""));
    }),
    { seed: 7, numRuns: 200 },
  );
});

test("numbers stay as they are written, however long", () => {
  assert.equal(pretty('{"a":18446744073709551615}\n'), '{\n  "a": 18446744073709551615\n}\n');
});

test("the monitor logs records and their rate, at each interval and at the end", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let now = 0;
  const said: unknown[] = [];
  const log = { debug() {}, warn() {}, error() {}, info: (fields: unknown) => void said.push(fields) };
  const monitor = new MonitorSink(2000, { log, clock: { now: () => now, monotonic: () => now } });
  await monitor.start();
  monitor.write(Buffer.from("{}\n{}\n"), 2);
  let isDone = false;
  monitor.lease(Buffer.from("{}\n{}\n"), 2, () => (isDone = true));
  now = 2000;
  t.mock.timers.tick(2000);
  now = 3000;
  await monitor.stop();
  assert.equal(isDone, true);
  assert.deepEqual(said, [
    { records: 4, perSecond: 2, bytes: 12, seconds: 2 },
    { records: 0, perSecond: 0, bytes: 0, seconds: 1 },
  ]);
});
