// The descriptor of a part of messages, and the places of rows, in the memory of the writer of messages, for both sides of it. It has nothing
// that AssemblyScript does not know.

/** How the values of a part are written. */
export const wholeForm = 0;
export const fixedForm = 1;
export const booleanForm = 2;
export const addressForm = 3;
export const textForm = 4;
/** Bytes that have tags of their own. */
export const entriesForm = 5;

/** Offsets of 32-bit numbers in a descriptor. */
export const partForm = 0;
/** The tag as a varint of one or two bytes, and how many they are. */
export const partTag = 4;
export const partTagLength = 8;
/** Which rows have a value; 0: all. */
export const partPresence = 12;
/** Halves of numbers of 64 bits, codes of texts, four words of an address, where the entries of a row begin; booleans, bytes of entries. */
export const partWords = 16;
export const partOctets = 20;
/** Of a list: where the items of each row begin; 0: it is none. */
export const partOffsets = 24;
/** What stands for a list without items. */
export const partEmpty = 28;
export const partEmptyLength = 32;
/** Whole numbers: those whose upper half is greater are left out, and zeros. */
export const partMostHigh = 36;
export const partHasZeros = 40;
export const partBytes = 48;

/** Offsets of 32-bit numbers in the place of a row, counted from the first message: where its key begins, its message, and where that ends. */
export const placeKey = 0;
export const placeFrom = 4;
export const placeTo = 8;
export const placeBytes = 12;
