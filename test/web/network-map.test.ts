import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { linksFrom, portText, type Link } from "../../web/src/format/link-text.ts";
import { cell, layOut } from "../../web/src/format/map-layout.ts";
import {
  firstGroupKey,
  groupKeys,
  maxNodes,
  networkMap,
  type MapDevice,
  type MapView,
} from "../../web/src/format/network-map.ts";

const device = (n: number, metadata: Record<string, string> = {}): MapDevice => ({
  id: `10.0.${n >> 8}.${n & 255}:161`,
  ip: `10.0.${n >> 8}.${n & 255}`,
  name: `sw${n}`,
  metadata,
});
const link = (a: Link["a"], b: Link["b"], more: Partial<Link> = {}): Link => ({
  id: `${a.device ?? ""} ${a.port?.name ?? ""} ${b.device ?? b.name ?? ""}`,
  layer: 2,
  a,
  b,
  state: "up",
  confidence: "confirmed",
  ...more,
});
const between = (a: number, b: number, port = "", more: Partial<Link> = {}): Link =>
  link({ device: device(a).id, port: { name: port } }, { device: device(b).id }, more);
const view = (more: Partial<MapView> = {}): MapView => ({ layer: 2, groupBy: "none", open: "", ...more });

test("links between the same two devices are one line, as sure as the surest of them; other layers are left out", () => {
  const links = [
    between(1, 2, "1", { state: "gone" }),
    between(2, 1, "2", { confidence: "unsure" }),
    between(1, 3, "3", { layer: 3 }),
    link({ device: device(1).id }, { name: "phone" }, { confidence: "likely" }),
  ];
  const { nodes, edges, isCut } = networkMap([device(1), device(2), device(3)], links, view());
  assert.deepEqual(
    nodes.map(({ name, kind }) => `${name} ${kind}`),
    ["phone neighbor", "sw1 polled", "sw2 polled", "sw3 polled"],
  );
  assert.deepEqual(
    edges.map(({ certainty, linkIds }) => `${certainty} ${linkIds.length}`),
    ["unsure 2", "likely 1"],
  );
  assert.equal(isCut, false);
});

test("groups: the site first, names of hosts never; a neighbor is in the group of the device that knows it", () => {
  const devices = [
    device(1, { "rack.name": "r1", "site.name": "Bern", "host.name": "sw1" }),
    device(2, { "rack.name": "r2" }),
  ];
  const keys = groupKeys(devices);
  assert.deepEqual(keys, ["site.name", "rack.name", "network", "none"]);
  assert.equal(firstGroupKey(keys), "site.name");
  assert.equal(firstGroupKey(groupKeys([device(1, { "rack.name": "r1" })])), "none");
  const links = [link({ device: device(1).id }, { name: "phone" })];
  const groupsBy = (groupBy: string): string[] =>
    networkMap(devices, links, view({ groupBy })).nodes.map(({ name, group }) => `${name} ${group}`);
  assert.deepEqual(groupsBy("site.name"), ["phone Bern", "sw1 Bern", "sw2 not said"]);
  assert.deepEqual(groupsBy("network"), ["phone 10.0.0.0/24", "sw1 10.0.0.0/24", "sw2 10.0.0.0/24"]);
});

test("more than fit: groups with counts, of which one is open; lines lead to the groups", () => {
  const devices = Array.from({ length: maxNodes + 100 }, (_, n) => device(n));
  const links = [between(0, 1), between(0, 256), between(1, 257), between(300, 301)];
  const closed = networkMap(devices, links, view());
  assert.deepEqual(
    closed.nodes.map(({ name, count }) => `${name} ${count}`),
    ["10.0.0.0/24 256", "10.0.1.0/24 256", "10.0.2.0/24 88"],
  );
  assert.deepEqual(
    closed.edges.map(({ source, target, linkIds }) => `${source} ${target} ${linkIds.length}`),
    ["group 10.0.0.0/24 group 10.0.1.0/24 2"],
  );
  const open = networkMap(devices, links, view({ open: "10.0.1.0/24" }));
  assert.equal(open.nodes.length, 256 + 2);
  assert.ok(open.edges.some(({ source, target }) => [source, target].includes(device(300).id)));
  const many = Array.from({ length: 1000 }, (_, n) => device(n, { site: "one" }));
  const cut = networkMap(many, [], view({ groupBy: "site", open: "one" }));
  assert.equal(cut.nodes.length, maxNodes);
  assert.equal(cut.isCut, true);
});

