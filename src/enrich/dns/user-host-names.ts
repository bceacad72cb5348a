import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { addressNumber, setWords, type AddressNumber } from "../address/address-limbs.ts";
import { readMapFile, type ReadFile } from "../files/read-map-file.ts";
import { readHostName, namedObjects } from "./host-name-source.ts";
import {
  createFactRenderer,
  createListeners,
  type AddressSource,
  type FactRenderer,
} from "../address/address-source.ts";

/** Host names by address. */
export type HostNames = ReadonlyMap<AddressNumber, string>;

/**
 * Reads a file of host names: `192.0.2.1: db.example`. IPv4-mapped addresses are the IPv4 ones.
 *
 * @throws FileFindings
 */
export function readHostNames(bytes: Uint8Array): ReadFile<HostNames> {
  return readMapFile(bytes, (root, report) => {
    const names = new Map<AddressNumber, string>();
    const words = new Int32Array(4);
    for (const { key, value } of root?.pairs ?? []) {
      const address = parseAddress(key.text);
      if (address === undefined) {
        report.error(key, `${quote(key.text)} is not an IP address`);
        continue;
      }
      setWords(words, unmapAddress(address));
      const [a = 0, b = 0, c = 0, d = 0] = words;
      const number = addressNumber(a, b, c, d);
      const name = value.kind === "scalar" ? readHostName(value.text) : undefined;
      if (names.has(number)) report.error(key, `${formatAddress(unmapAddress(address))} is given twice`);
      else if (name === undefined) {
        report.error(
          value,
          `${quote(key.text)}: expected a host name: letters, digits, - and _ in labels between dots`,
        );
      } else names.set(number, name);
    }
    return names;
  });
}

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
