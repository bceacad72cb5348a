import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { createSnmpAgent, listen, parseSnmprec } from "../../support/snmp-agent/index.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

/** Where the two switches are polled. */
export const switches = ["127.0.0.81", "127.0.0.82"] as const;
/** Learnt by the second switch at eth2. */
export const host = "10.20.0.7";

const mac = (n: number, port: number): string => `020000000${n}0${port}`;

/** The walk of switch `n`: linked to the other at eth1 on both layers, with what is not polled at eth3. */
function walkOf(n: 1 | 2): string {
  const other = n === 1 ? 2 : 1;
  const neighbor = (port: number, chassis: string, name: string, remotePort: string): string[] =>
    [`4|2|4`, `5|4x|${chassis}`, `6|2|5`, `7|4|${remotePort}`, `9|4|${name}`].map((cell) =>
      `1.0.8802.1.1.2.1.4.1.1.${cell}`.replace("|", `.0.${port}.1|`),
    );
  const interfaces = [1, 2, 3].flatMap((port) => [
    `1.3.6.1.2.1.2.2.1.1.${port}|2|${port}`,
    `1.3.6.1.2.1.2.2.1.2.${port}|4|eth${port}`,
    `1.3.6.1.2.1.2.2.1.6.${port}|4x|${mac(n, port)}`,
    `1.3.6.1.2.1.17.1.4.1.1.${port}|2|${port}`,
    `1.3.6.1.2.1.17.1.4.1.2.${port}|2|${port}`,
    `1.0.8802.1.1.2.1.3.7.1.2.${port}|2|5`,
    `1.0.8802.1.1.2.1.3.7.1.3.${port}|4|eth${port}`,
  ]);
  const learnt = "2.17.34.51.68.85";
  return [
    "1.3.6.1.2.1.1.1.0|4|a switch",
    "1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.8072.3.2.10",
    "1.3.6.1.2.1.1.3.0|67|100",
    `1.3.6.1.2.1.1.5.0|4|sw-${n}`,
    ...interfaces,
    `1.3.6.1.2.1.17.1.1.0|4x|${mac(n, 0)}`,
    `1.3.6.1.2.1.4.20.1.1.10.255.0.${n}|64|10.255.0.${n}`,
    `1.3.6.1.2.1.4.20.1.2.10.255.0.${n}|2|1`,
    `1.3.6.1.2.1.4.20.1.3.10.255.0.${n}|64|255.255.255.252`,
    "1.0.8802.1.1.2.1.3.1.0|2|4",
    `1.0.8802.1.1.2.1.3.2.0|4x|${mac(n, 0)}`,
    `1.0.8802.1.1.2.1.3.3.0|4|sw-${n}`,
    ...neighbor(1, mac(other, 0), `sw-${other}`, "eth1"),
    ...(n === 1 ? neighbor(3, "0a0000000001", "phone-9", "lan") : []),
    ...(n === 2
      ? [
          `1.3.6.1.2.1.17.4.3.1.1.${learnt}|4x|021122334455`,
          `1.3.6.1.2.1.17.4.3.1.2.${learnt}|2|2`,
          `1.3.6.1.2.1.17.4.3.1.3.${learnt}|2|3`,
          `1.3.6.1.2.1.4.22.1.1.1.${host}|2|1`,
          `1.3.6.1.2.1.4.22.1.2.1.${host}|4x|021122334455`,
          `1.3.6.1.2.1.4.22.1.3.1.${host}|64|${host}`,
          `1.3.6.1.2.1.4.22.1.4.1.${host}|2|3`,
        ]
      : []),
  ].join("\n");
}

/** Two switches that answer, and the settings of a collector that polls them. */
export async function startSwitches(t: TestContext): Promise<Record<string, string>> {
  const devices: string[] = [];
  for (const [at, address] of switches.entries()) {
    const n = at === 0 ? 1 : 2;
    const agent = await listen(createSnmpAgent({ table: parseSnmprec(walkOf(n)) }), address);
    cleanUp(t, () => agent.close());
    devices.push(
      `sw-${n}: {ip: ${address}, port: ${agent.port}, communities: [public], device_groups: [switch, mac_addresses], poll_interval: 2, poll_intervals: {dynamic: 2, stable: 2}}`,
    );
  }
  const directory = join(tempDirectory(t), "devices");
  mkdirSync(directory);
  writeFileSync(join(directory, "lab.yml"), `${devices.join("\n")}\n`);
  return { SVC_INPUT_SNMP_ENABLE: "true", SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: directory };
}
