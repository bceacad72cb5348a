import type { Log } from "../../base/report/index.ts";
import type { SharedIndex } from "../index/index-contract.ts";
import { openSharedIndex, type SharedIndexReader } from "../index/shared-reader.ts";
import type { AddressIndex, AddressRange } from "../model/udm-index.ts";

type AddressListener = (index: AddressIndex, changed?: readonly AddressRange[]) => void;

/** Reports each change of any layer to what looks up addresses in this thread. */
export interface AddressWatch {
  /** @param hasState whether there is anything to be seen yet. @returns a function that ends it. */
  add(listener: AddressListener, hasState: boolean): () => void;
  readonly changed: (changed: readonly AddressRange[] | undefined) => void;
}

export function createAddressWatch(shared: SharedIndex, log: Log): AddressWatch {
  const listeners = new Set<AddressListener>();
  let reader: SharedIndexReader | undefined;

  /** Another object for each version: that is how a listener knows them apart. */
  const now = (): AddressIndex => {
    const open = (reader ??= openSharedIndex(shared.handle()));
    return { covering: (address) => open.covering(address), texts: open.texts };
  };
  const notify = (listener: AddressListener, index: AddressIndex, changed?: readonly AddressRange[]): void => {
    try {
      listener(index, changed);
    } catch (error) {
      log.error({ error }, "a listener to metadata changes failed");
    }
  };
  return {
    add(listener, hasState) {
      listeners.add(listener);
      if (hasState) notify(listener, now());
      return () => void listeners.delete(listener);
    },
    changed(changed) {
      if (listeners.size === 0) return;
      const index = now();
      for (const listener of listeners) notify(listener, index, changed);
    },
  };
}
