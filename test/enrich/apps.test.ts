import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AppEnds, FileFindings, formatFinding, readAppEnds, readAppIds } from "../../src/enrich/index.ts";
import type { RecordFields, Value } from "../../src/record/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { runs } from "../support/runs.ts";

const hostsOf = (text: string) => readAppEnds(Buffer.from(text)).value;
const warningsOf = (read: typeof readAppEnds | typeof readAppIds, text: string): string[] =>
  read(Buffer.from(text)).warnings.map(formatFinding);

function errorsOf(read: typeof readAppEnds | typeof readAppIds, text: string): string[] {
  try {
    read(Buffer.from(text));
    return [];
  } catch (error) {
    assert.ok(error instanceof FileFindings);
    return error.findings.map(formatFinding);
  }
}

function appsOf(text: string, scopes = { private: true, public: true }) {
  const metrics = createMetrics();
  const apps = new AppEnds(scopes, metrics);
  apps.use(hostsOf(text));
  const add = (fields: Readonly<Record<string, Value>>): Record<string, Value> => {
    const record: RecordFields = new Map(Object.entries(fields));
    apps.enrich(record);
    return Object.fromEntries([...record].filter(([name]) => !(name in fields)));
  };
  const flow = (source: string, from: number, destination: string, to: number): Record<string, Value> =>
    add({
      "flow.src.ip.addr": source,
      "flow.src.l4.port.id": from,
      "flow.dst.ip.addr": destination,
      "flow.dst.l4.port.id": to,
    });
  return { apps, add, flow, metrics };
}

const file = `
192.168.1.0/24:
  8090:
    name: erp
    category: business
    subcategory: books
    metadata:
      .owner: finance
      cost.center: 27
  9000-9099: {name: workers}
  9050: {name: chief}
192.168.1.7: {8090: {name: test erp}}
10.0.0.1-10.0.0.9: {443: {name: portal}}
2001:db8::/32: {443: {name: portal 6}}
`;

test("the application of an address and port: of the most specific address that has the port, the narrowest range", async () => {
  const { flow, metrics } = appsOf(file);
  assert.deepEqual(flow("10.9.9.9", 50_000, "192.168.1.5", 8090), {
    "app.name": "erp",
    "app.category.name": "business",
    "app.subcategory.name": "books",
    "app.owner": "finance",
    "cost.center": "27",
  });
  assert.deepEqual(flow("10.9.9.9", 50_000, "192.168.1.7", 8090), { "app.name": "test erp" });
  assert.deepEqual(flow("10.9.9.9", 50_000, "192.168.1.7", 9099), { "app.name": "workers" });
  assert.deepEqual(flow("10.9.9.9", 50_000, "192.168.1.7", 9050), { "app.name": "chief" });
  assert.deepEqual(flow("10.0.0.9", 443, "192.168.2.7", 8090), { "app.name": "portal" });
  assert.deepEqual(flow("2001:db8::1", 443, "2001:db9::1", 5), { "app.name": "portal 6" });
  assert.deepEqual(flow("192.168.1.5", 8090, "192.168.1.7", 8090), { "app.name": "test erp" });
  assert.deepEqual(flow("10.0.0.10", 443, "192.168.1.5", 8091), {});
  assert.equal(await metrics.value("netgloss_enrich_app_ends_total", {}), 7);
});

test("what the exporter says stays; records without ports or addresses get nothing; addresses by scope", () => {
  const { add } = appsOf(file);
  const ends = { "flow.dst.ip.addr": "192.168.1.5", "flow.dst.l4.port.id": 8090 };
  assert.deepEqual(add({ ...ends, "app.name": "nbar says" }), {});
  assert.deepEqual(add({ "flow.dst.ip.addr": "192.168.1.5" }), {});
  assert.deepEqual(add({}), {});
  const inside = appsOf("192.0.2.1: {1: {name: a}}\n10.0.0.1: {1: {name: b}}", {
    private: true,
    public: false,
  });
  assert.deepEqual(inside.flow("192.0.2.1", 1, "198.51.100.1", 1), {});
  assert.deepEqual(inside.flow("10.0.0.1", 1, "192.0.2.1", 1), { "app.name": "b" });
});

test("a file that changes counts at once", () => {
  const { apps, flow } = appsOf("10.0.0.1: {1: {name: a}}");
  assert.deepEqual(flow("10.0.0.1", 1, "10.0.0.2", 2), { "app.name": "a" });
  apps.use(hostsOf("10.0.0.2: {2: {name: b}}"));
  assert.deepEqual(flow("10.0.0.1", 1, "10.0.0.2", 2), { "app.name": "b" });
  apps.use([]);
  assert.deepEqual(flow("10.0.0.1", 1, "10.0.0.2", 2), {});
});

