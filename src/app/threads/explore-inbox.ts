import { createNoteReader, type LineMemory } from "../../output/index.ts";

/** Where the thread of Explore finds the lines that those who decode have chosen. */
export interface ExploreInbox {
  /** Takes what is there, but no longer than some milliseconds. @returns whether that was all. */
  take(): boolean;
  /** Which part of it is full, 0 to 1. */
  backlog(): number;
}

/** The thread has other work, too. */
const turnMs = 50;

/**
 * @param take is given lines and how many records they stand for; it needs them no more when it returns.
 * @param monotonic milliseconds.
 */
export function createExploreInbox(
  memories: readonly LineMemory[],
  take: (lines: Buffer, records: number) => void,
  monotonic: () => number,
): ExploreInbox {
  const readers = memories.map((memory) => ({ memory, notes: createNoteReader(memory) }));
  return {
    take() {
      const until = monotonic() + turnMs;
      for (const { memory, notes } of readers) {
        for (let note = notes.next(); note !== undefined; note = notes.next()) {
          const { slab, from, to, count } = note;
          try {
            take(Buffer.from(memory.lines, memory.at + slab * memory.slabBytes + from, to - from), count);
          } finally {
            notes.giveBack(slab);
          }
          if (monotonic() >= until) return false;
        }
      }
      return true;
    },
    backlog: () =>
      Math.max(...readers.map(({ memory, notes }) => notes.waitingBytes() / (memory.slabs * memory.slabBytes))),
  };
}
