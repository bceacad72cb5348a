import { createFactRenderer } from "../address/sources/address-facts.ts";
import { createListeners, type AddressSource, type FactRenderer } from "../address/sources/address-source.ts";
import { addressNumber, type AddressNumber } from "../address/words/address-words.ts";
import { namedObjects } from "./host-name.ts";
import type { HostNames } from "./read-host-names.ts";

/** Host names of an operator's file, before those of another source. */
export interface UserHostNames extends AddressSource {
  /** Takes the names of a file that was read. */
  use(names: HostNames): void;
}

/** @param next is asked about addresses that have no name here; undefined for nobody. */
export function createUserHostNames(next: AddressSource | undefined): UserHostNames {
  const listeners = createListeners();
  let names = new Map<AddressNumber, FactRenderer>();
  return {
    objects: namedObjects,
    find(a, b, c, d, found) {
      const own = names.get(addressNumber(a, b, c, d));
      if (own === undefined) return next?.find(a, b, c, d, found) ?? Number.POSITIVE_INFINITY;
      found.add(own, 0);
      return Number.POSITIVE_INFINITY;
    },
    watch(changed) {
      const ends = [listeners.add(changed), next?.watch(changed)];
      return () => {
        for (const end of ends) end?.();
      };
    },
    use(given) {
      names = new Map(
        Array.from(given, ([number, name]) => [number, createFactRenderer({ fields: [[".host.name", name]] })]),
      );
      listeners.report(undefined);
    },
  };
}
