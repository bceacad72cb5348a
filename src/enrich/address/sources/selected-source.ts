import type { AddressSelection } from "./address-selection.ts";
import { createListeners, type AddressSource } from "./address-source.ts";

/** A source that is asked about some addresses only. */
export interface SelectedSource extends AddressSource {
  /** Takes the selection of a file that was read. Before the first all addresses are asked about. */
  use(selection: AddressSelection): void;
}

export function createSelectedSource(source: AddressSource): SelectedSource {
  const listeners = createListeners();
  let selection: AddressSelection | undefined;
  return {
    objects: source.objects,
    find(a, b, c, d, found) {
      if (selection?.has(a, b, c, d) === false) return Number.POSITIVE_INFINITY;
      return source.find(a, b, c, d, found);
    },
    watch(changed) {
      const ends = [listeners.add(changed), source.watch(changed)];
      return () => {
        for (const end of ends) end();
      };
    },
    use(given) {
      selection = given;
      listeners.report(undefined);
    },
  };
}
