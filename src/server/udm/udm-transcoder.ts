/** Writes a number below 2^32 as a varint. @returns where the next byte goes. */
export function writeVarint(value: number, into: Uint8Array, start: number): number {
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

/** Bytes of a number below 2^32 as a varint. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/**
 * Makes the message udm.v1.Udm of the JSON text that an entry is kept as ({@link udmJson}: its fields in their order, no blanks),
 * bytes into bytes. It believes that the text is such a one.
 */
export interface UdmTranscoder {
  /** Bytes of the message of the text from `start` on. */
  size(json: Uint8Array, start: number): number;
  /**
   * Writes the message. What lies behind it within {@link mostMessageBytes} may be written over.
   *
   * @returns where the next byte goes.
   */
  write(json: Uint8Array, start: number, into: Uint8Array, to: number): number;
}

/** What writing the messages of texts of this many bytes may need. A message is shorter than its text, unless it is full of long strings. */
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

// How far the value's first character is from the comma before the field's name; strings begin behind their quote.
const keyAt = '{"key":"'.length;
const nameAt = ',"name":"'.length;
const tagsAt = ',"tags":["'.length;
const vlanAt = ',"vlan":"'.length;
const internalLength = ',"internal":true'.length;
const metadataAt = ',"metadata":{"'.length;

/** Numbers of this many digits are below 2^31. */
const shortDigits = 9;

export function createUdmTranscoder(): UdmTranscoder {
  let from: Uint8Array = new Uint8Array(0);
  let out: Uint8Array = from;
  /** The next byte of the text, and of the message. */
  let at = 0;
  let to = 0;

  /** Bytes in UTF-8 of the string that is here; its closing quote is passed. */
  const measure = (): number => {
    const begin = at;
    let saved = 0;
    for (;;) {
      const byte = from[at++];
      if (byte === quote) return at - 1 - begin - saved;
      if (byte !== backslash) continue;
      const size = from[at] === letter("u") ? unicodeSize(unitAt(from, at + 1)) : 1;
      const length = from[at] === letter("u") ? 6 : 2;
      at += length - 1;
      saved += length - size;
    }
  };

  /** Writes the string that is here as a field. */
  const writeString = (tag: number): void => {
    out[to] = tag;
    // Most lengths take one byte.
    const start = to + 2;
    to = start;
    for (;;) {
      const byte = from[at++] as number;
      if (byte === quote) break;
      if (byte === backslash) writeEscape();
      else out[to++] = byte;
    }
    closeLength(start, 1);
  };

  const writeEscape = (): void => {
    const escape = from[at++] as number;
    if (escape !== letter("u")) {
      out[to++] = escaped[escape] as number;
      return;
    }
    const unit = unitAt(from, at);
    at += 4;
    if (unit < 0x80) out[to++] = unit;
    else if (unit < 0x800) {
      out[to++] = 0xc0 | (unit >> 6);
      out[to++] = 0x80 | (unit & 63);
    } else {
      // Half of a pair, which is escaped only when it stands alone, has no form in UTF-8.
      const shown = (unit & 0xf800) === 0xd800 ? 0xfffd : unit;
      out[to++] = 0xe0 | (shown >> 12);
      out[to++] = 0x80 | ((shown >> 6) & 63);
      out[to++] = 0x80 | (shown & 63);
    }
  };

  /** Writes the length of what goes from `start` to here into the `reserved` bytes before it, and moves it where they do not fit. */
  const closeLength = (start: number, reserved: number): number => {
    const length = to - start;
    const needed = varintSize(length);
    if (needed !== reserved) {
      out.copyWithin(start + needed - reserved, start, to);
      to += needed - reserved;
    }
    writeVarint(length, out, start - reserved);
    return needed;
  };

  const digits = (): string => {
    let text = "";
    for (; from[at] !== quote; at++) text += String.fromCharCode(from[at] as number);
    at++;
    return text;
  };

  /** The vlan that is here, whose digits are passed; below 2^31 as a number. */
  const readVlan = (): number | bigint => {
    const start = at;
    let value = 0;
    for (; from[at] !== quote; at++) value = 10 * value + (from[at] as number) - zero;
    if (at++ - start <= shortDigits) return value;
    at = start;
    return BigInt(digits());
  };

  const writeVlan = (): void => {
    out[to++] = vlanTag;
    const vlan = readVlan();
    if (typeof vlan === "number") {
      to = writeVarint(vlan, out, to);
      return;
    }
    let rest = vlan;
    for (; rest > 0x7fn; rest >>= 7n) out[to++] = Number(rest & 0x7fn) | 0x80;
    out[to++] = Number(rest);
  };

  const writeMetadata = (): void => {
    let reserved = 1;
    for (;;) {
      out[to] = metadataTag;
      const start = to + 1 + reserved;
      to = start;
      writeString(mapKeyTag);
      at += 2;
      writeString(mapValueTag);
      reserved = closeLength(start, reserved);
      if (from[at] !== comma) return;
      at += 2;
    }
  };

  const measureMetadata = (): number => {
    let size = 0;
    for (;;) {
      const key = fieldSize(measure());
      at += 2;
      size += fieldSize(key + fieldSize(measure()));
      if (from[at] !== comma) return size;
      at += 2;
    }
  };

  return {
    size(json, start) {
      from = json;
      at = start + keyAt;
      let size = fieldSize(measure());
      while (from[at] !== closingBrace) {
        switch (from[at + 2] as number) {
          case letter("n"):
            at += nameAt;
            size += fieldSize(measure());
            break;
          case letter("t"):
            at += tagsAt;
            size += fieldSize(measure());
            for (; from[at] !== closingBracket;) {
              at += 2;
              size += fieldSize(measure());
            }
            at++;
            break;
          case letter("v"): {
            at += vlanAt;
            const vlan = readVlan();
            size += 1 + (typeof vlan === "number" ? varintSize(vlan) : varint64Size(vlan));
            break;
          }
          case letter("i"):
            at += internalLength;
            size += 2;
            break;
          default:
            at += metadataAt;
            size += measureMetadata();
            at++;
        }
      }
      return size;
    },

    write(json, start, into, first) {
      from = json;
      out = into;
      at = start + keyAt;
      to = first;
      writeString(keyTag);
      while (from[at] !== closingBrace) {
        switch (from[at + 2] as number) {
          case letter("n"):
            at += nameAt;
            writeString(nameTag);
            break;
          case letter("t"):
            at += tagsAt;
            writeString(tagsTag);
            for (; from[at] !== closingBracket;) {
              at += 2;
              writeString(tagsTag);
            }
            at++;
            break;
          case letter("v"):
            at += vlanAt;
            writeVlan();
            break;
          case letter("i"):
            at += internalLength;
            out[to++] = internalTag;
            out[to++] = 1;
            break;
          default:
            at += metadataAt;
            writeMetadata();
            at++;
        }
      }
      return to;
    },
  };
}

/** By what stands behind the backslash. */
const escaped = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [name, value] of ["b\b", "f\f", "n\n", "r\r", "t\t"])
  escaped[letter(name as string)] = letter(value as string);

/** Bytes of a field of the wire type LEN, with a tag of one byte. */
function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

function varint64Size(value: bigint): number {
  let size = 1;
  for (let rest = value; rest > 0x7fn; rest >>= 7n) size++;
  return size;
}

/** The four hexadecimal digits here. */
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
