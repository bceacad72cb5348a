/** Writes a number below 2^32 as a varint. @returns the position of the next byte. */
export function writeVarint(value: number, into: Uint8Array, start: number): number {
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

/** Returns the bytes of a number below 2^32 as a varint. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/**
 * Returns the most bytes that the messages of texts of this size need. A message is shorter than its text, unless it has many
 * long strings.
 */
export function mostMessageBytes(jsonBytes: number): number {
  return jsonBytes + (jsonBytes >>> 5) + 64;
}

// Tags of the fields of udm.v1.Udm and of its map entries: (number << 3) | wire type.
const keyTag = 0x0a;
const nameTag = 0x12;
const tagsTag = 0x1a;
const vlanTag = 0x20;
const internalTag = 0x28;
const metadataTag = 0x32;
const mapKeyTag = 0x0a;
const mapValueTag = 0x12;

const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const backslash = 0x5c;
const closingBracket = 0x5d;
const closingBrace = 0x7d;
const letter = (text: string): number => text.charCodeAt(0);

// The distance between the comma before the field's name and the value's first character. Strings begin after their quote.
const keyAt = '{"key":"'.length;
const nameAt = ',"name":"'.length;
const tagsAt = ',"tags":["'.length;
const vlanAt = ',"vlan":"'.length;
const internalLength = ',"internal":true'.length;
const metadataAt = ',"metadata":{"'.length;

/** Numbers of this many digits are below 2^31. */
const shortDigits = 9;

/**
 * Converts the stored JSON text of an entry ({@link udmJson}: fields in order, no blanks) to the message udm.v1.Udm,
 * from bytes to bytes. It does not check that the text has this form.
 */
export class UdmTranscoder {
  #from: Uint8Array = new Uint8Array(0);
  #out: Uint8Array = this.#from;
  /** The next position in the text. */
  #at = 0;
  /** The next position in the message. */
  #to = 0;

  /** Returns the bytes of the message for the text from `start` on. */
  size(json: Uint8Array, start: number): number {
    this.#from = json;
    this.#at = start + keyAt;
    let size = fieldSize(this.#measure());
    while (this.#from[this.#at] !== closingBrace) {
      switch (this.#from[this.#at + 2] as number) {
        case letter("n"):
          this.#at += nameAt;
          size += fieldSize(this.#measure());
          break;
        case letter("t"):
          this.#at += tagsAt;
          size += fieldSize(this.#measure());
          for (; this.#from[this.#at] !== closingBracket;) {
            this.#at += 2;
            size += fieldSize(this.#measure());
          }
          this.#at++;
          break;
        case letter("v"): {
          this.#at += vlanAt;
          const vlan = this.#readVlan();
          size += 1 + (typeof vlan === "number" ? varintSize(vlan) : varint64Size(vlan));
          break;
        }
        case letter("i"):
          this.#at += internalLength;
          size += 2;
          break;
        default:
          this.#at += metadataAt;
          size += this.#measureMetadata();
          this.#at++;
      }
    }
    return size;
  }

  /**
   * Writes the message. Bytes after it, within {@link mostMessageBytes}, may be overwritten.
   *
   * @returns the position of the next byte.
   */
  write(json: Uint8Array, start: number, into: Uint8Array, first: number): number {
    this.#from = json;
    this.#out = into;
    this.#at = start + keyAt;
    this.#to = first;
    this.#writeString(keyTag);
    while (this.#from[this.#at] !== closingBrace) {
      switch (this.#from[this.#at + 2] as number) {
        case letter("n"):
          this.#at += nameAt;
          this.#writeString(nameTag);
          break;
        case letter("t"):
          this.#at += tagsAt;
          this.#writeString(tagsTag);
          for (; this.#from[this.#at] !== closingBracket;) {
            this.#at += 2;
            this.#writeString(tagsTag);
          }
          this.#at++;
          break;
        case letter("v"):
          this.#at += vlanAt;
          this.#writeVlan();
          break;
        case letter("i"):
          this.#at += internalLength;
          this.#out[this.#to++] = internalTag;
          this.#out[this.#to++] = 1;
          break;
        default:
          this.#at += metadataAt;
          this.#writeMetadata();
          this.#at++;
      }
    }
    return this.#to;
  }

  /** Measures the string at this position in bytes of UTF-8, and skips its closing quote. */
  #measure(): number {
    const begin = this.#at;
    let saved = 0;
    for (;;) {
      const byte = this.#from[this.#at++];
      if (byte === quote) return this.#at - 1 - begin - saved;
      if (byte !== backslash) continue;
      const size = this.#from[this.#at] === letter("u") ? unicodeSize(unitAt(this.#from, this.#at + 1)) : 1;
      const length = this.#from[this.#at] === letter("u") ? 6 : 2;
      this.#at += length - 1;
      saved += length - size;
    }
  }

  /** Writes the string at this position as a field. */
  #writeString(tag: number): void {
    this.#out[this.#to] = tag;
    // Most lengths take one byte.
    const start = this.#to + 2;
    this.#to = start;
    for (;;) {
      const byte = this.#from[this.#at++] as number;
      if (byte === quote) break;
      if (byte === backslash) this.#writeEscape();
      else this.#out[this.#to++] = byte;
    }
    this.#closeLength(start, 1);
  }

  #writeEscape(): void {
    const escape = this.#from[this.#at++] as number;
    if (escape !== letter("u")) {
      this.#out[this.#to++] = escaped[escape] as number;
      return;
    }
    const unit = unitAt(this.#from, this.#at);
    this.#at += 4;
    if (unit < 0x80) this.#out[this.#to++] = unit;
    else if (unit < 0x800) {
      this.#out[this.#to++] = 0xc0 | (unit >> 6);
      this.#out[this.#to++] = 0x80 | (unit & 63);
    } else {
      // Half of a surrogate pair, which is escaped only when it is alone, has no form in UTF-8.
      const shown = (unit & 0xf800) === 0xd800 ? 0xfffd : unit;
      this.#out[this.#to++] = 0xe0 | (shown >> 12);
      this.#out[this.#to++] = 0x80 | ((shown >> 6) & 63);
      this.#out[this.#to++] = 0x80 | (shown & 63);
    }
  }

  /** Writes the length of the bytes from `start` to here into the `reserved` bytes before them, and moves the bytes if the length does not fit. */
  #closeLength(start: number, reserved: number): number {
    const length = this.#to - start;
    const needed = varintSize(length);
    if (needed !== reserved) {
      this.#out.copyWithin(start + needed - reserved, start, this.#to);
      this.#to += needed - reserved;
    }
    writeVarint(length, this.#out, start - reserved);
    return needed;
  }

  #digits(): string {
    let text = "";
    for (; this.#from[this.#at] !== quote; this.#at++) text += String.fromCharCode(this.#from[this.#at] as number);
    this.#at++;
    return text;
  }

  /** Reads the VLAN at this position and skips its digits. Below 2^31 it is a number. */
  #readVlan(): number | bigint {
    const start = this.#at;
    let value = 0;
    for (; this.#from[this.#at] !== quote; this.#at++) value = 10 * value + (this.#from[this.#at] as number) - zero;
    if (this.#at++ - start <= shortDigits) return value;
    this.#at = start;
    return BigInt(this.#digits());
  }

  #writeVlan(): void {
    this.#out[this.#to++] = vlanTag;
    const vlan = this.#readVlan();
    if (typeof vlan === "number") {
      this.#to = writeVarint(vlan, this.#out, this.#to);
      return;
    }
    let rest = vlan;
    for (; rest > 0x7fn; rest >>= 7n) this.#out[this.#to++] = Number(rest & 0x7fn) | 0x80;
    this.#out[this.#to++] = Number(rest);
  }

  #writeMetadata(): void {
    let reserved = 1;
    for (;;) {
      this.#out[this.#to] = metadataTag;
      const start = this.#to + 1 + reserved;
      this.#to = start;
      this.#writeString(mapKeyTag);
      this.#at += 2;
      this.#writeString(mapValueTag);
      reserved = this.#closeLength(start, reserved);
      if (this.#from[this.#at] !== comma) return;
      this.#at += 2;
    }
  }

  #measureMetadata(): number {
    let size = 0;
    for (;;) {
      const key = fieldSize(this.#measure());
      this.#at += 2;
      size += fieldSize(key + fieldSize(this.#measure()));
      if (this.#from[this.#at] !== comma) return size;
      this.#at += 2;
    }
  }
}

/** The escaped characters, by the character after the backslash. */
const escaped = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [name, value] of ["b\b", "f\f", "n\n", "r\r", "t\t"])
  escaped[letter(name as string)] = letter(value as string);

/** Returns the bytes of a field of wire type LEN, with a tag of one byte. */
function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

function varint64Size(value: bigint): number {
  let size = 1;
  for (let rest = value; rest > 0x7fn; rest >>= 7n) size++;
  return size;
}

/** Reads the four hexadecimal digits at this position. */
function unitAt(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at; i < at + 4; i++) {
    const digit = bytes[i] as number;
    unit = unit * 16 + (digit <= 0x39 ? digit - zero : (digit | 0x20) - letter("a") + 10);
  }
  return unit;
}

function unicodeSize(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x800 ? 2 : 3;
}
