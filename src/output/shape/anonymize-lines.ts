import { createCipheriv } from "node:crypto";
import {
  type Address,
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  parseKey,
  unmapAddress,
} from "../../base/ip/index.ts";
import { LineWalker, type ShapeLines, copyBytes } from "../../record/index.ts";

/** A cache of short texts and their replacements. A text is forgotten when others need its slot. */
interface RecentTexts {
  /**
   * Writes the replacement of a text.
   *
   * @param from ASCII.
   * @returns the end of the replacement; -1: the text stays.
   */
  replace(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number;
}

/** The longest text, and the longest replacement, bytes. */
const longestText = 45;

/* A slot:   length, length of the replacement (0: the text stays) | text | replacement */
const textAt = 2;
const otherAt = textAt + longestText;
const slotBytes = otherAt + longestText;

/**
 * @param slots a power of two. Each takes 92 bytes once it is used.
 * @param find returns the replacement of a text that is not cached; undefined: it stays. Neither may be empty.
 */
function createRecentTexts(slots: number, find: (text: string) => string | undefined): RecentTexts {
  // Do not fill it: the system supplies zeros, and untouched memory takes none.
  const table = Buffer.from(new ArrayBuffer(slots * slotBytes));

  const holds = (slot: number, from: Uint8Array, start: number, length: number): boolean => {
    if (table[slot] !== length) return false;
    const by = slot + textAt - start;
    for (let i = start; i < start + length; i++) if (table[i + by] !== from[i]) return false;
    return true;
  };

  const put = (slot: number, text: string, other: string | undefined): void => {
    table[slot] = text.length;
    table[slot + 1] = other?.length ?? 0;
    table.write(text, slot + textAt, "latin1");
    if (other !== undefined) table.write(other, slot + otherAt, "latin1");
  };

  return {
    replace(from, start, end, to, at) {
      let hash = 0;
      for (let i = start; i < end; i++) hash = Math.imul(hash ^ (from[i] as number), 0x01000193);
      hash ^= hash >>> 15;
      // A text lies in one of two slots next to each other.
      let slot = (hash & (slots - 1)) * slotBytes;
      const length = end - start;
      if (!holds(slot, from, start, length)) {
        const second = ((hash & (slots - 1)) ^ 1) * slotBytes;
        if (holds(second, from, start, length)) slot = second;
        else {
          const text = Buffer.from(from.buffer, from.byteOffset + start, length).toString("latin1");
          const other = find(text);
          if (other !== undefined && other.length > longestText) throw new Error(`${other} is too long to be kept`);
          if (table[slot] !== 0 && (table[second] === 0 || (hash & 0x4000_0000) !== 0)) slot = second;
          put(slot, text, other);
        }
      }
      const otherLength = table[slot + 1] as number;
      if (otherLength === 0) return -1;
      const by = slot + otherAt - at;
      for (let i = at; i < at + otherLength; i++) to[i] = table[i + by] as number;
      return at + otherLength;
    },
  };
}

/** Bytes of a key: the first half is that of the cipher, the second makes the padding. */
export const cryptoPanKeyBytes = 32;

/** Replaces an address by another of its family. */
type AnonymizeAddress = (address: Address) => Address;

const blockBytes = 16;
const wordsOfBlock = 4;
const wordBits = 32;

/** Masks for the first n bits of a word in network order; little-endian like all processors that Node runs on. */
const masks = Int32Array.from({ length: wordBits }, (_, bits) => swapped(bits === 0 ? 0 : -1 << (wordBits - bits)));

/**
 * Returns Crypto-PAn (Xu, Fan, Ammar, Moon: "Prefix-Preserving IP Address Anonymization", 2002) with AES-128. The cipher encrypts all bits
 * before each bit, filled up with the padding, and its first bit decides whether the bit is flipped. Two addresses that share their first n
 * bits do so afterwards. IPv6 works likewise with 128 bits.
 *
 * @param key {@link cryptoPanKeyBytes}.
 */
export function createCryptoPan(key: Uint8Array): AnonymizeAddress {
  if (key.length !== cryptoPanKeyBytes) throw new RangeError(`a key has ${cryptoPanKeyBytes} bytes, not ${key.length}`);
  const cipher = createCipheriv("aes-128-ecb", key.subarray(0, blockBytes), null).setAutoPadding(false);
  const padding = Int32Array.from(wordsOf(cipher.update(key.subarray(blockBytes))));
  // Use one block for each bit: they are independent, so one call of the cipher does for an address.
  const blocks = new Int32Array(128 * wordsOfBlock);
  const input = Buffer.from(blocks.buffer);
  const own = new Int32Array(wordsOfBlock);

  const fill = (bits: number): void => {
    for (let bit = 0, at = 0; bit < bits; bit++, at += wordsOfBlock) {
      const whole = bit >>> 5;
      const mask = masks[bit & 31] as number;
      for (let i = 0; i < wordsOfBlock; i++) blocks[at + i] = (i < whole ? own[i] : padding[i]) as number;
      blocks[at + whole] = ((own[whole] as number) & mask) | ((padding[whole] as number) & ~mask);
    }
  };
  return ({ family, value }) => {
    const bits = family === 4 ? 32 : 128;
    for (let i = 0, shift = bits; shift > 0; i++) {
      shift -= wordBits;
      own[i] = swapped(Number(BigInt.asIntN(wordBits, value >> BigInt(shift))));
    }
    fill(bits);
    const output = cipher.update(input.subarray(0, bits * blockBytes));
    let turned = 0n;
    for (let from = 0; from < bits; from += wordBits) {
      let word = 0;
      for (let bit = from; bit < from + wordBits; bit++) {
        word = (word << 1) | ((output[bit * blockBytes] as number) >>> 7);
      }
      turned = (turned << 32n) | BigInt(word >>> 0);
    }
    return { family, value: value ^ turned };
  };
}

function wordsOf(bytes: Buffer): number[] {
  return Array.from({ length: wordsOfBlock }, (_, i) => bytes.readInt32LE(4 * i));
}

function swapped(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}

/** Returns a function that cuts addresses to their first bits. */
export function cutAddresses(ipv4Bits: number, ipv6Bits: number): AnonymizeAddress {
  return ({ family, value }) => {
    const cut = BigInt(family === 4 ? 32 - ipv4Bits : 128 - ipv6Bits);
    return { family, value: (value >> cut) << cut };
  };
}

/** The prefixes of RFC 1918, RFC 6598, RFC 4193, link-local, and loopback (RFC 6890). */
const privatePrefixes = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "127.0.0.0/8",
  "fc00::/7",
  "fe80::/10",
  "::1",
].map(parseKey);

