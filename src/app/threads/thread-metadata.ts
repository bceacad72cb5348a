import type { WatchAddresses } from "../../enrich/index.ts";
import type { AddressIndex, SharedIndexReader } from "../../metadata/index.ts";

/** The metadata as a thread sees it that has a reader only. */
export interface ThreadMetadata {
  /** As that of a store: calls the listener with what is now, and from `look` with each change. */
  watch: WatchAddresses;
  /** Looks whether the metadata has changed; to be called before each datagram. What was answered to a writer before is seen. */
  look(): void;
}

export function createThreadMetadata(reader: SharedIndexReader): ThreadMetadata {
  const listeners = new Set<Parameters<WatchAddresses>[0]>();
  let { version } = reader.changes();
  // Another object for each version: that is how a listener knows them apart.
  const makeIndex = (): AddressIndex => ({
    covering: (address) => reader.covering(address),
    texts: reader.texts,
  });
  let index = makeIndex();
  return {
    watch(listener) {
      listeners.add(listener);
      listener(index);
      return () => void listeners.delete(listener);
    },
    look() {
      if (reader.version() === version) return;
      const changes = reader.changes();
      version = changes.version;
      index = makeIndex();
      for (const listener of listeners) listener(index, changes.changed);
    },
  };
}
