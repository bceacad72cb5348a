import assert from "node:assert/strict";
import { test } from "node:test";
import { chartSvg } from "../../web/src/format/chart-svg.ts";
import { flowPicture } from "../../web/src/format/flow-diagram.ts";
import { percentileOf } from "../../web/src/format/percentile.ts";
import { reversedField, reversedFilter, reversedMeasure } from "../../web/src/format/reversed.ts";
import { asShares, layersOf } from "../../web/src/format/stack.ts";

test("the measure of the other way counts the other end, or the other way of the interface", () => {
  const ways = ["destinations", "source_ports", "utilisation_in", "bytes"].map(reversedMeasure);
  assert.deepEqual(ways, ["sources", "destination_ports", "utilisation_out", "bytes"]);
});

test("the filter of the other way exchanges the ends and the ways, and nothing in quotes or of the language", () => {
  for (const [there, back] of [
    ["src in 10.0.0.0/8 and dst.port = 443", "dst in 10.0.0.0/8 and src.port = 443"],
    [
      'flow.src.site.name = "src" or `flow.dst.ip.addr` = 192.0.2.1',
      'flow.dst.site.name = "src" or `flow.src.ip.addr` = 192.0.2.1',
    ],
    ["in.if = 3 and exporter in (192.0.2.1)", "out.if = 3 and exporter in (192.0.2.1)"],
    ["flow.in.netif.name ~ 'dst.x' # src", "flow.out.netif.name ~ 'dst.x' # src"],
    ["src.tag = src and dst.name in (dst-1, dst.b)", "dst.tag = src and src.name in (dst-1, dst.b)"],
    ["not src exists and dst.port not in (1)", "not dst exists and src.port not in (1)"],
    ["server.port = 53 and proto = udp", "server.port = 53 and proto = udp"],
  ] as const) {
    assert.equal(reversedFilter(there), back);
    assert.equal(reversedFilter(back), there);
  }
  assert.deepEqual(["flow.src.as.id", "flow.in.netif.name", "app.name", "flow.src"].map(reversedField), [
    "flow.dst.as.id",
    "flow.out.netif.name",
    "app.name",
    "flow.dst",
  ]);
});

test("what goes is stacked upwards, what comes downwards, the time before lies over it", () => {
  const series = [
    { values: [9, 9], isBefore: true },
    { values: [1, 2] },
    { values: [3, 4] },
    { values: [5, 6], isDown: true },
    { values: [1, 1], isDown: true },
  ];
  assert.deepEqual(layersOf(series, true), [
    [9, 9],
    [1, 2],
    [4, 6],
    [-5, -6],
    [-6, -7],
  ]);
  assert.deepEqual(layersOf(series, false), [
    [9, 9],
    [1, 2],
    [3, 4],
    [-5, -6],
    [-1, -1],
  ]);
  const shares = asShares([{ values: [1, 0] }, { values: [3, 0] }, { values: [5, 5], isDown: true }]);
  assert.deepEqual(
    shares.map(({ values }) => values),
    [
      [25, 0],
      [75, 0],
      [100, 100],
    ],
  );
});

test("the others are a strip of the flow diagram, and all of it is the total", () => {
  const rows = [
    { key: ["a", "b"], value: 5 },
    { key: ["a", null], value: 2 },
  ];
  const { nodes, links } = flowPicture(rows, 2, 3);
  assert.deepEqual(
    nodes.filter(({ isOthers = false }) => isOthers).map(({ column }) => column),
    [0, 1],
  );
  assert.equal(
    links.reduce((sum, { value }) => sum + value, 0),
    10,
  );
  assert.equal(flowPicture(rows, 2).links.length, 2);
});

test("percentiles are by the nearest rank, the hundredth is the maximum", () => {
  const values = Array.from({ length: 20 }, (_, index) => 20 - index);
  assert.deepEqual([percentileOf(values, 95), percentileOf(values, 100), percentileOf([], 95)], [19, 20, 0]);
});

test("a chart as SVG is whole XML whatever its names are", () => {
  const label = `<script>&"'\u0000`;
  const svg = chartSvg({
    title: label,
    marks: [[0, label]],
    series: [
      { label, color: "#123456", values: [1, 2] },
      { label: "b", color: "red", values: [0, 0], isBefore: true },
    ],
    unit: "bit/s",
    isStacked: true,
  });
  assert.ok(!svg.includes("<script") && !svg.includes("\u0000"));
  assert.equal(svg.match(/<text /g)?.length, svg.match(/<\/text>/g)?.length);
  assert.match(svg, /&lt;script&gt;&amp;&quot;/);
  assert.doesNotMatch(svg, /NaN|Infinity/);
  const values = Array.from({ length: 2000 }, (_, at) => at);
  const series = Array.from({ length: 100 }, () => ({ label: "a", color: "red", values }));
  const many = chartSvg({ title: "", marks: [], series, unit: "bit/s", isStacked: true });
  assert.equal(many.match(/<path /g)?.length, 105);
});
