import type { AddressRange } from "../../metadata/index.ts";
import { isIpv4 } from "./address-limbs.ts";

/** Reports whether one stamp is later than another. */
export function isLater(stamp: number, than: number): boolean {
  return (stamp - than) << 3 > 0;
}

const mostSegments = 8192;
/** The most segments in one scope; below, the most scopes with segments of their own. */
const mostInScope = 256;
const mostScopes = 256;
const flip = 0x8000_0000;

/** The segments of one family. */
class Segments {
  /** The words of an address. */
  readonly #width: number;
  readonly #most: number;
  /** The first address of each segment, in words whose highest bit is flipped, so that they compare as signed numbers. */
  readonly #starts: Int32Array;
  readonly #stamps: Int32Array;
  #count = 1;

  constructor(width: number, most: number, stamp: number) {
    this.#width = width;
    this.#most = most;
    this.#starts = new Int32Array((most + 2) * width);
    this.#stamps = new Int32Array(most + 2);
    this.joinAll(stamp);
  }

  joinAll(stamp: number): void {
    this.#starts.fill(flip, 0, this.#width);
    this.#stamps[0] = stamp;
    this.#count = 1;
  }

  stampAt(address: Int32Array): number {
    return this.#stamps[this.#count === 1 ? 0 : this.#find(address)] as number;
  }

  change({ first, last }: AddressRange, stamp: number): void {
    if (this.#count >= this.#most) {
      this.joinAll(stamp);
      return;
    }
    const width = this.#width;
    const stamps = this.#stamps;
    const start = wordsOf(first, width);
    const next = last + 1n;
    let from = this.#find(start);
    const at = this.#find(wordsOf(last, width));
    const rest = stamps[at] as number;
    const isEnd = next >> BigInt(32 * width) > 0n;
    const after = wordsOf(next, width);
    // The rest of the segment behind the change keeps its stamp, unless the segment ends there too.
    const hasRest = !isEnd && (at + 1 === this.#count || this.#compare(at + 1, after) !== 0);
    // The part of the segment before the change keeps its stamp, unless the segment begins here too.
    if (this.#compare(from, start) < 0) from++;
    const isJoined = from > 0 && stamps[from - 1] === stamp;
    this.#move(at + 1, from + (isJoined ? 0 : 1) + (hasRest ? 1 : 0));
    let to = from;
    if (!isJoined) this.#put(to++, start, stamp);
    if (hasRest) this.#put(to, after, rest);
    // The next segment has the same stamp, so the two become one.
    else if (to < this.#count && stamps[to] === stamp) this.#move(to + 1, to);
  }

  #put(i: number, start: Int32Array, stamp: number): void {
    this.#starts.set(start, i * this.#width);
    this.#stamps[i] = stamp;
  }

  /** Moves the segments that begin at one position to another. */
  #move(from: number, to: number): void {
    this.#starts.copyWithin(to * this.#width, from * this.#width, this.#count * this.#width);
    this.#stamps.copyWithin(to, from, this.#count);
    this.#count += to - from;
  }

  /** Finds the last segment that starts at or before the address. */
  #find(address: Int32Array): number {
    let low = 0;
    let high = this.#count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#compare(middle, address) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #compare(i: number, address: Int32Array): number {
    const width = this.#width;
    for (let w = 0; w < width; w++) {
      const a = this.#starts[i * width + w] as number;
      const b = address[w] as number;
      if (a !== b) return a < b ? -1 : 1;
    }
    return 0;
  }
}

function wordsOf(value: bigint, width: number): Int32Array {
  return Int32Array.from(
    { length: width },
    (_, w) => Number(BigInt.asUintN(32, value >> BigInt(32 * (width - 1 - w)))) ^ flip,
  );
}

/**
 * Knows the stamp of the last change at each address. Stamps go up and wrap around after 29 bits. All addresses lie in segments,
 * and each segment has one stamp:
 *
 *     0.0.0.0 … 10.0.0.255 │ 10.0.1.0 … 10.0.1.255 │ 10.0.2.0 … 255.255.255.255
 *             0            │           7           │             0
 *
 * A change splits segments and joins others, so that a search for an address goes through few segments after any number of
 * changes. If there are too many, all become one segment of the latest stamp, and every fragment is made again once.
 */
export class ChangeHistory {
  readonly #ipv4 = new Segments(1, mostSegments, 0);
  readonly #ipv6 = new Segments(4, mostSegments, 0);
  /** The changes that concern one scope only. */
  readonly #scopes = new Map<number, { readonly 4: Segments; readonly 6: Segments }>();
  readonly #words = new Int32Array(4);

  /** Notes a change. @param changed the ranges; undefined for any address. */
  note(stamp: number, changed: readonly AddressRange[] | undefined): void {
    if (changed === undefined) {
      this.#ipv4.joinAll(stamp);
      this.#ipv6.joinAll(stamp);
      this.#scopes.clear();
      return;
    }
    for (const range of changed) {
      if (range.scope !== undefined) this.#changeIn(range.scope, range, stamp);
      else (range.family === 4 ? this.#ipv4 : this.#ipv6).change(range, stamp);
    }
  }

  /** Returns the stamp of the last change at an address of four words, IPv4 in its mapped form, in a scope; 0 means in no scope. */
  last(a: number, b: number, c: number, d: number, scope = 0): number {
    const words = this.#words;
    const family = isIpv4(a, b, c) ? 4 : 6;
    if (family === 4) words[0] = d ^ flip;
    else {
      words[0] = a ^ flip;
      words[1] = b ^ flip;
      words[2] = c ^ flip;
      words[3] = d ^ flip;
    }
    const stamp = (family === 4 ? this.#ipv4 : this.#ipv6).stampAt(words);
    const own = scope === 0 ? undefined : this.#scopes.get(scope)?.[family].stampAt(words);
    return own !== undefined && isLater(own, stamp) ? own : stamp;
  }

  #changeIn(scope: number, range: AddressRange, stamp: number): void {
    let segments = this.#scopes.get(scope);
    if (segments === undefined) {
      // The changes of all forgotten scopes count as changes everywhere.
      if (this.#scopes.size >= mostScopes) return this.note(stamp, undefined);
      const before = (stamp - 2 ** 28) | 0;
      segments = { 4: new Segments(1, mostInScope, before), 6: new Segments(4, mostInScope, before) };
      this.#scopes.set(scope, segments);
    }
    segments[range.family].change(range, stamp);
  }
}
