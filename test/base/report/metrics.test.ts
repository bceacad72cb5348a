import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createMetrics, type Labels } from "../../../src/base/report/index.ts";
import { runs } from "../../support/runs.ts";

type Values = readonly (readonly [Labels, number])[];

const sample = fc.tuple(
  fc.record({ device: fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "é", "}"), maxLength: 4 }) }),
  fc.oneof(fc.nat(), fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
);

test("metrics that are read are written as prom-client writes them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { maxLength: 20 }),
      fc.string({ unit: fc.constantFrom("x", "\\", "\n", '"'), minLength: 1, maxLength: 6 }),
      async (values: Values, help) => {
        const model = new Registry();
        const labelNames = ["device"];
        const counter = new Counter({ name: "a_total", help, labelNames, registers: [model] });
        const gauge = new Gauge({ name: "b", help, labelNames, registers: [model] });
        const metrics = createMetrics();
        metrics.counterFrom("a_total", help, labelNames, () => values);
        metrics.gaugeFrom("b", help, labelNames, () => values);
        for (const [labels, value] of values) {
          counter.inc(labels, value);
          gauge.set(labels, value);
        }
        assert.equal(await metrics.render(), await model.metrics());
        for (const [labels] of values) {
          const { values: expected } = await counter.get();
          const same = expected.find((one) => one.labels.device === labels["device"]);
          assert.equal(await metrics.value("a_total", labels), same?.value);
        }
      },
    ),
    runs(100),
  );
});

test("what is counted, set and observed is written as prom-client writes it", async () => {
  const labels = fc.record({ a: fc.constantFrom("x", 'q"'), b: fc.constantFrom(1, 2) });
  const value = fc.oneof(fc.nat(20), fc.double({ min: 0, max: 20, noNaN: true }));
  const step = fc.tuple(fc.constantFrom("count", "set", "observe", "plain"), labels, value);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const model = new Registry();
      const shared = { help: "Help.", labelNames: ["a", "b"], registers: [model] };
      const buckets = [0.5, 5, 10];
      const expected = {
        counter: new Counter({ name: "a_total", ...shared }),
        gauge: new Gauge({ name: "b", ...shared }),
        histogram: new Histogram({ name: "c_seconds", buckets, ...shared }),
        plain: new Histogram({ name: "d_seconds", help: "Help.", buckets, registers: [model] }),
      };
      const metrics = createMetrics();
      const counter = metrics.counter("a_total", "Help.", ["a", "b"]);
      const gauge = metrics.gauge("b", "Help.", ["a", "b"]);
      const histogram = metrics.histogram("c_seconds", "Help.", buckets, ["a", "b"]);
      const plain = metrics.histogram("d_seconds", "Help.", buckets);
      for (const [kind, of, by] of steps) {
        if (kind === "count") {
          counter.add(by, of);
          expected.counter.inc(of, by);
        } else if (kind === "set") {
          gauge.set(by, of);
          expected.gauge.set(of, by);
        } else if (kind === "observe") {
          histogram.observe(by, of);
          expected.histogram.observe(of, by);
        } else {
          plain.observe(by);
          expected.plain.observe(by);
        }
      }
      assert.equal(await metrics.render(), await model.metrics());
    }),
    runs(100),
  );
});

test("counters are there at zero for the labels known beforehand, others come as they are counted", async () => {
  const metrics = createMetrics();
  const counter = metrics.counter("a_total", "Help.", { step: ["read", "write"], result: ["ok", "failed"] });
  counter.add(2, { step: "write", result: "ok" });
  counter.add(1, { step: "sync", result: "ok" });
  const series = (await metrics.render()).split("\n").filter((line) => line.startsWith("a_total"));
  assert.deepEqual(series, [
    'a_total{step="read",result="ok"} 0',
    'a_total{step="read",result="failed"} 0',
    'a_total{step="write",result="ok"} 2',
    'a_total{step="write",result="failed"} 0',
    'a_total{step="sync",result="ok"} 1',
  ]);
  assert.throws(() => counter.add(1, { step: "read" }), /a_total has the labels step, result, not step/);
  assert.throws(() => counter.add(1, { step: "read", result: "ok", more: 1 }), /a_total has the labels/);
  assert.throws(() => counter.add(-1, { step: "read", result: "ok" }), /cannot count -1/);
});

