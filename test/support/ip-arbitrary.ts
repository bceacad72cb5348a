import * as fc from "fast-check";
import { formatAddress, type Address } from "../../src/base/ip/index.ts";

export const ipv4Address: fc.Arbitrary<Address> = fc
  .bigInt({ min: 0n, max: 2n ** 32n - 1n })
  .map((value) => ({ family: 4, value }));

/** IPv6 addresses with many zero groups, so that every shape of `::` is common; some are IPv4-mapped. */
export const ipv6Address: fc.Arbitrary<Address> = fc.oneof(
  { weight: 8, arbitrary: sparseIpv6() },
  { weight: 1, arbitrary: ipv4Address.map(({ value }): Address => ({ family: 6, value: (0xffffn << 32n) | value })) },
);

export const anyAddress: fc.Arbitrary<Address> = fc.oneof(ipv4Address, ipv6Address);

/** Valid key texts of every kind, in many spellings. */
export const keyText: fc.Arbitrary<string> = fc.oneof(
  addressText(),
  fc.tuple(addressText(), fc.nat(140)).map(([text, n]) => `${text}/${n % (text.includes(":") ? 129 : 33)}`),
  fc
    .oneof(fc.tuple(ipv4Address, ipv4Address), fc.tuple(ipv6Address, ipv6Address))
    .map(([a, b]) => (a.value <= b.value ? [a, b] : [b, a]).map((end) => formatAddress(end)).join("-")),
);

/** A text near a valid key: some of its characters replaced, removed, doubled or swapped. */
export const nearKeyText: fc.Arbitrary<string> = fc
  .tuple(
    keyText,
    fc.array(fc.tuple(fc.nat(60), fc.nat(3), fc.constantFrom(...Array.from("0123456789afFg.:/-% "))), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([text, edits]) => {
    let changed = text;
    for (const [position, kind, letter] of edits) {
      const at = position % (changed.length + 1);
      const replaced = kind === 1 || kind === 2 ? 1 : 0;
      changed = changed.slice(0, at) + (kind === 2 ? "" : letter) + changed.slice(at + replaced);
    }
    return changed;
  });

function sparseIpv6(): fc.Arbitrary<Address> {
  const group = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(0xffff) });
  return fc
    .array(group, { minLength: 8, maxLength: 8 })
    .map((groups) => ({ family: 6, value: groups.reduce((value, part) => (value << 16n) | BigInt(part), 0n) }));
}

function addressText(): fc.Arbitrary<string> {
  const spelling = fc.constantFrom(
    (text: string) => text,
    (text: string) => text.toUpperCase(),
    (text: string) => spellOut(text),
  );
  return fc.tuple(anyAddress, spelling).map(([address, spell]) => spell(formatAddress(address)));
}

/** Every group of an IPv6 address with four digits and no `::`. */
function spellOut(text: string): string {
  if (!text.includes(":") || text.includes(".")) return text;
  const sides = text.split("::").map((side) => (side === "" ? [] : side.split(":")));
  const [head = [], tail = []] = sides;
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].map((group) => group.padStart(4, "0")).join(":");
}
