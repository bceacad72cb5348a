// The states of a fleet in memory keep the contract that those in PostgreSQL do (test/system/fleet-contract.test.ts).
import { randomUUID } from "node:crypto";
import { runFleetStatesContract } from "../support/fleet-states-contract.ts";
import { MemoryStates } from "../support/memory-states.ts";

runFleetStatesContract(() => {
  const states = new MemoryStates();
  const sessions = [randomUUID(), randomUUID()] as const;
  for (const session of sessions) states.living.add(session);
  return Promise.resolve({ sessions, states: [states, states] });
});
