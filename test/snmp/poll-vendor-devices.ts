import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, Snmp, definitionPathsIn, type Definitions } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeNetwork, createSnmpAgent, parseSnmprec } from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import type { VendorDevice } from "./vendor-devices.ts";

const directory = resolve(import.meta.dirname, "../../../definitions");

async function shipped(): Promise<Definitions> {
  const paths = definitionPathsIn(directory);
  const { definitions } = await new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load(
    "start",
  );
  assert.ok(definitions);
  return definitions;
}

/** Numbers that an Integer32 cannot hold are of this type. */
const gauge32 = 66;

/** A recording: what the device says of itself, and the values by the names of the MIB. */
function recording(definitions: Definitions, { sysObjectId, descr, values }: VendorDevice): string {
  const oids = new Map<string, string>();
  for (const { mib, attributes } of definitions.objects.values())
    for (const { name, oidText } of attributes.values()) oids.set(`${mib}::${name}`, oidText.slice(1));
  const line = (oid: string, value: string | number): [string, string] =>
    typeof value === "number"
      ? [oid, `${oid}|${value > 0x7fff_ffff ? gauge32 : 2}|${value}`]
      : [oid, `${oid}|4x|${Buffer.from(value).toString("hex")}`];
  const lines = new Map<string, string>([
    line("1.3.6.1.2.1.1.1.0", descr),
    ["1.3.6.1.2.1.1.2.0", `1.3.6.1.2.1.1.2.0|6|${sysObjectId}`],
    ["1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.3.0|67|12345"],
    line("1.3.6.1.2.1.1.5.0", "device"),
  ]);
  for (const [name, value] of Object.entries(values)) {
    const [, object = "", instance = ""] = /^([^.]+)\.(.*)$/.exec(name) ?? [];
    const oid = /^[\d.]+$/.test(name)
      ? name
      : `${oids.get(object) ?? assert.fail(`no attribute ${object}`)}.${instance}`;
    lines.set(...line(oid, value));
  }
  const order = (a: string, b: string): number => {
    const [left, right] = [a.split(".").map(Number), b.split(".").map(Number)];
    const at = left.findIndex((arc, i) => arc !== right[i]);
    return at < 0 ? left.length - right.length : (left[at] as number) - (right[at] ?? -1);
  };
  return [...lines.keys()]
    .toSorted(order)
    .map((oid) => lines.get(oid))
    .join("\n");
}

/** What devices say of themselves when all are polled once. */
export interface PolledDevices {
  readonly records: readonly Record<string, unknown>[];
  readonly snmp: Snmp;
}

/** The address of the simulated device at `i`, counted from 0: 198.18.0.1 and on. */
export const vendorDeviceIp = (i: number): string => `198.18.${Math.floor((i + 1) / 256)}.${(i + 1) % 256}`;

/** Polls simulated devices, each at its `vendorDeviceIp`. Records come in as they are polled. */
export async function pollVendorDevices(t: TestContext, all: readonly VendorDevice[]): Promise<PolledDevices> {
  const definitions = await shipped();
  const network = createFakeNetwork();
  const devices = tempDirectory(t);
  const lines: string[] = [];
  for (const [i, device] of all.entries()) {
    const table = parseSnmprec(recording(definitions, device));
    network.attachAgent(vendorDeviceIp(i), 161, createSnmpAgent({ table, maxMessageSize: 8000 }));
    lines.push(`d${i + 1}: {ip: ${vendorDeviceIp(i)}, communities: [public]}`);
  }
  writeFileSync(join(devices, "lab.yml"), `${lines.join("\n")}\n`);
  const records: Record<string, unknown>[] = [];
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(directory), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: {
      write: (chunk) => {
        for (const line of Buffer.from(chunk).toString().trimEnd().split("\n"))
          records.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    openSocket: network.open,
    keepsReadings: true,
  });
  await snmp.start();
  cleanUp(t, () => snmp.stop());
  return { records, snmp };
}
