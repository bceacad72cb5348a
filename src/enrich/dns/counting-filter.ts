import type { AddressNumber } from "../address/words/address-words.ts";

/**
 * Says of most addresses that are not among some, by one read of little memory, that they are not: a set of thousands takes many times
 * longer to say it. What was added more than once must be deleted as often.
 */
export interface CountingFilter {
  /** False: it is not there. */
  mayHave(number: AddressNumber): boolean;
  add(number: AddressNumber): void;
  delete(number: AddressNumber): void;
}

const bits = 16;

/** For fewer than 65 536 addresses, so that no count goes beyond its 16 bits. */
export function createCountingFilter(): CountingFilter {
  const counts = new Uint16Array(1 << bits);
  return {
    mayHave: (number) => counts[placeOf(number)] !== 0,
    add(number) {
      const place = placeOf(number);
      counts[place] = (counts[place] as number) + 1;
    },
    delete(number) {
      const place = placeOf(number);
      counts[place] = (counts[place] as number) - 1;
    },
  };
}

function placeOf(number: AddressNumber): number {
  const word = typeof number === "number" ? number : Number(BigInt.asIntN(32, number ^ (number >> 64n)));
  return Math.imul(word, 0x9e37_79b1) >>> (32 - bits);
}
