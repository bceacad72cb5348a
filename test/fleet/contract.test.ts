// The tables of a fleet in memory keep the contract that those in PostgreSQL do (test/system/fleet-contract.test.ts).
import { suite } from "node:test";
import { createFakeTime } from "../support/fake-time.ts";
import { runFleetContract } from "../support/fleet-contract.ts";
import { createMemoryFleet } from "../support/memory-fleet.ts";

suite("the tables of a fleet in memory", () => {
  const time = createFakeTime();
  runFleetContract({
    open: () => {
      const fleet = createMemoryFleet(() => time.clock.monotonic());
      return Promise.resolve(() => Promise.resolve(fleet.tables));
    },
    pass: (ms) => time.pass(ms),
  });
});
