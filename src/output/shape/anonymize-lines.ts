import { createLineWalker, type ShapeLines, copyBytes } from "../../record/index.ts";
import type { AnonymizeText } from "./anonymize-address.ts";
import { createRecentTexts, longestText } from "./recent-texts.ts";

export interface AnonymizeLinesOptions {
  readonly anonymize: AnonymizeText;
  /** How many addresses are remembered with what happens to them; a power of two. */
  readonly maxRecent: number;
  /** Whether the addresses of exporters stay: those below `flow.export`. */
  readonly keepsExporter: boolean;
  /** Gives an identifier of sixteen hexadecimal digits another one; left out: these fields are left out. */
  readonly anonymizeId?: ((id: string) => string) | undefined;
  /** Called with what was done for some lines. */
  readonly count: (done: AnonymizedCounts) => void;
}

export interface AnonymizedCounts {
  /** Addresses that were replaced, and of these those that were not known from before. */
  readonly addresses: number;
  readonly computed: number;
  /** Fields that were left out. */
  readonly fields: number;
}

const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const dot = 0x2e;
const colon = 0x3a;

/** The shortest text of an address. */
const minText = 2;
/** An address may become this many times longer: `"::1"` as many as forty characters. */
const maxGrowth = 9;
/** Copies may write behind their end. */
const slack = 3;

const exporterPrefix = "flow.export.";
const hexPrefixes = ["flow.hex.", "flow.ie."];
const hexValue = Buffer.from('"0x');
const hexInList = Buffer.from('["0x');
/** Made of the addresses, so that these can be found by trying. */
const communityId = "flow.community.id";
const ids: ReadonlySet<string> = new Set(["flow.conversation.id", "flow.session.id"]);

/** What is done with the texts of a field. `bytes`: it is left out if they are bytes in hex. */
type Use = "addresses" | "bytes" | "id" | "leave out";

/**
 * Replaces every text of a line that is an address, whatever its field is called, also in arrays. Bytes in hex, in which addresses may
 * be, are left out with their fields, and identifiers that are made of addresses are replaced or left out.
 */
export function createAnonymizeLines(options: AnonymizeLinesOptions): ShapeLines {
  const { anonymize, keepsExporter, anonymizeId, count } = options;
  const useOf = (name: string): Use | undefined => {
    if (keepsExporter && name.startsWith(exporterPrefix)) return undefined;
    if (ids.has(name)) return anonymizeId === undefined ? "leave out" : "id";
    if (name === communityId) return "leave out";
    return hexPrefixes.some((prefix) => name.startsWith(prefix)) ? "bytes" : "addresses";
  };
  const walker = createLineWalker(useOf);
  const recent = createRecentTexts(options.maxRecent, (text) => {
    const found = anonymize(text);
    if (found !== undefined) computed++;
    return found;
  });
  let from: Buffer = Buffer.alloc(0);
  let fromView = viewOf(from);
  let to = Buffer.alloc(0);
  let toView = viewOf(to);
  /** What was copied, and where the copy ends. */
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
    // One comma goes with the field: the one behind it, for the last field the one before it.
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

/** The place of the quote that ends a text. */
function endOfText(from: Buffer, at: number): number {
  while (at < from.length && from[at] !== quote) at += from[at] === 0x5c ? 2 : 1;
  return at;
}

/** Whether a text has nothing but what addresses consist of, and is no MAC address. */
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
