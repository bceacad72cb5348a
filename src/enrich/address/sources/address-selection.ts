import type { Key } from "../../../base/ip/index.ts";
import { addressOf, isIpv4 } from "../words/address-words.ts";

/** Which addresses something is asked about. */
export interface AddressSelection {
  /** @param a to d: the words of the address, IPv4 in its mapped form. */
  has(a: number, b: number, c: number, d: number): boolean;
}

interface Intervals {
  /** First and last addresses, ascending, without overlap. */
  readonly firsts: readonly (number | bigint)[];
  readonly lasts: readonly (number | bigint)[];
}

/**
 * Selects addresses: those of `include`, all where it is empty, without those of `exclude`.
 */
export function createAddressSelection(include: readonly Key[], exclude: readonly Key[]): AddressSelection {
  const includes = [intervalsOf(include, 4), intervalsOf(include, 6)] as const;
  const excludes = [intervalsOf(exclude, 4), intervalsOf(exclude, 6)] as const;
  return {
    has(a, b, c, d) {
      const is4 = isIpv4(a, b, c);
      const address = is4 ? d >>> 0 : addressOf(a, b, c, d).value;
      const family = is4 ? 0 : 1;
      return (include.length === 0 || isIn(includes[family], address)) && !isIn(excludes[family], address);
    },
  };
}

function intervalsOf(keys: readonly Key[], family: Key["family"]): Intervals {
  const own = keys.filter((key) => key.family === family).toSorted((a, b) => (a.first < b.first ? -1 : 1));
  const merged: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of own) {
    const before = merged.at(-1);
    if (before === undefined || first > before.last + 1n) merged.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  const plain = (value: bigint): number | bigint => (family === 4 ? Number(value) : value);
  return { firsts: merged.map(({ first }) => plain(first)), lasts: merged.map(({ last }) => plain(last)) };
}

function isIn({ firsts, lasts }: Intervals, address: number | bigint): boolean {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((firsts[middle] as number | bigint) <= address) low = middle + 1;
    else high = middle;
  }
  return low > 0 && address <= (lasts[low - 1] as number | bigint);
}
