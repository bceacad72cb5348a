import { parseKey, type Family, type Key } from "../../base/ip/index.ts";
import { createKeyScanner, type KeyWords } from "../index/key-limbs.ts";
import type { RenderedTexts } from "../index/entry-block.ts";
import { stringScalar } from "../../base/yaml/index.ts";

// What entries of the file are made of, for the reader of bytes.

const lineFeed = 0x0a;
const blank = 0x20;
const quote = 0x22;
const hash = 0x23;
const comma = 0x2c;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const closingBrace = 0x7d;

/** Bytes of an entry up to its last item; the YAML of flow lists is four times as long as they are. */
const longestEntry = 8 * 1024;
const yamlRoom = 64 * 1024;
const jsonRoom = 128 * 1024;
const maxPairs = 32;
/** Of names and tags, of names of metadata (short enough to be written plain), of their values. */
const maxText = 255;
const maxName = 255;
const maxValue = 4096;
/** Length of the longest text that some reader takes for a bool or null. */
const longestReserved = 5;
/** With digits behind it, however many, it is a float to some. */
const letterE = 0x65;

/** First letters of texts that some reader takes for a bool, null or a float (those behind a dot). */
const reservedStarts = new Uint8Array(256);
for (const sign of "yYnNoOtTfFiIeE_") reservedStarts[sign.charCodeAt(0)] = 1;

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const keyJson = encode('{"key":"');
const nameJson = encode(',"name":');
const tagsJson = encode(',"tags":[');
const vlanJson = encode(',"vlan":"');
const internalJson = encode(',"internal":true');
const metadataJson = encode(',"metadata":{');
const nameField = encode("  name: ");
const tagsField = encode("  tags:");
const vlanField = encode("  vlan: ");
const internalField = encode("  internal: true\n");
const tagsLine = encode("  tags:\n");
const metadataField = encode("  metadata:\n");
const itemStart = encode("    - ");
const pairStart = encode("    ");
const emptyEntry = encode(" {}\n");

