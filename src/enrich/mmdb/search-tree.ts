/** The shape of a search tree, of a database's metadata. */
export interface TreeShape {
  /** Bits of a record, of which a node has two. */
  readonly recordSize: number;
  readonly nodeCount: number;
  readonly ipVersion: number;
}

/**
 * Finds where the data of an address lies.
 *
 * @returns the record that the tree has for the address of four words, IPv4 in its mapped form: the same number means the same
 *   data. 0 when nothing is known of it.
 */
export interface SearchTree {
  (a: number, b: number, c: number, d: number): number;
  /** Some of the records that addresses lead to, no more than `most`, from the first address on. */
  readonly sample: (most: number) => readonly number[];
}

/** How many bits of an IPv4 address are walked beforehand. */
const firstBits = 16;
/** Where the walks of this many /24 came to is remembered; addresses that come for the first time often have neighbours that came before. */
const knownNetworks = 65_536;
const networkBits = 24;
const knownShift = 16;

/**
 * The search tree of the MaxMind DB File Format 2.0, read where it lies.
 *
 * @param bytes begin with the tree and hold all of it, and a few more.
 * @returns undefined for a size of records that there is not.
 */
export function createSearchTree(
  bytes: Uint8Array,
  { recordSize, nodeCount, ipVersion }: TreeShape,
): SearchTree | undefined {
  if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) return undefined;
  const nodeBytes = recordSize / 4;
  // What is read at a time is four bytes; behind the tree there are more than that.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

  const next = (node: number, bit: number): number => {
    const at = node * nodeBytes;
    if (recordSize === 24) return view.getUint32(at + 3 * bit) >>> 8;
    if (recordSize === 32) return view.getUint32(at + 4 * bit);
    if (bit !== 0) return view.getUint32(at + 3) & 0xfff_ffff;
    const word = view.getUint32(at);
    return (word >>> 8) | ((word & 0xf0) << 20);
  };

  /** Follows bits of a word from the highest of `count` on. */
  const walk = (from: number, word: number, count: number): number => {
    let node = from;
    for (let shift = count - 1; shift >= 0 && node < nodeCount; shift--) node = next(node, (word >>> shift) & 1);
    return node;
  };

  // IPv4 addresses lie below ::/96.
  const ipv4Start = ipVersion === 4 ? 0 : walk(walk(walk(0, 0, 32), 0, 32), 0, 32);
  const firsts = new Uint32Array(1 << firstBits);
  /** For all words that begin with the `depth` bits that lead to a node. */
  const putFirsts = (node: number, word: number, depth: number): void => {
    const open = firstBits - depth;
    if (open === 0 || node >= nodeCount) firsts.fill(node, word << open, (word + 1) << open);
    else for (let bit = 0; bit < 2; bit++) putFirsts(next(node, bit), 2 * word + bit, depth + 1);
  };
  putFirsts(ipv4Start, 0, 0);

  // Of each: the network + 1, where its walk came to.
  const known = new Uint32Array(2 * knownNetworks);

  const walkNetwork = (d: number): number => {
    const network = d >>> (32 - networkBits);
    const at = 2 * (Math.imul(network, 0x9e37_79b1) >>> knownShift);
    if (known[at] === network + 1) return known[at + 1] as number;
    const node = walk(firsts[d >>> firstBits] as number, network, networkBits - firstBits);
    known[at] = network + 1;
    known[at + 1] = node;
    return node;
  };

  const find = (a: number, b: number, c: number, d: number): number => {
    let node: number;
    if (c === 0xffff && a === 0 && b === 0) node = walk(walkNetwork(d), d, 32 - networkBits);
    else if (ipVersion === 4) return 0;
    else node = walk(walk(walk(walk(0, a, 32), b, 32), c, 32), d, 32);
    return node > nodeCount ? node : 0;
  };

  const sample = (most: number): readonly number[] => {
    const found = new Set<number>();
    const open = [0];
    // A damaged tree may lead in a circle.
    for (let steps = 0; open.length > 0 && found.size < most && steps <= nodeCount; steps++) {
      const node = open.pop() as number;
      for (const bit of [1, 0]) {
        const side = next(node, bit);
        if (side < nodeCount) open.push(side);
        else if (side > nodeCount) found.add(side);
      }
    }
    return [...found];
  };
  return Object.assign(find, { sample });
}
