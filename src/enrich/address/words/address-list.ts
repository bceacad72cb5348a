/** Addresses below objects that are looked up together. */
export interface AddressList {
  /** The positions of the objects. */
  readonly objects: Int32Array;
  /** Four words of each address. */
  readonly words: Int32Array;
  count: number;
  add(object: number, a: number, b: number, c: number, d: number): void;
}

/** @param size how many there are at most. */
export function createAddressList(size: number): AddressList {
  const list = {
    objects: new Int32Array(size),
    words: new Int32Array(4 * size),
    count: 0,
    add(object: number, a: number, b: number, c: number, d: number) {
      const at = 4 * list.count;
      list.objects[list.count++] = object;
      list.words[at] = a;
      list.words[at + 1] = b;
      list.words[at + 2] = c;
      list.words[at + 3] = d;
    },
  };
  return list;
}
