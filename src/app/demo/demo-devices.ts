import type { Clock } from "../../report/index.ts";
import { compareOids, parseOid, type Oid, type VarBind } from "../../snmp/index.ts";
import { createDemoAgent, type DemoAgent } from "./demo-agent.ts";
import type { InterfaceCounters } from "./interface-counters.ts";

const community = "public";
const pollSeconds = 2;

const devices = [
  { name: "edge-1", ip: "127.0.1.5", interfaces: ["ge-0/0/1", "ge-0/0/2"] },
  { name: "edge-2", ip: "127.0.1.9", interfaces: ["xe-1/0/0", "xe-1/0/1"] },
] as const;

/** Agents of two of the exporters, so that their flows carry the names of the interfaces. */
export function createDemoDevices(clock: Clock, counters: InterfaceCounters): readonly DemoAgent[] {
  const startedAt = clock.monotonic();
  const uptime = (): number => (clock.monotonic() - startedAt) / 1000;
  return devices.map(({ name, ip, interfaces }) =>
    createDemoAgent(ip, community, () =>
      deviceValues(name, interfaces, uptime(), (index) => counters.bytes(ip, index)),
    ),
  );
}

/** A file of device definitions that names the started agents. */
export function deviceDefinitions(agents: readonly DemoAgent[]): string {
  return agents
    .map((agent, i) => {
      const { ip, port } = agent.address();
      const login = `version: 2c, communities: [${community}]`;
      const name = devices[i]?.name ?? ip;
      return `${name}: {ip: ${ip}, port: ${port}, ${login}, poll_intervals: {dynamic: ${pollSeconds}}}\n`;
    })
    .join("");
}

/** The system group, ifTable and ifXTable (RFC 3418, RFC 2863) of a device that is up for this many seconds. */
function deviceValues(
  name: string,
  interfaces: readonly string[],
  uptime: number,
  bytes: (index: number) => ReturnType<InterfaceCounters["bytes"]>,
): VarBind[] {
  const system: VarBind[] = [
    octets("1.3.6.1.2.1.1.1.0", "a simulated router"),
    // The enterprise number for documentation (RFC 5612).
    { oid: oid("1.3.6.1.2.1.1.2.0"), type: "ObjectIdentifier", value: oid("1.3.6.1.4.1.32473.1") },
    { oid: oid("1.3.6.1.2.1.1.3.0"), type: "TimeTicks", value: Math.floor(uptime * 100) % 2 ** 32 },
    octets("1.3.6.1.2.1.1.5.0", name),
  ];
  const rows = interfaces.flatMap((interfaceName, i): VarBind[] => {
    const index = i + 1;
    const entry = (column: number): Oid => oid(`1.3.6.1.2.1.2.2.1.${column}.${index}`);
    const extended = (column: number): Oid => oid(`1.3.6.1.2.1.31.1.1.1.${column}.${index}`);
    const { into, outOf } = bytes(index);
    return [
      { oid: entry(1), type: "Integer32", value: index },
      { oid: entry(2), type: "OctetString", value: Buffer.from(interfaceName) },
      { oid: entry(3), type: "Integer32", value: 6 },
      { oid: entry(4), type: "Integer32", value: 1500 },
      { oid: entry(5), type: "Gauge32", value: 1_000_000_000 },
      { oid: entry(7), type: "Integer32", value: 1 },
      { oid: entry(8), type: "Integer32", value: 1 },
      { oid: entry(10), type: "Counter32", value: into % 2 ** 32 },
      { oid: entry(16), type: "Counter32", value: outOf % 2 ** 32 },
      { oid: extended(1), type: "OctetString", value: Buffer.from(interfaceName) },
      { oid: extended(6), type: "Counter64", value: BigInt(into) },
      { oid: extended(10), type: "Counter64", value: BigInt(outOf) },
      { oid: extended(15), type: "Gauge32", value: 1000 },
    ];
  });
  return [...system, ...rows].toSorted((a, b) => compareOids(a.oid, b.oid));
}

function octets(instance: string, text: string): VarBind {
  return { oid: oid(instance), type: "OctetString", value: Buffer.from(text) };
}

function oid(text: string): Oid {
  const parsed = parseOid(text);
  if (parsed === undefined) throw new TypeError(`not an object identifier: ${text}`);
  return parsed;
}
