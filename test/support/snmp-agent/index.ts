export {
  counter32,
  counter64,
  createTable,
  gauge,
  identifier,
  integer,
  moveCounters,
  octets,
  oidOf,
  tableOf,
  type AgentRow,
  type AgentTable,
  type AgentValue,
  type TypedValue,
} from "./agent-table.ts";
export { createFakeNetwork, type Answer, type FakeNetwork } from "./fake-network.ts";
export { listenAll, type Fleet, type FleetMember } from "./fleet.ts";
export { listen, type ListeningAgent } from "./listen.ts";
export { listenTcp, type StreamAgent } from "./listen-tcp.ts";
export { makeOdd, raw, type Oddities } from "./oddities.ts";
export { createSnmpAgent, type AgentFaults, type AgentOptions, type SnmpAgent } from "./snmp-agent.ts";
export { parseSnmprec } from "./snmprec.ts";
