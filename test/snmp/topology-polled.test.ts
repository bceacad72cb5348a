import assert from "node:assert/strict";
import { test } from "node:test";
import { collectorMethods, type CollectorAnswer } from "../../src/server/index.ts";
import { violations } from "../support/schema-violations.ts";
import { createSnmpAgent, identifier, integer, octets, tableOf, type AgentTable } from "../support/snmp-agent/index.ts";
import { startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const bytes = (...all: number[]) => ({ type: "OctetString", value: Buffer.from(all) }) as const;
const address = (...all: number[]) => ({ type: "IpAddress", value: Buffer.from(all) }) as const;
const mac = (n: number, port: number) => bytes(2, 0, 0, 0, n, port);

/** A switch and router with the number 1 or 2: port 11 of each is part of the aggregate 20, port 12 has the /30 between them. */
function agentOf(n: number): AgentTable {
  const other = 3 - n;
  const lldp = "1.0.8802.1.1.2.1";
  const lag = "1.2.840.10006.300.43.1.2.1.1";
  return tableOf({
    "1.3.6.1.2.1.1.1.0": octets("a switch"),
    "1.3.6.1.2.1.1.2.0": identifier("1.3.6.1.4.1.8072.3.2.10"),
    "1.3.6.1.2.1.1.3.0": { type: "TimeTicks", value: 0 },
    "1.3.6.1.2.1.1.5.0": octets(`sw${n}`),
    ...Object.fromEntries(
      [11, 12, 20].flatMap((port) => [
        [`1.3.6.1.2.1.2.2.1.1.${port}`, integer(port)],
        [`1.3.6.1.2.1.2.2.1.2.${port}`, octets(`Ethernet ${port}`)],
        [`1.3.6.1.2.1.2.2.1.3.${port}`, integer(port === 20 ? 161 : 6)],
        [`1.3.6.1.2.1.2.2.1.6.${port}`, mac(n, port)],
        [`1.3.6.1.2.1.31.1.1.1.1.${port}`, octets(`e${port}`)],
      ]),
    ),
    // Port 11 runs under 20, as ifStackTable says of the one, and the table of aggregation of the other.
    ...(n === 1 ? { "1.3.6.1.2.1.31.1.2.1.3.20.11": integer(1), "1.3.6.1.2.1.31.1.2.1.3.0.20": integer(1) } : {}),
    ...(n === 2 ? { [`${lag}.12.11`]: integer(20), [`${lag}.13.11`]: integer(20) } : {}),
    [`1.3.6.1.2.1.4.20.1.1.198.51.100.${n}`]: address(198, 51, 100, n),
    [`1.3.6.1.2.1.4.20.1.2.198.51.100.${n}`]: integer(12),
    [`1.3.6.1.2.1.4.20.1.3.198.51.100.${n}`]: address(255, 255, 255, 252),
    [`1.3.6.1.2.1.4.22.1.2.12.198.51.100.${other}`]: mac(other, 12),
    [`1.3.6.1.2.1.4.22.1.4.12.198.51.100.${other}`]: integer(3),
    [`1.3.6.1.2.1.14.10.1.3.198.51.100.${other}.0`]: address(192, 0, 2, other),
    [`1.3.6.1.2.1.14.10.1.6.198.51.100.${other}.0`]: integer(8),
    [`1.3.6.1.2.1.15.3.1.2.198.51.100.${other}`]: integer(6),
    "1.3.6.1.2.1.17.1.1.0": mac(n, 0),
    "1.3.6.1.2.1.17.1.2.0": integer(1),
    "1.3.6.1.2.1.17.1.4.1.2.1": integer(20),
    [`1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.${other}.11`]: integer(1),
    [`1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.${other}.11`]: integer(3),
    // A host with an address; an address of the bridge itself is none.
    "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.9.9": integer(1),
    "1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.9.9": integer(n === 1 ? 3 : 4),
    [`${lldp}.3.1.0`]: integer(4),
    [`${lldp}.3.2.0`]: mac(n, 0),
    [`${lldp}.3.3.0`]: octets(`sw${n}`),
    [`${lldp}.3.7.1.2.3`]: integer(3),
    [`${lldp}.3.7.1.3.3`]: mac(n, 11),
    [`${lldp}.3.7.1.4.3`]: octets("Ethernet 11"),
    [`${lldp}.4.1.1.4.0.3.1`]: integer(4),
    [`${lldp}.4.1.1.5.0.3.1`]: mac(other, 0),
    [`${lldp}.4.1.1.6.0.3.1`]: integer(3),
    [`${lldp}.4.1.1.7.0.3.1`]: mac(other, 11),
    [`${lldp}.4.1.1.9.0.3.1`]: octets(`sw${other}`),
    [`${lldp}.4.2.1.3.0.3.1.1.4.192.0.2.${other}`]: integer(2),
  });
}

const device = (n: number): string =>
  `r${n}:\n  ip: 192.0.2.${n}\n  communities: [public]\n  device_groups: [auto, switch, router, mac_addresses]\n  timeout: 10000\n  poll_interval: 1\n` +
  "  poll_intervals: {dynamic: 1, stable: 1}\n";

test("links are inferred from what the shipped definitions read of agents, and told as the document says", async (t) => {
  const files = { "devices/lab.yml": device(1) + device(2) };
  const table = agentOf(1);
  const rig = await startSnmpRig(t, { shipped: true, infersLinks: true, start: false, agent: { table }, files });
  rig.network.attachAgent("192.0.2.2", 161, createSnmpAgent({ table: agentOf(2), users: [] }));
  await rig.snmp.start();
  const told = (): CollectorAnswer<"getTopology"> => ({
    enabled: true,
    devices: [],
    links: rig.snmp.topology?.links().filter(({ state }) => state === "up") ?? [],
  });
  const shown = (): string[] =>
    told().links.map(({ layer, a, b, confidence, evidence, doubts }) => {
      const ends = [a, b].map((end) => `${end.name} ${end.port?.name} of ${end.aggregate?.name ?? "none"}`);
      const kinds = [...new Set(evidence.map(({ kind }) => kind))].sort();
      return [layer, ...ends, confidence, kinds.join(" "), ...doubts].join(", ");
    });
  const expected = [
    "2, sw1 e11 of e20, sw2 e11 of e20, confirmed, forwarding lldp",
    "3, sw1 e12 of none, sw2 e12 of none, confirmed, arp bgp ospf subnet",
  ];
  await until("all that tables say", () => String(shown()) === String(expected), 20_000).catch(() => undefined);
  assert.deepEqual(shown(), expected);
  const located = rig.snmp.topology?.locate("02:00:00:00:09:09");
  assert.deepEqual(
    located?.locations.map(({ name, port }) => `${name} ${port.name}`),
    ["sw1 e20"],
  );
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  assert.deepEqual(violations(collectorMethods.getTopology.answer.schema, plain(told())), []);
  assert.deepEqual(violations(collectorMethods.locate.answer.schema, plain(located)), []);
});
