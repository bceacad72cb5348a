import assert from "node:assert/strict";
import { test } from "node:test";
import {
  NameEnricher,
  FileFindings,
  formatFinding,
  joinPortNames,
  knownPortNames,
  readPortNames,
  type PortNames,
} from "../../src/enrich/index.ts";
import { renderFields, scopedNumber, type RecordFields, type Value } from "../../src/record/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";

type Fields = Readonly<Record<string, Value>>;

function setUp(ports: PortNames | undefined = knownPortNames()) {
  const metrics = createMetrics();
  const enricher = new NameEnricher(() => ports, true, metrics);
  const added = (fields: Fields): Fields => {
    const record: RecordFields = new Map(Object.entries(fields));
    enricher.enrich(record);
    return Object.fromEntries([...record].filter(([name]) => !(name in fields)));
  };
  return { enricher, metrics, added };
}

const flow = (protocol: Value, source: Value, destination: Value): Fields => ({
  "l4.proto.id": protocol,
  "flow.src.l4.port.id": source,
  "flow.dst.l4.port.id": destination,
});

test("ports are named by transport protocol", async () => {
  const { added, metrics } = setUp();
  assert.deepEqual(added(flow(6, 51_234, 443)), { "flow.dst.l4.port.name": "https" });
  assert.deepEqual(added(flow(17, 53, 123)), { "flow.src.l4.port.name": "domain", "flow.dst.l4.port.name": "ntp" });
  assert.deepEqual(added(flow(6, 40_001, 514)), { "flow.dst.l4.port.name": "shell" });
  assert.deepEqual(added(flow(17, 40_001, 514)), { "flow.dst.l4.port.name": "syslog" });
  assert.deepEqual(added(flow(132, 5672, 40_001)), { "flow.src.l4.port.name": "amqp" });
  assert.deepEqual(added(flow(1, 443, 443)), {});
  assert.equal(await metrics.value("netgloss_enrich_names_total", { kind: "port" }), 6);
});

test("what is no number has no name, and a name of the record stays", () => {
  const { added } = setUp();
  assert.deepEqual(added(flow([6], 443, 443)), {});
  assert.deepEqual(added(flow(6, [443, 80], "443")), {});
  assert.deepEqual(added({ ...flow(6, 1, 443), "flow.dst.l4.port.name": "mine", "flow.src.l4.port.name": "own" }), {});
});

test("code points have the names of the RFCs", async () => {
  const { added, metrics } = setUp();
  const name = (id: number): unknown => added({ "ip.dscp.id": id })["ip.dscp.name"];
  const named = Array.from({ length: 64 }, (_, id) => [id, name(id)] as const).filter(
    ([, found]) => found !== undefined,
  );
  assert.deepEqual(named, [
    [0, "CS0"],
    [1, "LE"],
    [8, "CS1"],
    [10, "AF11"],
    [12, "AF12"],
    [14, "AF13"],
    [16, "CS2"],
    [18, "AF21"],
    [20, "AF22"],
    [22, "AF23"],
    [24, "CS3"],
    [26, "AF31"],
    [28, "AF32"],
    [30, "AF33"],
    [32, "CS4"],
    [34, "AF41"],
    [36, "AF42"],
    [38, "AF43"],
    [40, "CS5"],
    [44, "VA"],
    [46, "EF"],
    [48, "CS6"],
    [56, "CS7"],
  ]);
  assert.equal(await metrics.value("netgloss_enrich_names_total", { kind: "dscp" }), 23);
});

test("the known names are those of IANA's registry below 32768", () => {
  const names = knownPortNames();
  const named = (protocol: number, ...ports: number[]): unknown[] =>
    ports.map((port) => names.get(protocol)?.get(port));
  assert.deepEqual(named(6, 22, 80, 143, 443, 1521, 1883, 2049, 3306, 3478), [
    "ssh",
    "http",
    "imap",
    "https",
    "ncube-lm",
    "mqtt",
    "nfs",
    "mysql",
    "stun",
  ]);
  assert.deepEqual(named(6, 5900, 6443, 8443, 9092, 9200, 11_211), [
    "rfb",
    "sun-sr-https",
    "pcsync-https",
    "XmlIpcRegSvc",
    "wap-wsp",
    "memcache",
  ]);
  assert.deepEqual(
    [named(6, 514), named(17, 514), named(132, 3868), named(33, 9)],
    [["shell"], ["syslog"], ["diameter"], ["discard"]],
  );
  for (const ports of names.values()) for (const port of ports.keys()) assert.ok(port < 32_768);
});