test("errors and warnings of the files have their place", () => {
  assert.deepEqual(
    errorsOf(readAppEnds, "10.0.0.1:\n  70000: {name: a}\n  90-80: {name: b}\n  8o: {name: c}\n10.0.0.1/32: {}\n"),
    [
      '2:3: address 10.0.0.1: port 70000: expected a port from 0 to 65535, or a range as in 8000-8099; found "70000"',
      '3:3: address 10.0.0.1: port 90-80: expected a port from 0 to 65535, or a range as in 8000-8099; found "90-80"',
      '4:3: address 10.0.0.1: port 8o: expected a port from 0 to 65535, or a range as in 8000-8099; found "8o"',
    ],
  );
  assert.match(errorsOf(readAppEnds, "nowhere: {1: {name: d}}").join(), /^1:1: .*nowhere/);
  assert.match(
    errorsOf(readAppEnds, "10.0.0.1: {1: [a]}").join(),
    /^1:15: address 10\.0\.0\.1: port 1: expected a mapping, found a list/,
  );
  assert.match(errorsOf(readAppEnds, "10.0.0.1: {1: {metadata: {flow.bytes: 1}}}").join(), /^1:27: .*below flow/);
  assert.match(errorsOf(readAppEnds, "10.0.0.1: {1: {metadata: {.name: x}}}").join(), /^1:27: .*app\.name belongs/);
  assert.match(
    errorsOf(readAppEnds, "10.0.0.1: {1: {name: [x]}}").join(),
    /^1:22: address 10\.0\.0\.1: port 1: name: expected a text/,
  );
  assert.deepEqual(warningsOf(readAppEnds, "10.0.0.1: {1: {name: a, nme: b}}"), [
    '1:25: address 10.0.0.1: port 1: nme: unknown key is ignored (did you mean "name"?)',
  ]);
  assert.match(errorsOf(readAppIds, "x: {name: a}").join(), /^1:1: application x: expected an application id/);
  assert.match(
    errorsOf(readAppIds, "13:495: {name: a}\n218104303: {name: b}").join(),
    /^2:1: application 218104303: is there twice/,
  );
  assert.deepEqual(warningsOf(readAppIds, "13:495: {name: a, metadata: {owner: b}}"), [
    "1:30: application 13:495: metadata owner: is ignored: here a key begins with a dot, as in .owner",
  ]);
});

test("ids: engine and selector, with an enterprise number, or as one number", () => {
  const { value } = readAppIds(
    Buffer.from(
      "13:495: {name: zoom, category: meetings, metadata: {.risk: low}}\n20:9:65: {name: a}\n218104304: {name: b}",
    ),
  );
  assert.deepEqual(
    Array.from(value, ([id, { fields }]) => [id, fields]),
    [
      [
        "13:495",
        [
          ["app.name", "zoom"],
          ["app.category.name", "meetings"],
          ["app.risk", "low"],
        ],
      ],
      ["20:9:65", [["app.name", "a"]]],
      ["13:496", [["app.name", "b"]]],
    ],
  );
});

test("any tables: the same as a search of all entries", () => {
  const address = fc.integer({ min: 0, max: 15 }).map((low) => `10.0.0.${low}`);
  const key = fc.oneof(
    address,
    fc.integer({ min: 28, max: 31 }).map((bits) => `10.0.0.0/${bits}`),
  );
  const range = fc.tuple(fc.nat(9), fc.nat(9)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const entry = fc.tuple(key, fc.uniqueArray(range, { maxLength: 4 }));
  fc.assert(
    fc.property(
      fc.uniqueArray(entry, { selector: ([one]) => one, maxLength: 6 }),
      address,
      fc.nat(9),
      (all, ip, port) => {
        const text = all.map(
          ([one, ports]) => `${one}: {${ports.map((p) => `${p}: {name: "${one} ${p}"}`).join(", ")}}`,
        );
        const size = (one: string): number => (one.includes("/") ? 2 ** (32 - Number(one.split("/")[1])) : 1);
        const covers = (one: string): boolean =>
          one.includes("/") ? Number(ip.split(".")[3]) < size(one) : one === ip;
        const [best] = all
          .filter(([one]) => covers(one))
          .flatMap(([one, ports]) =>
            ports.map((p) => ({ one, p, first: Number(p.split("-")[0]), last: Number(p.split("-")[1]) })),
          )
          .filter(({ first, last }) => first <= port && port <= last)
          .toSorted((a, b) => size(a.one) - size(b.one) || a.last - a.first - (b.last - b.first) || a.first - b.first);
        const { flow } = appsOf(text.join("\n"));
        assert.equal(flow("172.16.0.1", 1, ip, port)["app.name"], best && `${best.one} ${best.p}`);
      },
    ),
    runs(200),
  );
});
