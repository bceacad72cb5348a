// How what is known of addresses lies in a workspace, for those who fill it and for those who read it. This file is compiled
// to WebAssembly too, so it holds numbers only. Sizes and places are in bytes; numbers are little-endian.

/** A slot: the address as four words (IPv4 in its mapped form), then these words. */
export const slotBytes = 32;
/** Stamp << 17 | scope << 3 | object + 1; 0 for an empty slot. */
export const slotTag = 16;
export const objectBits = 3;
export const objectMask = 7;
/** Of the scope and the object together. */
export const keyBits = 17;
export const keyMask = 0x1ffff;
/** Where its text begins in the arena. */
export const slotStart = 20;
/** What its text is, packed as below; 0: nothing is added. Negative: it must be placed among the fields of a record. */
export const slotLengths = 24;
/** Until when it may be used. */
export const slotExpires = 28;
/** Addresses come from strangers, who may choose them so that they all want the same slot. */
export const maxProbes = 16;

/** In the lengths: bytes of the fields without the VLAN, the number of the locality, bytes of the fields with the VLAN. */
export const lengthMask = 0x1fff;
export const localityShift = 13;
export const localityMask = 7;
export const withVlanShift = 16;
/** Whether an autonomous system's fields follow behind the VLAN. */
export const systemBit = 536_870_912;
/** Whether any of the fields are metadata. */
export const metadataBit = 1_073_741_824;

/** In front of a text, `textHead` bytes from where it begins: the system's number, and the bytes of its two fields. */
export const textHead = 32;
export const headSystem = 16;
export const headNumberLength = 20;
export const headOrganisationLength = 22;
/**
 * In front of that where readers keep it, see {@link controlHasFields}: where the fields of the text begin. Their number comes first, 0 until a
 * reader has looked; then 16 bits each, which are an offset and, from {@link fieldShift} on, flags of the reader's own. A text with more fields,
 * or longer, has none.
 */
export const fieldsBytes = 32;
export const maxKeptFields = 15;
export const fieldShift = 12;
export const fieldMask = 0xfff;
export const tooManyFields = 0xffff;

/** Addresses that are to be looked up together: of each its scope << 3 | object, then its four words. */
export const listedBytes = 20;
export const maxListed = 128;

/** The control block of a table. Where the slots in use begin, how many there are less one, where the arena in use begins. */
export const controlSlots = 0;
export const controlMask = 4;
export const controlArena = 8;
/** The time, and the stamp << 17 under which slots are right without a further look. */
export const controlNow = 12;
export const controlTag = 16;
/** 0: nothing is known of any address. */
export const controlIsOn = 20;
/** Whether a text follows from the localities of both ends: by `source * 8 + destination` its place and length. */
export const controlHasFinish = 24;
/** Whether there is room in front of texts for where their fields begin. */
export const controlHasFields = 28;
export const controlFinish = 32;
export const finishTexts = 64;
/** What the reader counts, as doubles: slots found right, and those with metadata. */
export const controlHits = 544;
export const controlMatches = 552;
export const controlBytes = 560;
