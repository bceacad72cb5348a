// What entries of the file are made of, for the reader of bytes.

export const lineFeed = 0x0a;
export const blank = 0x20;
export const quote = 0x22;
export const hash = 0x23;
export const comma = 0x2c;
export const dot = 0x2e;
export const zero = 0x30;
export const nine = 0x39;
export const colon = 0x3a;
export const openingBracket = 0x5b;
export const backslash = 0x5c;
export const closingBracket = 0x5d;
export const closingBrace = 0x7d;

/** Bytes of an entry up to its last item; the YAML of flow lists is four times as long as they are. */
export const longestEntry = 8 * 1024;
export const yamlRoom = 64 * 1024;
export const jsonRoom = 128 * 1024;
export const maxPairs = 32;
/** Of names and tags, of names of metadata (short enough to be written plain), of their values. */
export const maxText = 255;
export const maxName = 255;
export const maxValue = 4096;
/** Length of the longest text that some reader takes for a bool or null. */
export const longestReserved = 5;
/** With digits behind it, however many, it is a float to some. */
export const letterE = 0x65;

/** First letters of texts that some reader takes for a bool, null or a float (those behind a dot). */
export const reservedStarts = new Uint8Array(256);
for (const sign of "yYnNoOtTfFiIeE_") reservedStarts[sign.charCodeAt(0)] = 1;

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
export const keyJson = encode('{"key":"');
export const nameJson = encode(',"name":');
export const tagsJson = encode(',"tags":[');
export const vlanJson = encode(',"vlan":"');
export const internalJson = encode(',"internal":true');
export const metadataJson = encode(',"metadata":{');
export const nameField = encode("  name: ");
export const tagsField = encode("  tags:");
export const vlanField = encode("  vlan: ");
export const internalField = encode("  internal: true\n");
export const tagsLine = encode("  tags:\n");
export const metadataField = encode("  metadata:\n");
export const itemStart = encode("    - ");
export const pairStart = encode("    ");
export const emptyEntry = encode(" {}\n");

/** What a sign may be in a plain scalar: not its first, any, and one that it stays plain with as its first. */
export const inner = 1;
export const safe = 2;
export const letter = 3;
export const kinds = new Uint8Array(256);
for (const sign of "-@") kinds[sign.charCodeAt(0)] = inner;
for (const sign of "0123456789./()") kinds[sign.charCodeAt(0)] = safe;
for (const sign of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") kinds[sign.charCodeAt(0)] = letter;