test("the same map has the same places; no two nodes share one, and each is within its group", () => {
  const pair = fc.tuple(fc.nat(39), fc.nat(39));
  fc.assert(
    fc.property(
      fc.array(pair, { maxLength: 60 }),
      fc.integer({ min: 280, max: 1600 }),
      fc.nat(6),
      (pairs, width, sites) => {
        const devices = Array.from({ length: 40 }, (_, n) => device(n, { site: `site ${n % (sites + 1)}` }));
        const links = pairs.map(([a, b], i) => between(a, b, String(i)));
        const map = networkMap(devices, links, view({ groupBy: "site" }));
        const layout = layOut(map.nodes, map.edges, width);
        assert.deepEqual(layOut(map.nodes, map.edges, width), layout);
        assert.equal(layout.nodes.size, 40);
        assert.ok(layout.width <= width, `${layout.width} of ${width}`);
        const placed = [...layout.nodes.values()];
        for (const [at, { node, x, y }] of placed.entries()) {
          const frame = layout.groups.find(({ name }) => name === node.group);
          assert.ok(frame !== undefined && x > frame.x && x < frame.x + frame.width);
          assert.ok(y > frame.y && y < frame.y + frame.height);
          for (const other of placed.slice(at + 1)) {
            assert.ok(Math.abs(other.x - x) >= cell.width - 1 || Math.abs(other.y - y) >= cell.height - 12 - 1);
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("what has the most links is on top, what is linked to it below", () => {
  const devices = [1, 2, 3, 4, 5].map((n) => device(n));
  const map = networkMap(devices, [between(1, 3), between(2, 3), between(3, 4)], view());
  const { nodes } = layOut(map.nodes, map.edges, 800);
  const rowOf = (n: number): number => Math.floor((nodes.get(device(n).id)?.y ?? 0) / cell.height);
  assert.deepEqual([3, 1, 2, 4, 5].map(rowOf), [0, 1, 1, 1, 2]);
});

test("a line bends around a node that stands between its ends", () => {
  const devices = [1, 2, 3].map((n) => device(n, { site: n === 3 ? "b" : "a" }));
  const map = networkMap(devices, [between(1, 2), between(1, 3), between(1, 3, "2")], view({ groupBy: "site" }));
  const { nodes, bends } = layOut(map.nodes, map.edges, 300);
  const [top, middle, bottom] = [1, 2, 3].map((n) => nodes.get(device(n).id));
  assert.ok(top && middle && bottom && top.x === middle.x && middle.x === bottom.x, "one above the other");
  const bendOf = (n: number): number | undefined =>
    map.edges
      .filter(({ source, target }) => [source, target].includes(device(n).id))
      .map(({ id }) => bends.get(id)?.x)[0];
  assert.equal(bendOf(2), top.x);
  assert.notEqual(bendOf(3), top.x);
});

test("ports are called by their name, else by their index, with the aggregated interface that they are a part of", () => {
  assert.equal(portText({ port: { index: 7 } }), "ifIndex 7");
  assert.equal(portText({ port: { index: 7, name: "eth7" }, aggregate: { name: "bond0" } }), "eth7 of bond0");
  assert.equal(portText({}), "");
});

test("links are seen from a device whichever end it is", () => {
  const links = [between(1, 2, "x"), between(3, 1, "y"), between(2, 3, "z")];
  const seen = linksFrom(links, device(1).id);
  assert.deepEqual(
    seen.map(({ from, to }) => [from.device, to.device]),
    [
      [device(1).id, device(2).id],
      [device(1).id, device(3).id],
    ],
  );
});
