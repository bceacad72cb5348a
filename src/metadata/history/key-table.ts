const firstSlots = 1024;
const slotWords = 3;

/**
 * Numbers by text, in 12 bytes for each: of the text 64 bits are kept, so that one in some billions of tables has two texts that it takes for
 * one.
 */
export interface KeyTable {
  set(text: string, number: number): void;
  /** 0 when there is none. */
  get(text: string): number;
  /** Forgets texts with lower numbers, whenever there is cause to. */
  forgetBelow(number: number): void;
}

/** Numbers are from 1 to 2^32 - 1. */
export function createKeyTable(): KeyTable {
  let slots = new Uint32Array(firstSlots * slotWords);
  let used = 0;
  let least = 1;
  let low = 0;
  let high = 0;

  /** Two hashes (FNV-1a, with two primes) of a text. */
  const hash = (text: string): void => {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b);
      b = (b << 13) | (b >>> 19);
    }
    low = (a ^ (b >>> 7)) >>> 0;
    high = b >>> 0;
  };

  /** Where the text of the hashes is, or would be. */
  const find = (table: Uint32Array): number => {
    const mask = table.length / slotWords - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (table[at + 2] === 0 || (table[at] === low && table[at + 1] === high)) return at;
    }
  };

  const put = (table: Uint32Array, number: number): boolean => {
    const at = find(table);
    const isNew = table[at + 2] === 0;
    table[at] = low;
    table[at + 1] = high;
    table[at + 2] = number;
    return isNew;
  };

  /** Makes room, without what is forgotten. */
  const rebuild = (): void => {
    let kept = 0;
    for (let at = 2; at < slots.length; at += slotWords) if ((slots[at] as number) >= least) kept++;
    let count = firstSlots;
    while (count < 4 * kept) count *= 2;
    const next = new Uint32Array(count * slotWords);
    for (let at = 0; at < slots.length; at += slotWords) {
      const number = slots[at + 2] as number;
      if (number < least) continue;
      low = slots[at] as number;
      high = slots[at + 1] as number;
      put(next, number);
    }
    slots = next;
    used = kept;
  };

  return {
    set(text, number) {
      if (2 * (used + 1) * slotWords > slots.length) rebuild();
      hash(text);
      if (put(slots, number)) used++;
    },
    get(text) {
      hash(text);
      const number = slots[find(slots) + 2] as number;
      return number < least ? 0 : number;
    },
    forgetBelow: (number) => void (least = Math.max(1, number)),
  };
}