/** What a sign may be in a plain scalar: not its first, any, and one that it stays plain with as its first. */
const inner = 1;
const safe = 2;
const letter = 3;
const kinds = new Uint8Array(256);
for (const sign of "-@") kinds[sign.charCodeAt(0)] = inner;
for (const sign of "0123456789./()") kinds[sign.charCodeAt(0)] = safe;
for (const sign of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") kinds[sign.charCodeAt(0)] = letter;

/** Makes the texts of entries of the YAML that was read, bytes of bytes. */
interface PlainEntryScanner extends RenderedTexts {
  /**
   * Reads the entry that starts here.
   *
   * @returns the offset behind it, or -1 for an entry that the plain reader has to read. One that is taken breaks no rule
   *   for values and has no field that the file alone knows.
   */
  scan(at: number): number;
  /** Of what was read last. */
  readonly family: Family;
  readonly key: KeyWords;
  /** Whether the key is a prefix that covers more than what it seems to. */
  hasHostBits(): boolean;
  parsedKey(): Key;
  /** Whether its bytes are what {@link renderEntry} writes for it. */
  readonly isAsWritten: boolean;
}

/**
 * The fast half of {@link createPlainReader}, for entries as most are: fields in order, ASCII, nothing escaped, no comments.
 *
 * @param bytes UTF-8; must not change while they are read.
 */
export function createPlainEntryScanner(bytes: Buffer): PlainEntryScanner {
  const keys = createKeyScanner(bytes);
  const json = Buffer.alloc(jsonRoom);
  const words = new Int32Array(json.buffer, json.byteOffset, jsonRoom / 4);
  /** As {@link renderEntry} writes it. */
  const yaml = Buffer.alloc(yamlRoom);
  /** Where the names of metadata of this entry lie in the JSON. */
  const nameStarts = new Int32Array(maxPairs);
  const nameEnds = new Int32Array(maxPairs);
  let at = 0;
  let out = 0;
  let yamlOut = 0;
  let jsonBytes = 0;
  let isAsWritten = true;
  let keyStart = 0;
  let keyEnd = 0;

  const put = (text: Uint8Array): void => {
    for (let i = 0; i < text.length; i++) json[out++] = text[i] as number;
  };

  const copy = (from: number, to: number): void => {
    for (let i = from; i < to; i++) json[out++] = bytes[i] as number;
  };

  const putYaml = (text: Uint8Array): void => {
    for (let i = 0; i < text.length; i++) yaml[yamlOut++] = text[i] as number;
  };

  /** The JSON string that was put last, without its quotes when it is written plain. */
  const putYamlScalar = (from: number, isPlain: boolean): void => {
    const start = isPlain ? from + 1 : from;
    const end = isPlain ? out - 1 : out;
    for (let i = start; i < end; i++) yaml[yamlOut++] = json[i] as number;
  };

  const isHere = (text: Uint8Array): boolean => {
    for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
    return true;
  };

  const skip = (text: Uint8Array): boolean => {
    if (!isHere(text)) return false;
    at += text.length;
    return true;
  };

  /** Whether a text of safe signs would be written plain. */
  const isWrittenPlain = (start: number, end: number): boolean => {
    const hasDot = bytes[start] === dot;
    const first = bytes[hasDot ? start + 1 : start] as number;
    if (kinds[first] !== letter) return false;
    if (!hasDot && end - start > longestReserved && (first | 0x20) !== letterE) return true;
    if (reservedStarts[first] === 0) return true;
    const text = bytes.toString("latin1", start, end);
    return stringScalar(text) === text;
  };

  const plain = (most: number, isInFlow: boolean): boolean => {
    const start = at;
    if (!((kinds[bytes[start] as number] as number) >= safe)) return false;
    let i = start;
    let o = out;
    let hasColon = false;
    json[o++] = quote;
    for (; ; i++) {
      const byte = bytes[i] as number;
      // Behind the last byte there is no kind.
      if (!((kinds[byte] as number) >= inner)) {
        if (byte === blank) {
          if (!((kinds[bytes[i + 1] as number] as number) >= inner)) return false;
        } else if (byte === colon && !isInFlow) {
          if (!((kinds[bytes[i + 1] as number] as number) >= inner)) return false;
          hasColon = true;
        } else break;
      }
      json[o++] = byte;
    }
    const end = bytes[i];
    if (isInFlow ? end !== comma && end !== closingBracket : end !== lineFeed) return false;
    if (i - start > most || isNull(start, i)) return false;
    json[o++] = quote;
    const from = out;
    at = i;
    out = o;
    putYamlScalar(from, !hasColon && isWrittenPlain(start, i));
    return true;
  };

  const isNull = (start: number, end: number): boolean =>
    end - start === 4 && ((bytes[start] as number) | 0x20) === 0x6e && ((bytes[start + 3] as number) | 0x20) === 0x6c;

  const quoted = (most: number): boolean => {
    const start = at + 1;
    let i = start;
    let o = out;
    /** Whether there is a sign that no plain text has. */
    let isOdd = false;
    json[o++] = quote;
    for (; ; i++) {
      const byte = bytes[i] as number;
      if (byte === quote) break;
      if (!(byte >= blank && byte < 0x7f) || byte === backslash || i - start >= most) return false;
      if ((kinds[byte] as number) < inner && byte !== blank) isOdd = true;
      json[o++] = byte;
    }
    json[o++] = quote;
    const from = out;
    at = i + 1;
    out = o;
    const written = isOdd ? "" : bytes.toString("latin1", start, i);
    putYamlScalar(from, written !== "" && stringScalar(written) === written);
    return true;
  };

  /** A text on the rest of this line, as a JSON string. */
  const text = (most: number): boolean => {
    if (!(bytes[at] === quote ? quoted(most) : plain(most, false))) return false;
    yaml[yamlOut++] = lineFeed;
    return bytes[at++] === lineFeed;
  };

  const blockTags = (): boolean => {
    let isFirst = true;
    while (isHere(itemStart)) {
      if (at > limit) return false;
      at += itemStart.length;
      if (!isFirst) json[out++] = comma;
      isFirst = false;
      putYaml(itemStart);
      if (bytes[at] === quote && bytes[at + 1] === quote) return false;
      if (!text(maxText)) return false;
    }
    return !isFirst;
  };

  const flowTags = (): boolean => {
    do {
      if (at > limit) return false;
      putYaml(itemStart);
      if (bytes[at] === comma) json[out++] = comma;
      at++;
      while (bytes[at] === blank) at++;
      if (!plain(maxText, true)) return false;
      yaml[yamlOut++] = lineFeed;
    } while (bytes[at] === comma);
    at++;
    return bytes[at++] === lineFeed;
  };

  const tags = (): boolean => {
    put(tagsJson);
    putYaml(tagsLine);
    if (bytes[at] === lineFeed) {
      at++;
      if (!blockTags()) return false;
    } else {
      if (bytes[at] !== blank || bytes[at + 1] !== openingBracket) return false;
      at++;
      if (!flowTags()) return false;
    }
    json[out++] = closingBracket;
    return true;
  };

  const vlan = (): boolean => {
    const start = at;
    while ((bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++;
    // Those of 20 digits may be too great.
    if (at === start || at - start > 19 || bytes[start] === zero) return false;
    put(vlanJson);
    putYaml(vlanField);
    copy(start, at);
    json[out++] = quote;
    for (let i = start; i < at; i++) yaml[yamlOut++] = bytes[i] as number;
    yaml[yamlOut++] = lineFeed;
    return bytes[at++] === lineFeed;
  };

  /** A name of metadata: parts of safe signs, joined by dots. */
  const metadataName = (): boolean => {
    const start = at;
    const first = bytes[start] === dot ? start + 1 : start;
    if (kinds[bytes[first] as number] !== letter) return false;
    let i = first;
    for (; ; i++) {
      const byte = bytes[i] as number;
      if (!((kinds[byte] as number) >= inner)) break;
      if (byte === dot && bytes[i + 1] === dot) return false;
    }
    if (bytes[i] !== colon || bytes[i + 1] !== blank || bytes[i - 1] === dot || i - start > maxName) return false;
    const from = out;
    json[out++] = quote;
    copy(start, i);
    json[out++] = quote;
    putYaml(pairStart);
    putYamlScalar(from, isWrittenPlain(start, i));
    yaml[yamlOut++] = colon;
    yaml[yamlOut++] = blank;
    json[out++] = colon;
    at = i + 2;
    return true;
  };

  const isNameTwice = (count: number): boolean => {
    const start = nameStarts[count] as number;
    const length = (nameEnds[count] as number) - start;
    for (let n = 0; n < count; n++) {
      const other = nameStarts[n] as number;
      if ((nameEnds[n] as number) - other !== length) continue;
      let i = 0;
      while (i < length && json[start + i] === json[other + i]) i++;
      if (i === length) return true;
    }
    return false;
  };

  const metadata = (): boolean => {
    put(metadataJson);
    putYaml(metadataField);
    let count = 0;
    while (isHere(pairStart) && bytes[at + pairStart.length] !== blank) {
      if (at > limit || count === maxPairs) return false;
      at += pairStart.length;
      if (count > 0) json[out++] = comma;
      nameStarts[count] = out;
      if (!metadataName()) return false;
      nameEnds[count] = out;
      if (isNameTwice(count++) || !text(maxValue)) return false;
    }
    json[out++] = closingBrace;
    return count > 0;
  };

  /** The field on this line. @returns its place among the fields; 0 for one that is not known here. */
  const field = (): number => {
    switch (bytes[at + 2] ?? 0) {
      case 0x6e:
        if (!skip(nameField)) return 0;
        put(nameJson);
        putYaml(nameField);
        if (bytes[at] === quote && bytes[at + 1] === quote) return 0;
        return text(maxText) ? 1 : 0;
      case 0x74:
        return skip(tagsField) && tags() ? 2 : 0;
      case 0x76:
        return skip(vlanField) && vlan() ? 3 : 0;
      case 0x69:
        put(internalJson);
        putYaml(internalField);
        return skip(internalField) ? 4 : 0;
      case 0x6d:
        return skip(metadataField) && metadata() ? 5 : 0;
      default:
        return 0;
    }
  };

  const keyOf = (start: number): boolean => {
    const isQuoted = bytes[start] === quote;
    // Without quotes this is for the library.
    if (bytes[start] === colon) return false;
    const from = isQuoted ? start + 1 : start;
    const end = keys.scan(from);
    if (end < 0) return false;
    keyStart = from;
    keyEnd = end;
    at = end;
    if (isQuoted && bytes[at++] !== quote) return false;
    if (bytes[at++] !== colon) return false;
    put(keyJson);
    const before = out - 1;
    copy(from, end);
    json[out++] = quote;
    putYamlScalar(before, keys.family === 4);
    yaml[yamlOut++] = colon;
    return true;
  };

  /** Puts the YAML behind the JSON. */
  const end = (start: number): void => {
    jsonBytes = out;
    isAsWritten = at - start === yamlOut;
    for (let i = 0; i < yamlOut; i++) {
      const byte = yaml[i] as number;
      if (byte !== bytes[start + i]) isAsWritten = false;
      json[out++] = byte;
    }
  };

  let limit = 0;

  return {
    key: keys.words,
    words,
    hasHostBits: () => keys.hasHostBits(),
    parsedKey: () => parseKey(bytes.toString("latin1", keyStart, keyEnd)),
    get family() {
      return keys.family;
    },
    get jsonBytes() {
      return jsonBytes;
    },
    get yamlBytes() {
      return yamlOut;
    },
    get isAsWritten() {
      return isAsWritten;
    },
    scan(start) {
      at = start;
      out = 0;
      yamlOut = 0;
      limit = start + longestEntry;
      if (!keyOf(start)) return -1;
      if (isHere(emptyEntry)) {
        at += emptyEntry.length;
        putYaml(emptyEntry);
      } else {
        if (bytes[at++] !== lineFeed || bytes[at] !== blank) return -1;
        yaml[yamlOut++] = lineFeed;
        let last = 0;
        while (bytes[at] === blank) {
          if (bytes[at + 1] !== blank) return -1;
          const place = field();
          if (place <= last) return -1;
          last = place;
        }
      }
      json[out++] = closingBrace;
      // What follows could still belong to this entry, or mean something to the text before it.
      const next = bytes[at];
      if (next === lineFeed || next === hash || next === blank) return -1;
      end(start);
      return at;
    },
  };
}
