import * as fc from "fast-check";
import { formatAddress, parseKey } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmValues } from "../../src/metadata/index.ts";

/** An entry with the values given, the others unset. */
export function udmEntry(
  key: string,
  values: Partial<Omit<UdmValues, "metadata">> & {
    metadata?: Readonly<Record<string, string>>;
    fileOnly?: NonNullable<UdmEntry["fileOnly"]>;
  } = {},
): UdmEntry {
  return {
    name: "",
    tags: [],
    vlan: 0n,
    internal: false,
    ...values,
    key: parseKey(key),
    metadata: new Map(Object.entries(values.metadata ?? {})),
  };
}

/**
 * Key texts within a universe of 64 addresses of each family (10.0.0.0/26, 2001:db8::/122) and a few that hold it all,
 * so that nesting, overlap, equal bounds and equal keys are common.
 */
export const denseKeyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom<4 | 6>(4, 6).chain((family) => denseKey(family)) },
  { weight: 1, arbitrary: fc.constantFrom("0.0.0.0/0", "10.0.0.0/8", "::/0", "2001:db8::/32", "9.0.0.0-11.0.0.0") },
);

/** The address `n` of the universe of a family. */
export function denseAddress(family: 4 | 6, n: number): { family: 4 | 6; value: bigint } {
  return { family, value: (family === 4 ? 10n << 24n : 0x20010db8n << 96n) + BigInt(n) };
}

function denseKey(family: 4 | 6): fc.Arbitrary<string> {
  const text = (n: number): string => formatAddress(denseAddress(family, n));
  const address = fc.nat(63);
  return fc.oneof(
    address.map((n) => text(n)),
    fc.tuple(address, fc.nat(6)).map(([n, hostBits]) => `${text(n)}/${(family === 4 ? 32 : 128) - hostBits}`),
    fc.tuple(address, address).map(([a, b]) => `${text(Math.min(a, b))}-${text(Math.max(a, b))}`),
  );
}
