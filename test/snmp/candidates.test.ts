import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { CandidateView, DiscoverySettings } from "../../src/snmp/index.ts";
import { createSnmpAgent, integer, octets, oidOf } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const index = (oid: string, type = "Integer"): string =>
  `    - {type: ${type}, oid: ${oid}, name: i${oid.replaceAll(".", "_")}, syntax: Integer32}\n`;

/** A device that polls its neighbours, and the networks in which they may be asked. */
const files = {
  "devices/lab.yml": patientDevice.replace("[router]", "[switch]"),
  "device_groups/all.yml":
    "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, netif]\nswitch:\n  object_groups: [system, netif, neighbours]\n",
  "object_groups/neighbours.yml":
    "neighbours:\n  objects: [LLDP-MIB::lldpLocPortTable, LLDP-MIB::lldpRemManAddrTable, CISCO-CDP-MIB::cdpCacheTable, IP-MIB::ipNetToPhysicalTable]\n",
  "objects/neighbours.yml":
    `LLDP-MIB::lldpLocPortTable:\n  type: dynamic\n  index:\n${index(".1.0.8802.1.1.2.1.3.7.1.1")}` +
    "  attributes:\n    lldpLocPortIdSubtype: {oid: .1.0.8802.1.1.2.1.3.7.1.2, name: port.kind, syntax: Integer32}\n" +
    "    lldpLocPortId: {oid: .1.0.8802.1.1.2.1.3.7.1.3, name: port.id, syntax: DisplayString}\n" +
    `LLDP-MIB::lldpRemManAddrTable:\n  type: dynamic\n  index:\n${[".1.0.8802.1.1.2.1.4.1.1.1", ".1.0.8802.1.1.2.1.4.1.1.2", ".1.0.8802.1.1.2.1.4.1.1.3", ".1.0.8802.1.1.2.1.4.2.1.1"].map((oid) => index(oid)).join("")}` +
    "    - {type: OctetString, oid: .1.0.8802.1.1.2.1.4.2.1.2, name: neighbour, syntax: InetAddress}\n" +
    "  attributes:\n    lldpRemManAddrIfSubtype: {oid: .1.0.8802.1.1.2.1.4.2.1.3, name: kind, syntax: Integer32}\n" +
    `CISCO-CDP-MIB::cdpCacheTable:\n  type: dynamic\n  index:\n${index(".1.3.6.1.4.1.9.9.23.1.2.1.1.1")}${index(".1.3.6.1.4.1.9.9.23.1.2.1.1.2")}` +
    "  attributes:\n    cdpCacheDeviceId: {oid: .1.3.6.1.4.1.9.9.23.1.2.1.1.6, name: cdp.id, syntax: DisplayString}\n" +
    "    cdpCacheAddress: {oid: .1.3.6.1.4.1.9.9.23.1.2.1.1.4, name: cdp.ip, syntax: InetAddress}\n" +
    `IP-MIB::ipNetToPhysicalTable:\n  type: dynamic\n  index:\n${index(".1.3.6.1.2.1.4.35.1.1")}${index(".1.3.6.1.2.1.4.35.1.2")}` +
    "    - {type: OctetString, oid: .1.3.6.1.2.1.4.35.1.3, name: host, syntax: InetAddress}\n" +
    "  attributes:\n    ipNetToPhysicalType: {oid: .1.3.6.1.2.1.4.35.1.6, name: arp.kind, syntax: Integer32}\n",
  "networks.yml":
    "lab:\n  allow: [198.51.100.0/24]\n  excludes: [198.51.100.66]\n  communities: [first]\n  timeout: 40\n  retries: 0\n",
};

