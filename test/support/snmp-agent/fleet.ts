import { listen, type ListeningAgent } from "./listen.ts";
import { createSnmpAgent, type AgentOptions, type SnmpAgent } from "./snmp-agent.ts";

export interface FleetMember extends ListeningAgent {
  readonly agent: SnmpAgent;
}

/** Agents on UDP, each on a loopback address of its own and all on one port number. */
export interface Fleet {
  readonly members: readonly FleetMember[];
  readonly close: () => Promise<void>;
}

/** @param optionsOf what each agent is, by its index; tables may be shared. */
export async function listenAll(count: number, optionsOf: (index: number) => AgentOptions): Promise<Fleet> {
  const members: FleetMember[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.close()));
  };
  try {
    for (let i = 0; i < count; i++) {
      const agent = createSnmpAgent(optionsOf(i));
      const address = `127.16.${i >> 8}.${i & 255}`;
      members.push({ agent, ...(await listen(agent, address, members[0]?.port ?? 0)) });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { members, close };
}
