import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn, oidStartsWith } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { referenceData } from "../support/reference-data.ts";
import { createFakeNetwork, createSnmpAgent, oidOf, parseSnmprec } from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const { path: recordings, skip } = referenceData("snmp");
const names = existsSync(recordings) ? readdirSync(recordings).filter((name) => name.endsWith(".snmprec")) : [];

describe(
  "recorded devices: what is there is discovered, and polls agree with the walk",
  { skip, concurrency: 2 },
  () => {
    for (const name of names) {
      test(name, async (t) => {
        const table = parseSnmprec(readFileSync(join(recordings, name), "utf8"));
        const network = createFakeNetwork();
        network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table, maxMessageSize: 8000 }));
        const devices = tempDirectory(t);
        writeFileSync(join(devices, "lab.yml"), "lab: {ip: 192.0.2.1, communities: [public]}\n");
        const records: Record<string, unknown>[] = [];
        const snmp = new Snmp({
          paths: { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [devices] },
          persistDirectory: "",
          enricher: { enrich() {} },
          sink: {
            write: (lines) => {
              for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) {
                records.push(JSON.parse(line) as Record<string, unknown>);
              }
            },
          },
          clock: systemClock,
          log: silentLog,
          metrics: createMetrics(),
          health: createHealth(),
          openSocket: network.open,
        });
        await snmp.start();
        cleanUp(t, () => snmp.stop());
        const instances = (column: string): string[] => {
          const root = oidOf(column);
          return table.rows
            .filter(({ oid }) => oidStartsWith(oid, root))
            .map(({ oid }) => oid.slice(root.length).join("."));
        };
        const device = await until("the discovery", () => {
          const found = snmp.device("192.0.2.1:161");
          return found?.state === "up" && found;
        });
        const { objects } = device;
        // Discovery attribute by object, of objects that every group has.
        const expected: Readonly<Record<string, string>> = {
          "IF-MIB::ifTable": "1.3.6.1.2.1.2.2.1.2",
          "IF-MIB::ifXTable": "1.3.6.1.2.1.31.1.1.1.1",
        };
        for (const [object, column] of Object.entries(expected)) {
          const there = instances(column);
          assert.equal(object in objects, there.length > 0, `${name}: ${object}`);
          if (there.length === 0) continue;
          const of = (): Record<string, unknown>[] => records.filter((record) => record["snmp.object.name"] === object);
          const seen = await until(object, () => of().length >= there.length && of());
          const indexes = seen.slice(0, there.length).map((record) => String(record["netif.index"]));
          assert.deepEqual(indexes.toSorted(), there.toSorted());
          assert.ok(seen.every((record) => record["snmp.object.isPartial"] === undefined));
        }
        for (const [object, attributes] of Object.entries(objects)) assert.ok(attributes.length > 0, object);
        const { counts } = snmp.device("192.0.2.1:161") ?? { counts: {} };
        assert.equal((counts as Record<string, number>)["badIndexes"], 0);
      });
    }
  },
);
