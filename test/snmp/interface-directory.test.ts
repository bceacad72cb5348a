import assert from "node:assert/strict";
import { test } from "node:test";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";

test("an exporter's tables of names are the same ones until its interfaces are others", () => {
  const directory = new InterfaceDirectory();
  const { lines } = new InterfaceEnricher(directory, createMetrics());
  const tables = (): unknown[] =>
    (lines?.numbers ?? []).map((additions) => additions.tableFor("192.0.2.1", new Uint8Array()));
  const know = (name: string): void =>
    directory.change({
      deviceId: "core",
      known: { ip: "192.0.2.1", addresses: [], interfaces: new Map([[7, { name }]]) },
    });
  know("Gi0/7");
  const first = tables();
  assert.ok(first.length > 0 && first.every((table) => table !== undefined));
  assert.ok(tables().every((table, i) => table === first[i]));
  know("xe-0/7");
  assert.ok(tables().every((table, i) => table !== undefined && table !== first[i]));
});
