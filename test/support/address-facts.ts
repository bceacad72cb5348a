import type { AddressFacts, AddressSource } from "../../src/enrich/index.ts";
import { addressOf, setWords } from "../../src/enrich/address/address-words.ts";
import { parseAddress, type Address } from "../../src/ip/index.ts";

/** What one source knows of an address, and for how long that holds. */
export interface TestFacts extends AddressFacts {
  /** Absent: until the source reports a change. */
  readonly validMs?: number;
}

/** What a source knows of an address, as one. @throws Error when the text is none. */
export function askFacts(source: Pick<AddressSource, "find">, text: string): TestFacts {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is not an address`);
  const words = new Int32Array(4);
  setWords(words, address);
  const [a = 0, b = 0, c = 0, d = 0] = words;
  const found: AddressFacts[] = [];
  const validMs = source.find(a, b, c, d, found);
  const as = found.find((facts) => facts.as !== undefined)?.as;
  return {
    fields: found.flatMap(({ fields }) => fields),
    ...(as !== undefined && { as }),
    ...(Number.isFinite(validMs) && { validMs }),
  };
}

/** The `find` of a source that knows each address by itself. */
export function findBy(facts: (address: Address) => TestFacts): AddressSource["find"] {
  return (a, b, c, d, found) => {
    const known = facts(addressOf(a, b, c, d));
    found.push(known);
    return known.validMs ?? Number.POSITIVE_INFINITY;
  };
}
