// Pieces of text as numbers, lowest byte first, to be stored by one instruction. A piece shorter than its number has zeros
// above it: its length is 4 - (clz32(piece) >>> 3).

const code = (text: string): number => Buffer.from(text.padEnd(4, "\0")).readUInt32LE();

/** 0 to 9999 without leading zeros. */
export const digits = Uint32Array.from({ length: 10_000 }, (_, i) => code(String(i)));
/** 0 to 9999 as four digits. */
export const fourDigits = Uint32Array.from({ length: 10_000 }, (_, i) => code(String(i).padStart(4, "0")));
/** 0 to 99 as two digits. */
export const digitPairs = Uint16Array.from({ length: 100 }, (_, i) => code(String(i).padStart(2, "0")));
/** `0.` to `255.` */
export const octetsWithDot = Uint32Array.from({ length: 256 }, (_, i) => code(`${i}.`));
/** A dot and three digits. */
export const milliseconds = Uint32Array.from({ length: 1000 }, (_, i) => code(`.${String(i).padStart(3, "0")}`));
/** Two lower-case digits. */
export const hexPairs = Uint16Array.from({ length: 256 }, (_, i) => code(i.toString(16).padStart(2, "0")));
