/** First and last address of a key: an address, a prefix or a range. */
export interface KeySpan {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

/** @returns undefined for what is no key. */
export function spanOf(key: string): KeySpan | undefined {
  const [from = "", to] = key.split("-");
  if (to !== undefined) {
    const [first, last] = [parseAddress(from), parseAddress(to)];
    if (first === undefined || last?.family !== first.family) return undefined;
    return { family: first.family, first: first.value, last: last.value };
  }
  const [text = "", length] = key.split("/");
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const width = address.family === 4 ? 32 : 128;
  const bits = length === undefined ? width : Number(length);
  if (!(bits >= 0 && bits <= width)) return undefined;
  const size = 1n << BigInt(width - bits);
  const first = (address.value / size) * size;
  return { family: address.family, first, last: first + size - 1n };
}

export const holds = (outer: KeySpan, inner: KeySpan): boolean =>
  outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;

/** What lies behind a span and inside another, as a range; undefined when nothing does. */
export function restBehind(inner: KeySpan, outer: KeySpan): string | undefined {
  if (inner.last >= outer.last) return undefined;
  return `${formatAddress(outer.family, inner.last + 1n)}-${formatAddress(outer.family, outer.last)}`;
}

export function formatAddress(family: 4 | 6, value: bigint): string {
  const count = family === 4 ? 4 : 8;
  const bits = family === 4 ? 8n : 16n;
  const mask = (1n << bits) - 1n;
  const parts = Array.from({ length: count }, (_, i) => (value >> (bits * BigInt(count - 1 - i))) & mask);
  return family === 4 ? parts.join(".") : parts.map((part) => part.toString(16)).join(":");
}

function parseAddress(text: string): { readonly family: 4 | 6; readonly value: bigint } | undefined {
  if (!text.includes(":")) {
    const parts = text.split(".");
    if (parts.length !== 4 || parts.some((part) => !/^\d{1,3}$/.test(part) || Number(part) > 255)) return undefined;
    return { family: 4, value: parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n) };
  }
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  if (before === undefined || after === undefined) return undefined;
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 0) return undefined;
  const all = [...before, ...Array.from({ length: missing }, () => 0n), ...after];
  return { family: 6, value: all.reduce((sum, part) => sum * 65_536n + part, 0n) };
}

/** Groups of IPv6; an IPv4 address at the end is two of them. */
function groups(text: string): readonly bigint[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const last = parts.at(-1) ?? "";
  const embedded = last.includes(".") ? parseAddress(last) : undefined;
  const plain = embedded === undefined ? parts : parts.slice(0, -1);
  if (plain.some((part) => !/^[\da-f]{1,4}$/i.test(part))) return undefined;
  const values = plain.map((part) => BigInt(`0x${part}`));
  return embedded === undefined ? values : [...values, embedded.value >> 16n, embedded.value & 0xffffn];
}
