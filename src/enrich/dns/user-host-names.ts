import { parseAddress, unmapAddress, type Address } from "../../base/ip/index.ts";
import { mapOf, scalar } from "../../base/yaml/index.ts";
import { addressNumber, setWords, type AddressNumber } from "../address/address-limbs.ts";
import { fileReader, type ReadFile } from "../files/operator-file.ts";
import { readHostName, namedObjects } from "./host-name-source.ts";
import {
  createFactRenderer,
  Listeners,
  type AddressSource,
  type FactRenderer,
  type FoundFacts,
} from "../address/address-source.ts";

/** Host names by address. */
export type HostNames = ReadonlyMap<AddressNumber, string>;

const hostAddress = scalar("an IP address", (given): AddressNumber | undefined => {
  const address = parseAddress(given);
  if (address === undefined) return undefined;
  const words = new Int32Array(4);
  setWords(words, unmapAddress(address));
  const [a = 0, b = 0, c = 0, d = 0] = words;
  return addressNumber(a, b, c, d);
});

/** The shape of the file of host names: `192.0.2.1: db.example`. IPv4-mapped addresses are the IPv4 ones. */
export const hostNamesShape = mapOf(
  hostAddress,
  scalar("a host name: letters, digits, - and _ in labels between dots", readHostName, { takesNull: true }),
  { each: "address" },
);

export const readHostNames: (bytes: Uint8Array) => ReadFile<HostNames> = fileReader(hostNamesShape);

/** Finds host names in a file of the operator, before those of another source. */
export class UserHostNames implements AddressSource {
  readonly objects = namedObjects;
  readonly #next: AddressSource | undefined;
  readonly #listeners = new Listeners();
  #names = new Map<AddressNumber, FactRenderer>();

  /** @param next the source for addresses without a name here; undefined if there is none. */
  constructor(next: AddressSource | undefined) {
    this.#next = next;
  }

  find(a: number, b: number, c: number, d: number, found: FoundFacts): number {
    const own = this.#names.get(addressNumber(a, b, c, d));
    if (own === undefined) return this.#next?.find(a, b, c, d, found) ?? Number.POSITIVE_INFINITY;
    found.add(own, 0);
    return Number.POSITIVE_INFINITY;
  }

  watch(changed: (address: Address | undefined) => void): () => void {
    return this.#listeners.add(changed, this.#next);
  }

  /** Replaces the names by those of a file that was read. */
  use(names: HostNames): void {
    this.#names = new Map(
      Array.from(names, ([number, name]) => [number, createFactRenderer({ fields: [[".host.name", name]] })]),
    );
    this.#listeners.report(undefined);
  }
}
