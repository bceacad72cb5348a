import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { ecsName, fieldGroups, findField, recordFields, type Value } from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import {
  createFakeNetwork,
  createSnmpAgent,
  createTable,
  gauge,
  identifier,
  integer,
  octets,
  oidOf,
  type AgentRow,
  type TypedValue,
} from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { fitsField } from "../flow/fits-field.ts";
import { snmpDashboardEcsNames, snmpDashboardNames } from "./dashboard-names.ts";

const counter = (value: number): TypedValue => ({ type: "Counter32", value });
const counter64 = (value: bigint): TypedValue => ({ type: "Counter64", value });

/** Instances below an OID by their last numbers; each counter says which one it is. */
const rows = (base: string, values: Readonly<Record<string, TypedValue>>): AgentRow[] =>
  Object.entries(values).map(([rest, value]) => ({ oid: oidOf(`${base}.${rest}`), value }));

const scalars = (base: string, from: number, to: number): AgentRow[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ oid: oidOf(`${base}.${from + i}.0`), value: counter(from + i) }));

/** A host with one interface that has all of the standard MIBs that dashboards show. */
const host = createTable([
  ...rows("1.3.6.1.2.1.1", {
    "1.0": octets("a host"),
    "2.0": identifier("1.3.6.1.4.1.8072.3.2.10"),
    "3.0": { type: "TimeTicks", value: 100 },
    "5.0": octets("host-1"),
  }),
  ...rows("1.3.6.1.2.1.2.2.1", {
    "1.7": integer(7),
    "2.7": octets("eth7"),
    "3.7": integer(6),
    "4.7": integer(1500),
    "5.7": gauge(4_294_967_295),
    "6.7": octets("00:00:5e:00:53:01"),
    "7.7": integer(1),
    "8.7": integer(2),
    "10.7": counter(10),
    "13.7": counter(13),
    "14.7": counter(14),
    "15.7": counter(15),
    "16.7": counter(16),
    "19.7": counter(19),
    "20.7": counter(20),
  }),
  ...rows("1.3.6.1.2.1.31.1.1.1", {
    "1.7": octets("xe-7"),
    "6.7": counter64(2n ** 63n + 6n),
    "10.7": counter64(10n),
    "15.7": gauge(100_000),
    "17.7": integer(1),
  }),
  ...scalars("1.3.6.1.2.1.4", 3, 12),
  ...scalars("1.3.6.1.2.1.4", 14, 19),
  ...scalars("1.3.6.1.2.1.5", 1, 26),
  ...rows("1.3.6.1.2.1.6", {
    "1.0": integer(5),
    "2.0": integer(200),
    "3.0": integer(120_000),
    "4.0": integer(-1),
    "9.0": gauge(9),
    "17.0": counter64(17n),
  }),
  ...scalars("1.3.6.1.2.1.6", 5, 8),
  ...scalars("1.3.6.1.2.1.6", 10, 12),
  ...scalars("1.3.6.1.2.1.6", 14, 15),
  ...scalars("1.3.6.1.2.1.7", 1, 4),
  ...scalars("1.3.6.1.2.1.11", 1, 6),
  ...scalars("1.3.6.1.2.1.11", 8, 22),
  ...scalars("1.3.6.1.2.1.11", 24, 29),
  ...scalars("1.3.6.1.2.1.11", 31, 32),
]);

type SnmpRecord = Readonly<Record<string, Value>>;

const golden = resolve(import.meta.dirname, "../../../test/snmp/golden/standard-mibs.json");

test("the supplied definitions write what dashboards ask for, with the types of the table", async (t) => {
  const network = createFakeNetwork();
  network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table: host, maxMessageSize: 8000 }));
  const devices = tempDirectory(t);
  writeFileSync(join(devices, "host.yml"), "host: {ip: 192.0.2.1, communities: [public]}\n");
  const byEntity = new Map<string, SnmpRecord>();
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(resolve(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: {
      write: (lines) => {
        for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) {
          const {
            "@timestamp": _timestamp,
            "system.uptime": _uptime,
            ...record
          } = JSON.parse(exactNumbers(line)) as SnmpRecord;
          byEntity.set(record["snmp.object.entity"] as string, record);
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
  await until("all objects", () => {
    const device = snmp.device("192.0.2.1:161");
    return device?.state === "up" && Object.keys(device.objects).length > 0 && byEntity.size >= 8;
  });
  const records = [...byEntity].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, `${JSON.stringify(records, undefined, 2)}\n`);
  assert.deepEqual(records, JSON.parse(readFileSync(golden, "utf8")));

  const written = new Set(records.flatMap((record) => Object.keys(record)));
  assert.deepEqual(
    snmpDashboardNames.filter((name) => !written.has(name)),
    [],
  );
  const inTable = new Set(recordFields.map(({ name }) => name));
  assert.deepEqual(
    snmpDashboardNames.filter((name) => !inTable.has(name)),
    [],
  );
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const field = findField(name);
      if (field !== undefined && "name" in field) {
        assert.ok(fitsField(field, value, false), `${name} is ${JSON.stringify(value)}`);
      }
    }
  }
  const more = new Set(["netif.descr", "netif.alias"]);
  assert.deepEqual(
    fieldGroups.mibs.map(({ name }) => name).filter((name) => !written.has(name) && !more.has(name)),
    [],
  );
});

test("each of these names has its name in ECS", () => {
  const names = new Set(snmpDashboardNames.map(ecsName));
  assert.deepEqual(
    snmpDashboardEcsNames.filter((name) => !names.has(name)),
    [],
  );
});

/** Numbers that JavaScript has not exactly become texts that end with n. */
function exactNumbers(line: string): string {
  return line.replaceAll(/:(\d{17,})(?=[,}])/g, ':"$1n"');
}