/** Returns the replacement of a text that may be an address; undefined: it is not one, or stays. */
type AnonymizeText = (text: string) => string | undefined;

/**
 * Returns a function that replaces addresses. An IPv4-mapped address is treated as the IPv4 address, and the address within a route
 * distinguisher (`192.0.2.1:5`) as an address. The unspecified address means "none", and stays.
 */
export function anonymizeTexts(anonymize: AnonymizeAddress, keepsPrivate: boolean): AnonymizeText {
  const isKept = (address: Address): boolean => {
    if (address.value === 0n) return true;
    const key = addressKey(address);
    return keepsPrivate && privatePrefixes.some((prefix) => keyContains(prefix, key));
  };
  const anonymizeText: AnonymizeText = (text) => {
    const said = parseAddress(text);
    if (said === undefined) {
      const [, address = "", rest = ""] = /^([0-9.]+)(:[0-9]+)$/.exec(text) ?? [];
      const within = address === "" ? undefined : anonymizeText(address);
      return within === undefined ? undefined : within + rest;
    }
    const address = unmapAddress(said);
    if (isKept(address)) return undefined;
    const changed = formatAddress(anonymize(address));
    return address.family === said.family ? changed : `::ffff:${changed}`;
  };
  return anonymizeText;
}

export interface AnonymizeLinesOptions {
  readonly anonymize: AnonymizeText;
  /** The number of addresses that are cached with their replacements; a power of two. */
  readonly maxRecent: number;
  /** True if addresses of exporters stay: those below `flow.export`. */
  readonly keepsExporter: boolean;
  /** Replaces an identifier of sixteen hexadecimal digits; absent: these fields are left out. */
  readonly anonymizeId?: ((id: string) => string) | undefined;
  /** Called with the counts for some lines. */
  readonly count: (done: AnonymizedCounts) => void;
}

export interface AnonymizedCounts {
  /** The number of addresses that were replaced, and of those that were not cached. */
  readonly addresses: number;
  readonly computed: number;
  /** The number of fields that were left out. */
  readonly fields: number;
}

const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const dot = 0x2e;
const colon = 0x3a;

/** The shortest text of an address. */
const minText = 2;
/** The greatest growth of an address: `"::1"` may become forty characters. */
const maxGrowth = 9;
/** Bytes that a copy may write past its end. */
const slack = 3;

const exporterPrefix = "flow.export.";
const hexPrefixes = ["flow.hex.", "flow.ie."];
const hexValue = Buffer.from('"0x');
const hexInList = Buffer.from('["0x');
/** The field of an identifier made of addresses, from which trial and error can find them. */
const communityId = "flow.community.id";
const ids: ReadonlySet<string> = new Set(["flow.conversation.id", "flow.session.id"]);

/** The treatment of a field's texts. `bytes`: the field is left out if they are bytes in hex. */
type Use = "addresses" | "bytes" | "id" | "leave out";

