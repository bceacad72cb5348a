// The simulated devices of the poller's benches, in a process of their own: each an agent on an address of its own, all on
// one port. Any message is answered with what it came to so far.
import {
  createTable,
  gauge,
  identifier,
  integer,
  listenAll,
  octets,
  oidOf,
  type AgentRow,
  type AgentTable,
  type AgentValue,
  type Fleet,
} from "../../test/support/snmp-agent/index.ts";
import { misbehave } from "./hostile-agent.ts";
import {
  classesOf,
  fleetLayout,
  hostileLayout,
  interfacesOf,
  manyLayout,
  shortLayout,
  slowDelay,
} from "./fleet-layout.ts";

export interface FleetStatus {
  readonly addresses: readonly string[];
  readonly port: number;
  /** Requests that arrived, by the position of the address. */
  readonly requests: readonly number[];
}

const layouts = { hostile: hostileLayout, many: manyLayout, short: shortLayout };
const deviceClasses = classesOf(layouts[process.argv[2] as keyof typeof layouts] ?? fleetLayout);
const tables = new Map<number, AgentTable>();
const tableOf = (interfaces: number): AgentTable => {
  const made = tables.get(interfaces) ?? createTable(rows(interfaces));
  tables.set(interfaces, made);
  return made;
};

const fleet: Promise<Fleet> = listenAll(deviceClasses.length, (i) => ({
  table: tableOf(interfacesOf(deviceClasses[i] as (typeof deviceClasses)[number])),
})).then((listening) => {
  for (const [i, { agent }] of listening.members.entries()) {
    if (deviceClasses[i] === "slow") agent.faults.delay = slowDelay;
    if (deviceClasses[i] === "dead") agent.faults.drops = () => true;
    misbehave(agent, deviceClasses[i] as (typeof deviceClasses)[number]);
  }
  return listening;
});

process.on("message", () => {
  void fleet.then(({ members }) =>
    process.send?.({
      addresses: members.map(({ address }) => address),
      port: members[0]?.port ?? 0,
      requests: members.map(({ agent }) => agent.requests),
    } satisfies FleetStatus),
  );
});
process.on("disconnect", () => process.exit());

/** The system group, and ifTable and ifXTable with the columns that switches have and counters that move. */
function rows(interfaces: number): AgentRow[] {
  const system: readonly AgentRow[] = [
    { oid: oidOf("1.3.6.1.2.1.1.1.0"), value: octets("a simulated switch") },
    { oid: oidOf("1.3.6.1.2.1.1.2.0"), value: identifier("1.3.6.1.4.1.32473.1.1") },
    { oid: oidOf("1.3.6.1.2.1.1.3.0"), value: { type: "TimeTicks", value: 0 } },
    { oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets("switch") },
    { oid: oidOf("1.3.6.1.2.1.1.6.0"), value: octets("a rack") },
  ];
  const column = (oid: string, value: (index: number) => AgentValue): AgentRow[] =>
    Array.from({ length: interfaces }, (_, i) => ({ oid: [...oidOf(oid), i + 1], value: value(i + 1) }));
  const moving32 = (index: number) => (uptime: number) =>
    ({ type: "Counter32", value: Math.floor(uptime * index * 12_345) % 2 ** 32 }) as const;
  const moving64 = (index: number) => (uptime: number) =>
    ({ type: "Counter64", value: BigInt(Math.floor(uptime * 1000)) * BigInt(index) * 1_234_567n }) as const;
  const ifTable = "1.3.6.1.2.1.2.2.1";
  const ifXTable = "1.3.6.1.2.1.31.1.1.1";
  return [
    ...system,
    ...column(`${ifTable}.1`, (index) => integer(index)),
    ...column(`${ifTable}.2`, (index) => octets(`GigabitEthernet1/0/${index}`)),
    ...column(`${ifTable}.3`, () => integer(6)),
    ...column(`${ifTable}.4`, () => integer(1500)),
    ...column(`${ifTable}.5`, () => gauge(1_000_000_000)),
    ...column(`${ifTable}.7`, () => integer(1)),
    ...column(`${ifTable}.8`, () => integer(1)),
    ...[13, 14, 19, 20].flatMap((number) => column(`${ifTable}.${number}`, moving32)),
    ...column(`${ifXTable}.1`, (index) => octets(`Gi1/0/${index}`)),
    ...[6, 7, 8, 9, 10, 11, 12, 13].flatMap((number) => column(`${ifXTable}.${number}`, moving64)),
    ...column(`${ifXTable}.15`, () => gauge(1000)),
    ...column(`${ifXTable}.18`, (index) => octets(`to desk ${index}`)),
    { oid: oidOf("1.3.6.1.2.1.31.1.5.0"), value: { type: "TimeTicks", value: 0 } },
  ];
}
