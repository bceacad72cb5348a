import { KeyError, parseAddress, parseKey, unmapAddress, type Family, type Key } from "../../ip/index.ts";

/** Ranges of addresses, ascending, that do not touch one another. */
export interface AddressRanges {
  readonly first: readonly bigint[];
  readonly last: readonly bigint[];
}

/** Addresses that lie in some keys. IPv4-mapped IPv6 addresses count as IPv4. */
export interface AddressSet {
  /** Whether a text is an address in the set, or a prefix or range of which every address is. */
  hasText(text: string): boolean;
  readonly ranges: Readonly<Record<Family, AddressRanges>>;
}

export function createAddressSet(keys: readonly Key[]): AddressSet {
  const ranges = { 4: mergeRanges(keys, 4), 6: mergeRanges(keys, 6) };
  const fast = { first: Float64Array.from(ranges[4].first, Number), last: Float64Array.from(ranges[4].last, Number) };

  const hasRange = ({ family, first, last }: Range): boolean => {
    const { first: firsts, last: lasts } = ranges[family];
    const i = lastNotAbove(firsts, first);
    return i >= 0 && last <= (lasts[i] as bigint);
  };
  return {
    ranges,
    hasText(text) {
      const ipv4 = ipv4Number(text);
      if (ipv4 >= 0) {
        const i = lastNotAbove(fast.first, ipv4);
        return i >= 0 && ipv4 <= (fast.last[i] as number);
      }
      const range = rangeOf(text);
      return range !== undefined && hasRange(range);
    },
  };
}

type Range = Pick<Key, "family" | "first" | "last">;

function rangeOf(text: string): Range | undefined {
  if (!/[/-]/.test(text)) {
    const parsed = parseAddress(text);
    if (parsed === undefined) return undefined;
    const { family, value } = unmapAddress(parsed);
    return { family, first: value, last: value };
  }
  try {
    return parseKey(text);
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

function mergeRanges(keys: readonly Range[], family: Family): AddressRanges {
  const first: bigint[] = [];
  const last: bigint[] = [];
  const own = keys.filter((key) => key.family === family);
  for (const range of own.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = last.at(-1);
    if (before === undefined || range.first > before + 1n) {
      first.push(range.first);
      last.push(range.last);
    } else if (range.last > before) last[last.length - 1] = range.last;
  }
  return { first, last };
}

/** The position of the last value that is not above one; -1: all are. */
export function lastNotAbove<T extends number | bigint>(ascending: ArrayLike<T>, value: T): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as T) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A canonical IPv4 address as a number; -1 for any other text. Addresses are read for each record, so there is no bigint in between. */
function ipv4Number(text: string): number {
  let value = 0;
  let part = -1;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) {
      part = (part < 0 ? 0 : part * 10) + code - 0x30;
      if (part > 255) return -1;
    } else if (code === 0x2e && part >= 0 && dots < 3) {
      value = value * 256 + part;
      part = -1;
      dots++;
    } else return -1;
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1;
}