test("the text format to the letter, in the order of registration", async () => {
  const metrics = createMetrics();
  metrics.gaugeFrom("netgloss_z", 'Back\\slash,\nline "feed"', ["a", "b"], () => [
    [{ b: 2, a: 'q"\\\n' }, 1.5],
    [{ a: "only" }, Number.NaN],
    [{}, Infinity],
    [{ b: "" }, -Infinity],
  ]);
  metrics.counter("netgloss_y_total", "Plain.").add(3);
  metrics.counterFrom("netgloss_x_total", "One number.", [], () => 2 ** 53);
  metrics.counterFrom("netgloss_w_total", "None yet.", ["a"], () => []);
  assert.equal(
    await metrics.render(),
    `# HELP netgloss_z Back\\\\slash,\\nline "feed"
# TYPE netgloss_z gauge
netgloss_z{a="q\\"\\\\\\n",b="2"} 1.5
netgloss_z{a="only"} NaN
netgloss_z +Inf
netgloss_z{b=""} -Inf

# HELP netgloss_y_total Plain.
# TYPE netgloss_y_total counter
netgloss_y_total 3

# HELP netgloss_x_total One number.
# TYPE netgloss_x_total counter
netgloss_x_total 9007199254740992

# HELP netgloss_w_total None yet.
# TYPE netgloss_w_total counter
`,
  );
});

