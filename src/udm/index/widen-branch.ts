import { branchRow, commonWords, headWords, itemCount, rowsOf, type NodeLayout } from "./node-layout.ts";
import { greatestWords } from "./node-words.ts";

const highest = 0x7fff_ffff;

/** Puts another node in the place of a child that starts at the same address. Nobody else may know the branch. */
export function setChild(words: Int32Array, node: number, i: number, child: number): void {
  words[rowsOf(words, node) + i * branchRow] = child;
}

/**
 * Notes that an entry that ends at `last` is now below a child. Nobody else may know the branch.
 *
 * @param last words of an address.
 */
export function widenChild(words: Int32Array, layout: NodeLayout, node: number, i: number, last: Int32Array): void {
  const { width } = layout;
  const greatest = greatestWords(words, layout, node, i);
  const least = greatest + width;
  if (compare(words, least, last, width) > 0) for (let w = 0; w < width; w++) words[least + w] = last[w] as number;
  if (compare(words, greatest, last, width) >= 0) return;
  for (let w = 0; w < width; w++) words[greatest + w] = last[w] as number;
  raiseReach(words, node, i, last);
}

/** Brings the words into agreement by which a search sees how far children reach. */
function raiseReach(words: Int32Array, node: number, i: number, last: Int32Array): void {
  const common = commonWords(words[node] as number);
  let w = 0;
  while (w < common && words[node + headWords + w] === last[w]) w++;
  const word = w === common ? (last[w] as number) : highest;
  const rows = rowsOf(words, node);
  words[rows + i * branchRow + 1] = word;
  const count = itemCount(words, node);
  for (let n = i + 1; n < count; n++) {
    const reach = rows + n * branchRow + 2;
    if ((words[reach] as number) >= word) return;
    words[reach] = word;
  }
}

function compare(words: Int32Array, at: number, other: Int32Array, width: number): number {
  for (let w = 0; w < width; w++) {
    const a = words[at + w] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
