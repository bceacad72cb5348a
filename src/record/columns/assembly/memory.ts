// Memory is given out from the bottom up. What grows moves to the top and leaves its old place, which together is no more than it has now.

let heap: usize = (__heap_base + 15) & ~15;

/** Memory of zeros, at a multiple of 16; behind it are 64 bytes that may be read and overwritten. */
export function allocate(bytes: usize): usize {
  const at = heap;
  heap = (heap + bytes + 64 + 15) & ~15;
  // Beyond 4 GiB offsets wrap.
  if (heap < at) unreachable();
  const missing = <i32>((heap + 0xffff) >>> 16) - memory.size();
  // Each step costs the engine time: an eighth more than there is spares most of them.
  if (missing > 0 && memory.grow(missing + (memory.size() >>> 3)) < 0 && memory.grow(missing) < 0) unreachable();
  return at;
}

/** Moves what is there to a larger place. */
export function moved(at: usize, used: usize, bytes: usize): usize {
  const to = allocate(bytes);
  memory.copy(to, at, used);
  return to;
}

/** Sixteen bytes of ones before sixteen of zeros. */
const masks: usize = allocate(32);

export function fillMasks(): void {
  memory.fill(masks, 255, 16);
}

/** A mask of the first bytes of sixteen. @param length 0 to 16. */
@inline
export function maskOf(length: usize): v128 {
  return v128.load(masks + 16 - length);
}

/** Whether two texts are the same; up to fifteen bytes behind them are read. */
@inline
export function areSame(a: usize, b: usize, length: usize): bool {
  if (length <= 16) return !v128.any_true(v128.and(v128.xor(v128.load(a), v128.load(b)), maskOf(length)));
  return areLongSame(a, b, length);
}

function areLongSame(a: usize, b: usize, length: usize): bool {
  const last = length - 16;
  if (v128.any_true(v128.xor(v128.load(a + last), v128.load(b + last)))) return false;
  for (let i: usize = 0; i < last; i += 16) {
    if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false;
  }
  return true;
}