const neighbours = rigTable.with([
  { oid: oidOf("1.0.8802.1.1.2.1.3.7.1.2.11"), value: integer(5) },
  { oid: oidOf("1.0.8802.1.1.2.1.3.7.1.3.11"), value: octets("ge-0/0/11") },
  { oid: oidOf("1.0.8802.1.1.2.1.4.2.1.3.0.11.1.1.4.198.51.100.7"), value: integer(2) },
  { oid: oidOf("1.0.8802.1.1.2.1.4.2.1.3.0.11.2.1.4.203.0.113.7"), value: integer(2) },
  { oid: oidOf("1.3.6.1.4.1.9.9.23.1.2.1.1.6.1.1"), value: octets("phone") },
  {
    oid: oidOf("1.3.6.1.4.1.9.9.23.1.2.1.1.4.1.1"),
    value: { type: "OctetString", value: Buffer.from([198, 51, 100, 8]) },
  },
  { oid: oidOf("1.3.6.1.2.1.4.35.1.6.1.1.4.198.51.100.9"), value: integer(3) },
  { oid: oidOf("1.3.6.1.2.1.4.35.1.6.1.1.4.198.51.100.66"), value: integer(3) },
  // Itself, a multicast group and an address that is none.
  { oid: oidOf("1.3.6.1.2.1.4.35.1.6.1.1.4.192.0.2.1"), value: integer(3) },
  { oid: oidOf("1.3.6.1.2.1.4.35.1.6.1.1.4.224.0.0.5"), value: integer(3) },
  { oid: oidOf("1.3.6.1.2.1.4.35.1.6.1.1.4.999.0.0.5"), value: integer(3) },
]);

async function start(t: TestContext, candidates: DiscoverySettings["candidates"]): Promise<SnmpRig> {
  return startSnmpRig(t, { discovery: { candidates }, files, agent: { table: neighbours } });
}

async function view(rig: SnmpRig): Promise<readonly CandidateView[]> {
  return (await rig.snmp.candidates?.view()) ?? [];
}

async function seen(rig: SnmpRig): Promise<readonly CandidateView[]> {
  await until("all neighbours", async () => (await view(rig)).length === 5);
  return view(rig);
}

describe("candidates", { concurrency: 4 }, () => {
  test("neighbours by LLDP, CDP and ARP that are no devices are listed with who names them, and not asked", async (t) => {
    const rig = await start(t, []);
    await until("the name of the port", async () => JSON.stringify(await view(rig)).includes("ge-0/0/11"));
    assert.deepEqual(
      (await seen(rig)).map(({ address, state, reason }) => `${address} ${state}: ${reason}`),
      [
        "198.51.100.66 outside: ARP neighbour of r1, port lo",
        "198.51.100.7 off: LLDP neighbour of r1, port ge-0/0/11",
        "198.51.100.8 off: CDP neighbour of r1, port lo",
        "198.51.100.9 off: ARP neighbour of r1, port lo",
        "203.0.113.7 outside: LLDP neighbour of r1, port ge-0/0/11",
      ],
    );
    assert.equal(await rig.metrics.value("netgloss_snmp_discovery_probes_total"), 0);
  });

  test("those of the sources that are taken are asked once, where a network allows it, and become devices", async (t) => {
    const rig = await start(t, ["lldp", "cdp"]);
    const agent = createSnmpAgent({
      table: rigTable.with([{ oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets("sw7") }]),
      communities: ["first"],
    });
    rig.network.attachAgent("198.51.100.7", 161, agent);
    const asked = new Set<string>();
    for (const address of ["198.51.100.8", "198.51.100.9", "198.51.100.66", "203.0.113.7"]) {
      rig.network.attach(address, 161, () => {
        asked.add(address);
        return [];
      });
    }
    await until("the device", () =>
      [...rig.snmp.devices()].some(({ name, state }) => name === "sw7" && state === "up"),
    );
    await until("the other was asked", async () => (await view(rig)).some(({ state }) => state === "silent"));
    assert.deepEqual([...asked], ["198.51.100.8"]);
    const found = (await view(rig)).map(({ address, state }) => `${address} ${state}`);
    assert.deepEqual(found, [
      "198.51.100.66 outside",
      "198.51.100.8 silent",
      "198.51.100.9 off",
      "203.0.113.7 outside",
    ]);
    const tries = await rig.metrics.value("netgloss_snmp_discovery_addresses_total", { result: "silent" });
    assert.equal(tries, 1, "not again before an hour");
    assert.equal(await rig.metrics.value("netgloss_snmp_discovery_candidates", { state: "off" }), 1);
  });
});
