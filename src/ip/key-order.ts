import type { Key, KeyKind } from "./key.ts";

const listRank: Readonly<Record<KeyKind, number>> = { cidr: 0, range: 1, ip: 2 };
const specificRank: Readonly<Record<KeyKind, number>> = { ip: 0, cidr: 1, range: 2 };

/**
 * The one order of lists: IPv4 before IPv6; first address ascending; last address descending (the wider first); CIDR,
 * range, IP; then the address as written. Zero only for the same key.
 */
export function compareKeys(a: Key, b: Key): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  if (a.last !== b.last) return a.last > b.last ? -1 : 1;
  if (a.kind !== b.kind) return listRank[a.kind] - listRank[b.kind];
  if (a.written !== b.written) return a.written < b.written ? -1 : 1;
  return 0;
}

/**
 * The order in which covering entries win: fewest addresses first; at equal size IP before CIDR before range; then
 * list order. Meant for keys of one family.
 */
export function compareSpecificity(a: Key, b: Key): number {
  const sizeA = a.last - a.first;
  const sizeB = b.last - b.first;
  if (sizeA !== sizeB) return sizeA < sizeB ? -1 : 1;
  if (a.kind !== b.kind) return specificRank[a.kind] - specificRank[b.kind];
  return compareKeys(a, b);
}

/** Whether `inner` lies within `outer`: same family, first and last address both inside. */
export function keyContains(outer: Key, inner: Key): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}