/**
 * Returns a function that replaces every text of a line that is an address, whatever its field is called, also in arrays. Fields of bytes in
 * hex, which may contain addresses, are left out. Identifiers made of addresses are replaced or left out.
 */
export function createAnonymizeLines(options: AnonymizeLinesOptions): ShapeLines {
  const { anonymize, keepsExporter, anonymizeId, count } = options;
  const useOf = (name: string): Use | undefined => {
    if (keepsExporter && name.startsWith(exporterPrefix)) return undefined;
    if (ids.has(name)) return anonymizeId === undefined ? "leave out" : "id";
    if (name === communityId) return "leave out";
    return hexPrefixes.some((prefix) => name.startsWith(prefix)) ? "bytes" : "addresses";
  };
  const walker = new LineWalker(useOf);
  const recent = createRecentTexts(options.maxRecent, (text) => {
    const found = anonymize(text);
    if (found !== undefined) computed++;
    return found;
  });
  let from: Buffer = Buffer.alloc(0);
  let fromView = viewOf(from);
  let to = Buffer.alloc(0);
  let toView = viewOf(to);
  /** The offset up to which the line was copied, and the end of the copy. */
  let copied = 0;
  let end = 0;
  let addresses = 0;
  let computed = 0;
  let fields = 0;

  const reserve = (bytes: number): void => {
    if (to.length - end >= bytes + slack) return;
    const larger = Buffer.allocUnsafeSlow(2 * (end + bytes + slack));
    to.copy(larger, 0, 0, end);
    to = larger;
    toView = viewOf(to);
  };

  const copyUpTo = (at: number): void => {
    end = copyBytes(fromView, copied, at, toView, end);
    copied = at;
  };

  /** Replaces a text, without its quotes, if it is an address. */
  const putText = (start: number, textEnd: number): void => {
    if (!mayBeAddress(from, start, textEnd)) return;
    copyUpTo(start);
    const replaced = recent.replace(from, start, textEnd, to, end);
    if (replaced < 0) return;
    end = replaced;
    copied = textEnd;
    addresses++;
  };

  const putList = (value: number, valueEnd: number): void => {
    for (let at = value; at < valueEnd; at++) {
      if (from[at] !== quote) continue;
      const last = endOfText(from, at + 1);
      putText(at + 1, last);
      at = last;
    }
  };

  const leaveOut = (name: number, valueEnd: number): void => {
    copyUpTo(name);
    // Remove one comma with the field: the one after it, or for the last field the one before it.
    const isLast = from[valueEnd] !== comma;
    if (isLast && to[end - 1] === comma) end--;
    copied = isLast ? valueEnd : valueEnd + 1;
    fields++;
  };

  const visit = (use: Use, name: number, value: number, valueEnd: number): void => {
    const first = from[value];
    if (first !== quote && first !== bracket) return;
    if (use === "leave out" || (use === "bytes" && isHex(from, value))) leaveOut(name, valueEnd);
    else if (use === "id" && anonymizeId !== undefined) {
      copyUpTo(value + 1);
      end += to.write(anonymizeId(from.toString("latin1", value + 1, valueEnd - 1)), end, "latin1");
      copied = valueEnd - 1;
    } else if (first === quote) putText(value + 1, valueEnd - 1);
    else putList(value, valueEnd);
  };

  return (lines, records) => {
    from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    fromView = viewOf(from);
    copied = end = addresses = computed = fields = 0;
    for (let at = 0, lineEnd = 0; at < from.length; at = lineEnd) {
      lineEnd = from.indexOf(0x0a, at) + 1 || from.length;
      reserve(maxGrowth * (lineEnd - at));
      walker.walk(from, at, lineEnd, visit);
      copyUpTo(lineEnd);
    }
    count({ addresses, computed, fields });
    return { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, end).buffer), count: records };
  };
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

function isHex(from: Buffer, value: number): boolean {
  return startsWith(from, value, hexValue) || startsWith(from, value, hexInList);
}

function startsWith(from: Buffer, at: number, beginning: Buffer): boolean {
  for (let i = 0; i < beginning.length; i++) if (from[at + i] !== beginning[i]) return false;
  return true;
}

/** Returns the offset of the quote that ends a text. */
function endOfText(from: Buffer, at: number): number {
  while (at < from.length && from[at] !== quote) at += from[at] === 0x5c ? 2 : 1;
  return at;
}

/** Reports whether a text has only the characters of addresses, and is not a MAC address. */
function mayBeAddress(from: Buffer, start: number, end: number): boolean {
  const length = end - start;
  if (length < minText || length > longestText) return false;
  let separators = 0;
  for (let at = start; at < end; at++) {
    const byte = from[at] as number;
    if (byte === dot || byte === colon) separators++;
    else if (!isHexDigit(byte)) return false;
  }
  const isMac = length === 17 && from[start + 2] === colon && from[start + 5] === colon && separators === 5;
  return separators > 1 && !isMac;
}

function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
