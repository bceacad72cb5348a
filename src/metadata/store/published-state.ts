import type { Log } from "../../base/report/index.ts";
import type { SharedIndex } from "../index/index-contract.ts";
import type { AddressRange, UdmIndex } from "../model/udm-index.ts";
import type { UdmStore } from "../model/udm-store.ts";

/** The state that a store shows to all who read. */
export interface PublishedState {
  /** Undefined before there is one. */
  readonly index: () => UdmIndex | undefined;
  /** Shows another state: to threads, then to listeners in the same turn. */
  readonly makeCurrent: (next: UdmIndex) => void;
  readonly watch: UdmStore["watch"];
}

/** @param changed called last after each change, with where it may be; undefined: anywhere. */
export function createPublishedState(
  shared: SharedIndex,
  changed: (changed: readonly AddressRange[] | undefined) => void,
  log: Log,
): PublishedState {
  const listeners = new Set<Parameters<UdmStore["watch"]>[0]>();
  let index: UdmIndex | undefined;

  const notify = (
    listener: Parameters<UdmStore["watch"]>[0],
    state: UdmIndex,
    ranges?: readonly AddressRange[],
  ): void => {
    try {
      listener(state, ranges);
    } catch (error) {
      log.error({ error }, "a listener to metadata changes failed");
    }
  };

  return {
    index: () => index,
    makeCurrent(next) {
      if (next === index) return;
      const ranges = shared.publish(next);
      index = next;
      for (const listener of listeners) notify(listener, next, ranges);
      changed(ranges);
    },
    watch(listener) {
      listeners.add(listener);
      if (index !== undefined) notify(listener, index);
      return () => void listeners.delete(listener);
    },
  };
}
