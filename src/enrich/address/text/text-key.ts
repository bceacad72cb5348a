/** All that a text follows from, as words: the same words mean the same text. Empty for a text that nobody else may have. */
export interface TextKey {
  readonly words: Int32Array;
  readonly length: number;
  readonly hash: number;
  clear(): void;
  /** More than the key has room for is refused: `length` then goes beyond {@link maxKeyWords}. */
  put(word: number): void;
}

export const maxKeyWords = 96;

export function createTextKey(): TextKey {
  const key = {
    words: new Int32Array(maxKeyWords),
    length: 0,
    hash: 0,
    clear() {
      key.length = 0;
      key.hash = 0;
    },
    put(word: number) {
      key.words[key.length++] = word;
      key.hash = Math.imul(key.hash ^ word, 0x9e3779b1) ^ (key.hash >>> 15);
    },
  };
  return key;
}
