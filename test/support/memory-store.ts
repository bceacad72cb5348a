import { UdmError, type UdmEntry, type UdmStore, type UdmWrite } from "../../src/metadata/index.ts";
import { memoryUdmStore } from "./memory-udm-store.ts";

/** A store in memory that can be told to fail. */
export interface MemoryStore extends UdmStore {
  /** Makes every further commit fail like a full disk; undefined ends it. */
  failCommits(reason: string | undefined): void;
  /** Makes the state unreadable like a broken file; undefined ends it. */
  breakState(reason: string | undefined): void;
  /** Awaited before each commit. */
  beforeCommit: (writes: readonly UdmWrite[]) => Promise<void>;
}

export function createMemoryStore(entries: readonly UdmEntry[] = []): MemoryStore {
  const inner = memoryUdmStore(entries);
  let commitFailure: string | undefined;
  let stateFailure: string | undefined;
  const unlessBroken = <T>(read: () => T): T => {
    if (stateFailure !== undefined) throw new UdmError("unavailable", stateFailure);
    return read();
  };
  const store: MemoryStore = {
    ...inner,
    current: () => unlessBroken(() => inner.current()),
    async commit(writes) {
      await store.beforeCommit(writes);
      return unlessBroken(() => {
        if (commitFailure !== undefined) throw new UdmError("unavailable", commitFailure);
        return inner.commit(writes);
      });
    },
    failCommits: (reason) => void (commitFailure = reason),
    breakState: (reason) => void (stateFailure = reason),
    beforeCommit: async () => {},
  };
  return store;
}
