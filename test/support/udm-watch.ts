import type { UdmEntry, UdmIndex, UdmStore } from "../../src/metadata/index.ts";
import { buildIndex } from "./shared-index.ts";

/** What an enricher follows, moved by hand. */
export interface ManualWatch {
  readonly watch: UdmStore["watch"];
  /** Makes these entries the current state. */
  set(entries: readonly UdmEntry[]): void;
  /** Gives the listeners the current state again. */
  repeat(): void;
  listeners(): number;
}

export function manualWatch(entries?: readonly UdmEntry[]): ManualWatch {
  const listeners = new Set<(index: UdmIndex) => void>();
  let version = 1;
  let current = entries === undefined ? undefined : buildIndex(entries, version);
  const notify = (): void => {
    for (const listener of listeners) if (current !== undefined) listener(current);
  };
  return {
    watch(listener) {
      listeners.add(listener);
      if (current !== undefined) listener(current);
      return () => void listeners.delete(listener);
    },
    set(next) {
      current = buildIndex(next, ++version);
      notify();
    },
    repeat: notify,
    listeners: () => listeners.size,
  };
}
