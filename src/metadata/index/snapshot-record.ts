import type { Family } from "../../base/ip/index.ts";
import { treePart, type Heap } from "./heap.ts";

// One state of the database, in a block of its own that never changes:
//   1  how many holders it has: objects of the thread that writes, and being the published one
//   2  root of the IPv4 tree, 0 for none      3  root of the IPv6 tree
//   4  number of entries                      5  version, low 32 bits      6  and the rest
const rootWords: Readonly<Record<Family, number>> = { 4: 2, 6: 3 };

export interface SnapshotValues {
  readonly root4: number;
  readonly root6: number;
  readonly size: number;
  readonly version: number;
}

/** Takes over the references to the roots. @returns a block with one holder. @throws HeapFullError */
export function writeSnapshot(heap: Heap, { root4, root6, size, version }: SnapshotValues): number {
  const { words } = heap;
  const block = heap.allocate(7, treePart);
  words[block + 1] = 1;
  words[block + 2] = root4;
  words[block + 3] = root6;
  words[block + 4] = size;
  words[block + 5] = version;
  words[block + 6] = Math.floor(version / 2 ** 32);
  return block;
}

export function rootOf(words: Int32Array, snapshot: number, family: Family): number {
  return words[snapshot + rootWords[family]] as number;
}

export function sizeOf(words: Int32Array, snapshot: number): number {
  return words[snapshot + 4] as number;
}

export function versionOf(words: Int32Array, snapshot: number): number {
  return (words[snapshot + 6] as number) * 2 ** 32 + ((words[snapshot + 5] as number) >>> 0);
}
