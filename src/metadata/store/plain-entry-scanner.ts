import { parseKey, type Family, type Key } from "../../base/ip/index.ts";
import { KeyScanner, type KeyWords } from "../index/key-limbs.ts";
import type { RenderedTexts } from "../index/entry-block.ts";
import { stringScalar } from "../../base/yaml/index.ts";

// These constants describe the parts of entries in the file, for the reader of bytes.

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

/** The most bytes of an entry up to its last item. The YAML of flow lists is up to four times as long. */
const longestEntry = 8 * 1024;
const yamlRoom = 64 * 1024;
const jsonRoom = 128 * 1024;
const maxPairs = 32;
/** The most characters of names, tags, metadata names (short enough to be written plain) and metadata values. */
const maxText = 255;
const maxName = 255;
const maxValue = 4096;
/** The length of the longest text that some reader takes for a Boolean or null. */
const longestReserved = 5;
/** The letter `e`. Some readers take it as part of a float where any number of digits follows. */
const letterE = 0x65;

/** The first letters of texts that some reader takes for a Boolean, null, or a float (the letter after a dot). */
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

/** The classes of characters in a plain scalar: not as the first, anywhere, and one with which it stays plain as the first. */
const inner = 1;
const safe = 2;
const letter = 3;
const kinds = new Uint8Array(256);
for (const sign of "-@") kinds[sign.charCodeAt(0)] = inner;
for (const sign of "0123456789./()") kinds[sign.charCodeAt(0)] = safe;
for (const sign of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") kinds[sign.charCodeAt(0)] = letter;

/** Makes the texts of entries from YAML, directly from bytes to bytes. */
export class PlainEntryScanner implements RenderedTexts {
  readonly #bytes: Buffer;
  readonly #keys: KeyScanner;
  readonly #json = Buffer.alloc(jsonRoom);
  readonly words = new Int32Array(this.#json.buffer, this.#json.byteOffset, jsonRoom / 4);
  /** The text that {@link renderEntry} writes. */
  readonly #yaml = Buffer.alloc(yamlRoom);
  /** The offsets in the JSON of the entry's metadata names. */
  readonly #nameStarts = new Int32Array(maxPairs);
  readonly #nameEnds = new Int32Array(maxPairs);
  #at = 0;
  #out = 0;
  #yamlOut = 0;
  #jsonBytes = 0;
  #isAsWritten = true;
  #keyStart = 0;
  #keyEnd = 0;
  #limit = 0;
  readonly key: KeyWords;

  /**
   * Creates the fast half of {@link createPlainReader}, for most entries: fields in order, ASCII, no escapes, no comments.
   *
   * @param bytes UTF-8. They must not change while they are read.
   */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#keys = new KeyScanner(bytes);
    this.key = this.#keys.words;
  }

  /** Reports whether the key is a prefix that covers more than what it seems to. */
  hasHostBits(): boolean {
    return this.#keys.hasHostBits();
  }

  parsedKey(): Key {
    return parseKey(this.#bytes.toString("latin1", this.#keyStart, this.#keyEnd));
  }

  /** Returns the address family of the key that was read last. */
  get family(): Family {
    return this.#keys.family;
  }

  get jsonBytes(): number {
    return this.#jsonBytes;
  }

  get yamlBytes(): number {
    return this.#yamlOut;
  }

  /** Reports whether its bytes are what {@link renderEntry} writes for it. */
  get isAsWritten(): boolean {
    return this.#isAsWritten;
  }

  /**
   * Reads the entry that starts here.
   *
   * @returns the offset after it, or -1 for an entry that the plain reader must read. An accepted entry breaks no rule
   *   for values and has no file-only fields.
   */
  scan(start: number): number {
    this.#at = start;
    this.#out = 0;
    this.#yamlOut = 0;
    this.#limit = start + longestEntry;
    if (!this.#keyOf(start)) return -1;
    if (this.#isHere(emptyEntry)) {
      this.#at += emptyEntry.length;
      this.#putYaml(emptyEntry);
    } else {
      if (this.#bytes[this.#at++] !== lineFeed || this.#bytes[this.#at] !== blank) return -1;
      this.#yaml[this.#yamlOut++] = lineFeed;
      let last = 0;
      while (this.#bytes[this.#at] === blank) {
        if (this.#bytes[this.#at + 1] !== blank) return -1;
        const place = this.#field();
        if (place <= last) return -1;
        last = place;
      }
    }
    this.#json[this.#out++] = closingBrace;
    // The following text could still belong to this entry, or change the meaning of the text before it.
    const next = this.#bytes[this.#at];
    if (next === lineFeed || next === hash || next === blank) return -1;
    this.#end(start);
    return this.#at;
  }

  #put(text: Uint8Array): void {
    for (let i = 0; i < text.length; i++) this.#json[this.#out++] = text[i] as number;
  }

  #copy(from: number, to: number): void {
    for (let i = from; i < to; i++) this.#json[this.#out++] = this.#bytes[i] as number;
  }

  #putYaml(text: Uint8Array): void {
    for (let i = 0; i < text.length; i++) this.#yaml[this.#yamlOut++] = text[i] as number;
  }

  /** Writes the last JSON string as YAML, without its quotes if it is plain. */
  #putYamlScalar(from: number, isPlain: boolean): void {
    const start = isPlain ? from + 1 : from;
    const end = isPlain ? this.#out - 1 : this.#out;
    for (let i = start; i < end; i++) this.#yaml[this.#yamlOut++] = this.#json[i] as number;
  }

  #isHere(text: Uint8Array): boolean {
    for (let i = 0; i < text.length; i++) if (this.#bytes[this.#at + i] !== text[i]) return false;
    return true;
  }

  #skip(text: Uint8Array): boolean {
    if (!this.#isHere(text)) return false;
    this.#at += text.length;
    return true;
  }

  /** Reports whether a text of safe characters would be written plain. */
  #isWrittenPlain(start: number, end: number): boolean {
    const hasDot = this.#bytes[start] === dot;
    const first = this.#bytes[hasDot ? start + 1 : start] as number;
    if (kinds[first] !== letter) return false;
    if (!hasDot && end - start > longestReserved && (first | 0x20) !== letterE) return true;
    if (reservedStarts[first] === 0) return true;
    const text = this.#bytes.toString("latin1", start, end);
    return stringScalar(text) === text;
  }

  #plain(most: number, isInFlow: boolean): boolean {
    const start = this.#at;
    if (!((kinds[this.#bytes[start] as number] as number) >= safe)) return false;
    let i = start;
    let o = this.#out;
    let hasColon = false;
    this.#json[o++] = quote;
    for (; ; i++) {
      const byte = this.#bytes[i] as number;
      // After the last byte, the class is undefined.
      if (!((kinds[byte] as number) >= inner)) {
        if (byte === blank) {
          if (!((kinds[this.#bytes[i + 1] as number] as number) >= inner)) return false;
        } else if (byte === colon && !isInFlow) {
          if (!((kinds[this.#bytes[i + 1] as number] as number) >= inner)) return false;
          hasColon = true;
        } else break;
      }
      this.#json[o++] = byte;
    }
    const end = this.#bytes[i];
    if (isInFlow ? end !== comma && end !== closingBracket : end !== lineFeed) return false;
    if (i - start > most || this.#isNull(start, i)) return false;
    this.#json[o++] = quote;
    const from = this.#out;
    this.#at = i;
    this.#out = o;
    this.#putYamlScalar(from, !hasColon && this.#isWrittenPlain(start, i));
    return true;
  }

  #isNull(start: number, end: number): boolean {
    return (
      end - start === 4 &&
      ((this.#bytes[start] as number) | 0x20) === 0x6e &&
      ((this.#bytes[start + 3] as number) | 0x20) === 0x6c
    );
  }

  #quoted(most: number): boolean {
    const start = this.#at + 1;
    let i = start;
    let o = this.#out;
    /** True where there is a character that a plain text cannot have. */
    let isOdd = false;
    this.#json[o++] = quote;
    for (; ; i++) {
      const byte = this.#bytes[i] as number;
      if (byte === quote) break;
      if (!(byte >= blank && byte < 0x7f) || byte === backslash || i - start >= most) return false;
      if ((kinds[byte] as number) < inner && byte !== blank) isOdd = true;
      this.#json[o++] = byte;
    }
    this.#json[o++] = quote;
    const from = this.#out;
    this.#at = i + 1;
    this.#out = o;
    const written = isOdd ? "" : this.#bytes.toString("latin1", start, i);
    this.#putYamlScalar(from, written !== "" && stringScalar(written) === written);
    return true;
  }

  /** Reads the rest of this line as a text, and writes it as a JSON string. */
  #text(most: number): boolean {
    if (!(this.#bytes[this.#at] === quote ? this.#quoted(most) : this.#plain(most, false))) return false;
    this.#yaml[this.#yamlOut++] = lineFeed;
    return this.#bytes[this.#at++] === lineFeed;
  }

  #blockTags(): boolean {
    let isFirst = true;
    while (this.#isHere(itemStart)) {
      if (this.#at > this.#limit) return false;
      this.#at += itemStart.length;
      if (!isFirst) this.#json[this.#out++] = comma;
      isFirst = false;
      this.#putYaml(itemStart);
      if (this.#bytes[this.#at] === quote && this.#bytes[this.#at + 1] === quote) return false;
      if (!this.#text(maxText)) return false;
    }
    return !isFirst;
  }

  #flowTags(): boolean {
    do {
      if (this.#at > this.#limit) return false;
      this.#putYaml(itemStart);
      if (this.#bytes[this.#at] === comma) this.#json[this.#out++] = comma;
      this.#at++;
      while (this.#bytes[this.#at] === blank) this.#at++;
      if (!this.#plain(maxText, true)) return false;
      this.#yaml[this.#yamlOut++] = lineFeed;
    } while (this.#bytes[this.#at] === comma);
    this.#at++;
    return this.#bytes[this.#at++] === lineFeed;
  }

  #tags(): boolean {
    this.#put(tagsJson);
    this.#putYaml(tagsLine);
    if (this.#bytes[this.#at] === lineFeed) {
      this.#at++;
      if (!this.#blockTags()) return false;
    } else {
      if (this.#bytes[this.#at] !== blank || this.#bytes[this.#at + 1] !== openingBracket) return false;
      this.#at++;
      if (!this.#flowTags()) return false;
    }
    this.#json[this.#out++] = closingBracket;
    return true;
  }

  #vlan(): boolean {
    const start = this.#at;
    while ((this.#bytes[this.#at] as number) >= zero && (this.#bytes[this.#at] as number) <= nine) this.#at++;
    // Numbers of 20 digits may be too great.
    if (this.#at === start || this.#at - start > 19 || this.#bytes[start] === zero) return false;
    this.#put(vlanJson);
    this.#putYaml(vlanField);
    this.#copy(start, this.#at);
    this.#json[this.#out++] = quote;
    for (let i = start; i < this.#at; i++) this.#yaml[this.#yamlOut++] = this.#bytes[i] as number;
    this.#yaml[this.#yamlOut++] = lineFeed;
    return this.#bytes[this.#at++] === lineFeed;
  }

  /** Reads a metadata name: parts of safe characters, joined by dots. */
  #metadataName(): boolean {
    const start = this.#at;
    const first = this.#bytes[start] === dot ? start + 1 : start;
    if (kinds[this.#bytes[first] as number] !== letter) return false;
    let i = first;
    for (; ; i++) {
      const byte = this.#bytes[i] as number;
      if (!((kinds[byte] as number) >= inner)) break;
      if (byte === dot && this.#bytes[i + 1] === dot) return false;
    }
    if (this.#bytes[i] !== colon || this.#bytes[i + 1] !== blank || this.#bytes[i - 1] === dot || i - start > maxName)
      return false;
    const from = this.#out;
    this.#json[this.#out++] = quote;
    this.#copy(start, i);
    this.#json[this.#out++] = quote;
    this.#putYaml(pairStart);
    this.#putYamlScalar(from, this.#isWrittenPlain(start, i));
    this.#yaml[this.#yamlOut++] = colon;
    this.#yaml[this.#yamlOut++] = blank;
    this.#json[this.#out++] = colon;
    this.#at = i + 2;
    return true;
  }

  #isNameTwice(count: number): boolean {
    const start = this.#nameStarts[count] as number;
    const length = (this.#nameEnds[count] as number) - start;
    for (let n = 0; n < count; n++) {
      const other = this.#nameStarts[n] as number;
      if ((this.#nameEnds[n] as number) - other !== length) continue;
      let i = 0;
      while (i < length && this.#json[start + i] === this.#json[other + i]) i++;
      if (i === length) return true;
    }
    return false;
  }

  #metadata(): boolean {
    this.#put(metadataJson);
    this.#putYaml(metadataField);
    let count = 0;
    while (this.#isHere(pairStart) && this.#bytes[this.#at + pairStart.length] !== blank) {
      if (this.#at > this.#limit || count === maxPairs) return false;
      this.#at += pairStart.length;
      if (count > 0) this.#json[this.#out++] = comma;
      this.#nameStarts[count] = this.#out;
      if (!this.#metadataName()) return false;
      this.#nameEnds[count] = this.#out;
      if (this.#isNameTwice(count++) || !this.#text(maxValue)) return false;
    }
    this.#json[this.#out++] = closingBrace;
    return count > 0;
  }

  /** Reads the name of the field on this line. @returns its position among the fields; 0 for an unknown field. */
  #field(): number {
    switch (this.#bytes[this.#at + 2] ?? 0) {
      case 0x6e:
        if (!this.#skip(nameField)) return 0;
        this.#put(nameJson);
        this.#putYaml(nameField);
        if (this.#bytes[this.#at] === quote && this.#bytes[this.#at + 1] === quote) return 0;
        return this.#text(maxText) ? 1 : 0;
      case 0x74:
        return this.#skip(tagsField) && this.#tags() ? 2 : 0;
      case 0x76:
        return this.#skip(vlanField) && this.#vlan() ? 3 : 0;
      case 0x69:
        this.#put(internalJson);
        this.#putYaml(internalField);
        return this.#skip(internalField) ? 4 : 0;
      case 0x6d:
        return this.#skip(metadataField) && this.#metadata() ? 5 : 0;
      default:
        return 0;
    }
  }

  #keyOf(start: number): boolean {
    const isQuoted = this.#bytes[start] === quote;
    // The YAML library must read this key if it has no quotes.
    if (this.#bytes[start] === colon) return false;
    const from = isQuoted ? start + 1 : start;
    const end = this.#keys.scan(from);
    if (end < 0) return false;
    this.#keyStart = from;
    this.#keyEnd = end;
    this.#at = end;
    if (isQuoted && this.#bytes[this.#at++] !== quote) return false;
    if (this.#bytes[this.#at++] !== colon) return false;
    this.#put(keyJson);
    const before = this.#out - 1;
    this.#copy(from, end);
    this.#json[this.#out++] = quote;
    this.#putYamlScalar(before, this.#keys.family === 4);
    this.#yaml[this.#yamlOut++] = colon;
    return true;
  }

  /** Writes the YAML after the JSON. */
  #end(start: number): void {
    this.#jsonBytes = this.#out;
    this.#isAsWritten = this.#at - start === this.#yamlOut;
    for (let i = 0; i < this.#yamlOut; i++) {
      const byte = this.#yaml[i] as number;
      if (byte !== this.#bytes[start + i]) this.#isAsWritten = false;
      this.#json[this.#out++] = byte;
    }
  }
}
