import assert from "node:assert/strict";
import { createFactRenderer, type AddressFacts, type AddressSource, type FoundFacts } from "../../src/enrich/index.ts";
import { addressOf, setWords } from "../../src/enrich/address/address-limbs.ts";
import { parseAddress, type Address } from "../../src/base/ip/index.ts";
import { lineObjects, type Value } from "../../src/record/index.ts";

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
  const { found, facts } = collectFacts();
  const validMs = source.find(a, b, c, d, found);
  return { ...facts(), ...(Number.isFinite(validMs) && { validMs }) };
}

/** Takes facts and reads them from what they render below `flow.src`. */
export function collectFacts(): { readonly found: FoundFacts; readonly facts: () => AddressFacts } {
  const all: AddressFacts[] = [];
  return {
    found: {
      add(renderer, fact) {
        const { from, start, fieldsEnd, numberEnd, end, system } = renderer.render(fact, lineObjects.src);
        const organisation = parse(from, numberEnd, end)[0]?.[1];
        if (system !== 0) assert.deepEqual(parse(from, fieldsEnd, numberEnd), [[".as.asn", system]]);
        const as = system === 0 ? undefined : { number: system, organisation: organisation as string | undefined };
        all.push({ fields: parse(from, start, fieldsEnd), ...(as && { as }) });
      },
    },
    facts() {
      const as = all.find((one) => one.as !== undefined)?.as;
      return { fields: all.flatMap(({ fields }) => fields), ...(as !== undefined && { as }) };
    },
  };
}

function parse({ buffer, byteOffset }: DataView, start: number, end: number): (readonly [string, Value])[] {
  const text = Buffer.from(buffer as ArrayBuffer, byteOffset + start, end - start).toString();
  const fields = JSON.parse(`{${text.slice(1)}}`) as Readonly<Record<string, Value>>;
  return Object.entries(fields).map(([name, value]) => [name.slice("flow.src".length), value] as const);
}

/** The `find` of a source that knows each address by itself. */
export function findBy(facts: (address: Address) => TestFacts): AddressSource["find"] {
  return (a, b, c, d, found) => {
    const known = facts(addressOf(a, b, c, d));
    found.add(createFactRenderer(known), 0);
    return known.validMs ?? Number.POSITIVE_INFINITY;
  };
}
