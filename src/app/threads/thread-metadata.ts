import type { AddressIndex, SharedIndexReader } from "../../udm/index.ts";

/** The metadata as a thread sees it that has a reader only. */
export interface ThreadMetadata {
  /** As that of a store: calls the listener with what is now, and from `look` with each change. */
  watch(listener: (index: AddressIndex) => void): () => void;
  /** Looks whether the metadata has changed; to be called before each datagram. What was answered to a writer before is seen. */
  look(): void;
}

export function createThreadMetadata(reader: SharedIndexReader): ThreadMetadata {
  const listeners = new Set<(index: AddressIndex) => void>();
  let version = reader.version();
  // Another object for each version: that is how a listener tells them apart.
  const makeIndex = (): AddressIndex => ({ covering: (address) => reader.covering(address) });
  let index = makeIndex();
  return {
    watch(listener) {
      listeners.add(listener);
      listener(index);
      return () => void listeners.delete(listener);
    },
    look() {
      const now = reader.version();
      if (now === version) return;
      version = now;
      index = makeIndex();
      for (const listener of listeners) listener(index);
    },
  };
}