test("a long answer leaves others their turns, and is still one snapshot", async () => {
  const metrics = createMetrics();
  const names = Array.from({ length: 7000 }, (_, i) => `device-${i}`);
  let value = 1;
  for (const name of ["first", "second", "third"]) {
    metrics.gaugeFrom(name, "Help.", ["device"], () => names.map((device) => [{ device }, value]));
  }
  const plain = metrics.gauge("plain", "Help.");
  plain.set(1);
  let turns = 0;
  const progress = { isDone: false };
  const rendering = metrics.render().finally(() => (progress.isDone = true));
  while (!progress.isDone) {
    await setImmediate();
    turns++;
    value++;
    plain.set(value);
    names.pop();
  }
  const text = await rendering;
  assert.ok(turns >= 10, `${turns} turns for 21 000 series`);
  const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.equal(series.length, 3 * 7000 + 1);
  assert.deepEqual(new Set(series.map((line) => line.slice(line.lastIndexOf(" ") + 1))), new Set(["1"]));
  assert.equal(text.match(/^# TYPE/gm)?.length, 4);
});

test("an answer is made in small pieces, which are the whole text together", async () => {
  const metrics = createMetrics();
  metrics.counter("empty_total", "Help.", ["reason"]);
  const names = Array.from({ length: 5000 }, (_, i) => `device-${i}`);
  metrics.gaugeFrom("netgloss_x", "Help.", ["device"], () => names.map((device) => [{ device }, 1] as const));
  metrics.gauge("last", "Help.").set(1);
  const pieces: string[] = [];
  for await (const piece of metrics.pieces()) pieces.push(piece);
  assert.ok(pieces.length >= 2 && pieces.every(({ length }) => length < 70_000));
  assert.ok(pieces.every((piece) => piece.endsWith("\n")));
  assert.equal(pieces.join(""), await metrics.render());
});

test("readings by a generator are made with their piece, and none of them is kept", async () => {
  const metrics = createMetrics();
  let made = 0;
  metrics.gaugeFrom("netgloss_x", "Help.", ["device"], function* () {
    for (; made < 10_000; made++) yield [{ device: `device-${made}` }, made] as const;
  });
  const seen: number[] = [];
  for await (const piece of metrics.pieces()) {
    assert.ok(piece.length < 70_000);
    seen.push(made);
  }
  assert.ok(seen.length >= 4);
  // A line is longer than 20 characters, and a piece shorter than 70 000.
  for (const [i, count] of seen.entries()) assert.ok(count - (seen[i - 1] ?? 0) < 3500, seen.join(", "));
  assert.equal(made, 10_000);
});

test("readings one by one are the same text as a list of them", async () => {
  const value = fc.oneof(fc.double(), fc.integer(), fc.constant(0), fc.constant(-0));
  const label = fc.oneof(fc.string(), fc.integer(), fc.constantFrom('"', "\\", "\n", ""));
  const labelled = fc.record({
    a: fc.option(label, { nil: undefined }),
    b: fc.option(label, { nil: undefined }),
    value,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(labelled, { selector: ({ a, b }) => `${a}\0${b}`, maxLength: 20 }),
      async (samples) => {
        const readings = samples.map(
          ({ a, b, value: of }) => [{ ...(a !== undefined && { a }), ...(b !== undefined && { b }) }, of] as const,
        );
        const text = (read: () => Iterable<(typeof readings)[number]>): Promise<string> => {
          const metrics = createMetrics();
          metrics.gaugeFrom("netgloss_x", "Help.", ["a", "b"], read);
          return metrics.render();
        };
        assert.equal(
          await text(function* () {
            yield* readings;
          }),
          await text(() => readings),
        );
      },
    ),
    runs(50),
  );
});

test("what Prometheus would refuse is refused", async () => {
  const metrics = createMetrics();
  metrics.counter("taken_total", "Help.");
  metrics.gaugeFrom("read", "Help.", ["device"], () => [[{ divice: "a" }, 1]]);
  for (const name of ["taken_total", "read"]) {
    assert.throws(() => metrics.gaugeFrom(name, "Help.", [], () => 1), /registered already/);
    assert.throws(() => metrics.gauge(name, "Help."), /registered already/);
  }
  assert.throws(() => metrics.gaugeFrom("a-b", "Help.", [], () => 1), /a-b is no name of a metric/);
  assert.throws(() => metrics.gaugeFrom("c", "Help.", ["a.b"], () => 1), /a\.b is no name of a label/);
  await assert.rejects(metrics.render(), /read was read with labels other than device/);
  const others = createMetrics();
  others.gaugeFrom("read", "Help.", ["device"], function* () {
    yield [{ device: "a", port: 1 }, 1] as const;
  });
  await assert.rejects(others.render(), /read was read with labels other than device/);
});

test("what other threads counted is added to what this one did", async () => {
  const here = createMetrics();
  const there = createMetrics();
  for (const [metrics, by] of [
    [here, 1],
    [there, 10],
  ] as const) {
    metrics.counter("netgloss_a_total", "Counted.", ["kind"]).add(by, { kind: "x" });
    metrics.counterFrom("netgloss_b_total", "Read.", ["thread"], () => [[{ thread: by }, by]]);
    metrics.gaugeFrom("netgloss_c", "How much.", [], () => by);
    metrics.histogram("netgloss_d_seconds", "How long.", [1, 10]).observe(by);
  }
  there.gauge("netgloss_only_there", "There alone.").set(7);
  const families = structuredClone(await there.families());
  here.addSource(async () => families);
  assert.equal(
    await here.render(),
    `# HELP netgloss_a_total Counted.
# TYPE netgloss_a_total counter
netgloss_a_total{kind="x"} 11

# HELP netgloss_b_total Read.
# TYPE netgloss_b_total counter
netgloss_b_total{thread="1"} 1
netgloss_b_total{thread="10"} 10

# HELP netgloss_c How much.
# TYPE netgloss_c gauge
netgloss_c 11

# HELP netgloss_d_seconds How long.
# TYPE netgloss_d_seconds histogram
netgloss_d_seconds_bucket{le="1"} 1
netgloss_d_seconds_bucket{le="10"} 2
netgloss_d_seconds_bucket{le="+Inf"} 2
netgloss_d_seconds_sum 11
netgloss_d_seconds_count 2

# HELP netgloss_only_there There alone.
# TYPE netgloss_only_there gauge
netgloss_only_there 7
`,
  );
  assert.equal(await here.value("netgloss_d_seconds_count"), 2);
  assert.equal(await here.value("netgloss_only_there"), 7);
});
