import type { Family } from "../../../base/ip/index.ts";
import type { AddressRange } from "../../../metadata/index.ts";

/**
 * When what is known of each address changed last, by stamps that go up and wrap around after 29 bits. All addresses lie in
 * segments with one stamp each:
 *
 *     0.0.0.0 … 10.0.0.255 │ 10.0.1.0 … 10.0.1.255 │ 10.0.2.0 … 255.255.255.255
 *             0            │           7           │             0
 *
 * A change cuts segments and joins others, so that an address is found by a search in few of them, however many changes
 * there were. Where they become too many, all are one segment of the latest stamp: everything is made again once.
 */
export interface ChangeHistory {
  /** @param changed undefined: anything. */
  note(stamp: number, changed: readonly AddressRange[] | undefined): void;
  /** The stamp of the last change at an address of four words, IPv4 in its mapped form. */
  last(a: number, b: number, c: number, d: number): number;
}

/** Whether one stamp is later than another. */
export function isLater(stamp: number, than: number): boolean {
  return (stamp - than) << 3 > 0;
}

const mostSegments = 8192;
const flip = 0x8000_0000;

interface Segments {
  readonly width: number;
  /** First address of each, as words with the highest bit flipped, which compare as signed numbers. */
  readonly starts: Int32Array;
  readonly stamps: Int32Array;
  count: number;
}

export function createChangeHistory(): ChangeHistory {
  const of: Readonly<Record<Family, Segments>> = { 4: createSegments(1), 6: createSegments(4) };
  const ipv4 = of[4];
  const ipv6 = of[6];
  const words = new Int32Array(4);
  return {
    note(stamp, changed) {
      if (changed === undefined) {
        joinAll(ipv4, stamp);
        joinAll(ipv6, stamp);
        return;
      }
      for (const range of changed) change(of[range.family], range, stamp);
    },
    last(a, b, c, d) {
      if (a === 0 && b === 0 && c === 0xffff) {
        if (ipv4.count === 1) return ipv4.stamps[0] as number;
        words[0] = d ^ flip;
        return ipv4.stamps[segmentOf(ipv4, words)] as number;
      }
      if (ipv6.count === 1) return ipv6.stamps[0] as number;
      words[0] = a ^ flip;
      words[1] = b ^ flip;
      words[2] = c ^ flip;
      words[3] = d ^ flip;
      return ipv6.stamps[segmentOf(ipv6, words)] as number;
    },
  };
}

function createSegments(width: number): Segments {
  const segments = {
    width,
    starts: new Int32Array((mostSegments + 2) * width),
    stamps: new Int32Array(mostSegments + 2),
    count: 1,
  };
  joinAll(segments, 0);
  return segments;
}

function joinAll(segments: Segments, stamp: number): void {
  segments.starts.fill(flip, 0, segments.width);
  segments.stamps[0] = stamp;
  segments.count = 1;
}

function change(segments: Segments, { first, last }: AddressRange, stamp: number): void {
  const { width, starts, stamps } = segments;
  if (segments.count >= mostSegments) {
    joinAll(segments, stamp);
    return;
  }
  const start = wordsOf(first, width);
  const next = last + 1n;
  let from = segmentOf(segments, start);
  const at = segmentOf(segments, wordsOf(last, width));
  const rest = stamps[at] as number;
  const isEnd = next >> BigInt(32 * width) > 0n;
  const after = wordsOf(next, width);
  // What is behind the change keeps its stamp, unless its segment ends there too.
  const hasRest = !isEnd && (at + 1 === segments.count || compare(segments, at + 1, after) !== 0);
  // What is before it keeps its stamp, unless its segment begins here too.
  if (compare(segments, from, start) < 0) from++;
  const isJoined = from > 0 && stamps[from - 1] === stamp;
  const added = (isJoined ? 0 : 1) + (hasRest ? 1 : 0);
  starts.copyWithin((from + added) * width, (at + 1) * width, segments.count * width);
  stamps.copyWithin(from + added, at + 1, segments.count);
  segments.count += from + added - at - 1;
  let to = from;
  if (!isJoined) {
    starts.set(start, to * width);
    stamps[to++] = stamp;
  }
  if (hasRest) {
    starts.set(after, to * width);
    stamps[to] = rest;
  } else if (to < segments.count && stamps[to] === stamp) {
    // The one behind has the same stamp: the two are one.
    starts.copyWithin(to * width, (to + 1) * width, segments.count * width);
    stamps.copyWithin(to, to + 1, segments.count);
    segments.count--;
  }
}

/** The last that starts at the address or before it. */
function segmentOf(segments: Segments, address: Int32Array): number {
  let low = 0;
  let high = segments.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compare(segments, middle, address) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

function compare({ width, starts }: Segments, i: number, address: Int32Array): number {
  for (let w = 0; w < width; w++) {
    const a = starts[i * width + w] as number;
    const b = address[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function wordsOf(value: bigint, width: number): Int32Array {
  return Int32Array.from(
    { length: width },
    (_, w) => Number(BigInt.asUintN(32, value >> BigInt(32 * (width - 1 - w)))) ^ flip,
  );
}
