export const slabWords = 16_384;
export const slabShift = 14;
export const slabBytes = slabWords * 4;

/** Bigger blocks get slabs of their own. */
export const maxSmallWords = slabWords / 4;
/** Sizes of blocks in words: steps of 4 up to 64, then 16 steps for each doubling, so that little is lost by rounding. */
export const classWords: readonly number[] = makeClasses();
/** The size class of a block that has slabs of its own. */
export const bigClass = 255;
/** By the number of 4-word units: the smallest class that holds them. */
export const classOfUnits = makeClassTable();

function makeClasses(): number[] {
  const sizes: number[] = [];
  for (let words = 4; words <= 64; words += 4) sizes.push(words);
  for (let base = 64; base < maxSmallWords; base *= 2) {
    for (let step = 1; step <= 16; step++) sizes.push(base + (base / 16) * step);
  }
  return sizes;
}

function makeClassTable(): Uint8Array {
  const table = new Uint8Array(maxSmallWords / 4 + 1);
  let sizeClass = 0;
  for (let units = 0; units < table.length; units++) {
    while ((classWords[sizeClass] as number) < units * 4) sizeClass++;
    table[units] = sizeClass;
  }
  return table;
}