test("names of a file count before the known ones", () => {
  const own = readPortNames(Buffer.from("tcp: {8443: portal, 443: 'front door'}\nudp:\n")).value;
  const { added } = setUp(joinPortNames(own, knownPortNames()));
  assert.deepEqual(added(flow(6, 443, 8443)), {
    "flow.src.l4.port.name": "front door",
    "flow.dst.l4.port.name": "portal",
  });
  assert.deepEqual(added(flow(6, 22, 8499)), { "flow.src.l4.port.name": "ssh" });
  assert.equal(readPortNames(Buffer.from("# nothing yet\n")).value.size, 0);
});

const faults: readonly (readonly [text: string, findings: readonly string[]])[] = [
  [
    "tcp:\n  65536: x\n  x: y\n  80: ''\n  81: [a]\nicmp: {}\n",
    [
      '2:3: tcp: 65536: expected a port from 0 to 65535, found "65536"',
      '3:3: tcp: x: expected a port from 0 to 65535, found "x"',
      "4:7: tcp: 80: expected a text of one line, at most 255 characters, found an empty text",
      "5:7: tcp: 81: expected a text of one line, at most 255 characters, found a list",
      '6:1: icmp: unknown key (did you mean "tcp"?)',
    ],
  ],
  ["tcp: 7\n", ["1:6: tcp: expected a mapping, found a text"]],
  ["- a\n", ["1:1: expected a mapping, found a list"]],
  ["tcp: {80: a, 80: b}\n", ['1:14: key "80" is given twice, first at line 1, column 7']],
  ["tcp: {}\n---\nudp: {}\n", ["3:1: a second document: the file must hold one"]],
  ["tcp: {", ["1:7: unexpected end of the stream within a flow collection"]],
];

for (const [text, expected] of faults) {
  test(`a file of ports is refused with line and column: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => readPortNames(Buffer.from(text)),
      (error) => {
        assert.ok(error instanceof FileFindings);
        assert.deepEqual(error.findings.map(formatFinding), expected);
        return true;
      },
    );
  });
}

test("bytes that are no text are refused", () => {
  assert.throws(() => readPortNames(Buffer.from([0xff, 0xfe, 0x00])), /1:1: the file is UTF-16, it must be UTF-8/);
});

test("lines made without a record get the same", async () => {
  const { enricher, metrics, added } = setUp();
  const { lines } = enricher;
  assert.ok(lines !== undefined);
  const bytes = (fields: Fields): string =>
    lines.numbers
      .map((additions) => {
        const { field, scope } = additions;
        const of = fields[scope ?? ""];
        const number = fields[field];
        if (typeof number !== "number" || (scope !== undefined && typeof of !== "number")) return "";
        return Buffer.from(
          additions.tableFor("192.0.2.1", new Uint8Array())?.get(scopedNumber(Number(of ?? 0), number)) ?? [],
        ).toString();
      })
      .join("");
  for (const protocol of [0, 1, 6, 17, 33, 132, 255]) {
    for (const port of [0, 22, 53, 80, 514, 5672, 65_535]) {
      const fields = { ...flow(protocol, port, 443), "ip.dscp.id": port & 63 };
      assert.equal(bytes(fields), renderFields(Object.entries(added(fields))).toString());
    }
  }
  const before = (await metrics.value("netgloss_enrich_names_total", { kind: "port" })) ?? 0;
  lines.numbers[0]?.added(7);
  assert.equal(await metrics.value("netgloss_enrich_names_total", { kind: "port" }), before + 7);
});
