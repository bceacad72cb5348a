// The notes of a fleet in memory keep the contract that those in PostgreSQL do (test/system/fleet-contract.test.ts).
import { randomUUID } from "node:crypto";
import { runFleetNotesContract } from "../support/fleet-notes-contract.ts";
import { MemoryNotes } from "../support/memory-notes.ts";

runFleetNotesContract(() => {
  const notes = new MemoryNotes();
  const members = [
    { name: "a", session: randomUUID() },
    { name: "b", session: randomUUID() },
  ] as const;
  for (const { session } of members) notes.living.add(session);
  return Promise.resolve({
    members,
    exchange: ({ session }, round) => Promise.resolve(notes.exchange(session, round)),
  });
});
