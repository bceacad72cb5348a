import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { interfaceTable, recordTable, type DemoRecord } from "../../src/app/demo/recent-records.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

/** A flow of 80 columns and no more. */
const flow: DemoRecord = {
  "flow.export.ip.subnet.name": "edge-1",
  "flow.src.ip.subnet.name": "web-1",
  "flow.src.l4.port.id": 443,
  "flow.dst.ip.addr": "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
  "flow.dst.l4.port.id": 65_535,
  "flow.in.netif.name": "TenGigabitEthernet1/0/1",
  "flow.out.netif.name": "xe-1/0/0",
  "flow.bytes": 12_345_678_901,
};

test("demo: names that do not fit are cut, the widest first; ports and bytes are not", () => {
  const [header = "", row = ""] = recordTable([flow]).split("\n");
  assert.equal(header, "VIA     SOURCE     DESTINATION         IN                  OUT       BYTES");
  assert.equal(row, "edge-1  web-1:443  [2001:db8:…]:65535  TenGigabitEtherne…  xe-1/0/0  12345678901");
  const short = recordTable([{ ...flow, "flow.dst.ip.addr": "::1", "flow.in.netif.name": "ge-0/0/1" }]);
  assert.match(short, /^edge-1 {2}web-1:443 {2}\[::1\]:65535 {2}ge-0\/0\/1 {2}xe-1\/0\/0 {2}12345678901$/m);
});

test("demo: a flow without ports has no colon, one without interfaces a dash", () => {
  const table = recordTable([{ "flow.src.ip.addr": "10.0.0.1", "flow.dst.ip.subnet.name": "dns-1", "flow.bytes": 84 }]);
  assert.match(table, /^- {4}10\.0\.0\.1 {2}dns-1 {8}- {3}- {4}84$/m);
});

test("demo: no line is wider than 80 columns, whatever the values", () => {
  const name = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 90 }), fc.ipV6(), fc.ipV4());
  const port = fc.option(fc.integer({ min: 0, max: 65_535 }), { nil: undefined });
  const bytes = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String), fc.nat());
  const flows = fc.record<DemoRecord>({
    "flow.export.ip.subnet.name": name,
    "flow.src.ip.subnet.name": name,
    "flow.src.l4.port.id": port,
    "flow.dst.ip.addr": name,
    "flow.dst.l4.port.id": port,
    "flow.in.netif.name": name,
    "flow.out.netif.name": name,
    "flow.bytes": bytes,
  });
  const rows = fc.record<DemoRecord>({
    "system.host.name": name,
    "netif.name": name,
    "netif.bytes.in": bytes,
    "netif.bytes.out": bytes,
  });
  const isNarrow = (table: string): void => {
    for (const line of table.split("\n")) {
      assert.ok(line.length <= 80, line);
      assert.doesNotMatch(line, /\p{Surrogate}/u);
    }
  };
  fc.assert(
    fc.property(fc.array(flows, { maxLength: 3 }), fc.array(rows, { maxLength: 2 }), (some, counted) => {
      const table = recordTable(some);
      isNarrow(table);
      isNarrow(interfaceTable(counted));
      for (const one of some) assert.ok(table.includes(String(one["flow.bytes"])));
    }),
    runs(60),
  );
});
