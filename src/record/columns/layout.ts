// The descriptor of a column in the memory of the reader of lines, for both sides of it. It has nothing that AssemblyScript does not know.

/** The types of columns, in the order of their numbers. */
export const textKind = 0;
export const addressKind = 1;
export const integerKind = 2;
export const unsignedKind = 3;
export const doubleKind = 4;
export const booleanKind = 5;
export const timeKind = 6;

/** Flags: a row has any number of values; nearly each text is new, so none is looked for; the text is the JSON of an array. */
export const isArrayFlag = 1;
export const isDistinctFlag = 2;
export const isJsonFlag = 4;

/** Offsets of 32-bit numbers in a descriptor. */
export const columnKind = 0;
export const columnFlags = 4;
/** Rows that have a value, once the batch is finished. */
export const columnCount = 8;
export const columnPresence = 12;
export const columnData = 16;
/** Of an array column: where the items of each row begin. */
export const columnOffsets = 20;
/** Of an array column: how many items there are, for how many there is room, and how many of the offsets are written. */
export const columnItems = 24;
export const columnRoom = 28;
export const columnFilled = 32;
/** The row behind the last one that has a value, and the first one of those up to it that all have one. */
export const columnUsed = 36;
export const columnRun = 40;
/** The width of a value as a power of two. */
export const columnShift = 44;
/** The field of the line before whose value is the last one, and goes on in all rows behind it that are there; 0: none does. */
export const columnField = 48;
export const columnBytes = 64;
