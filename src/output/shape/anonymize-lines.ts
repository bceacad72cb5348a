import type { ShapeLines } from "../../record/index.ts";
import { forEachField } from "../delivery/line-fields.ts";
import type { AnonymizeText } from "./anonymize-address.ts";

export interface AnonymizeLinesOptions {
  readonly anonymize: AnonymizeText;
  /** What {@link AnonymizeLinesOptions.anonymize} gave lately; empty for a text that stays. */
  readonly recent: { get(text: string): string | undefined; set(text: string, value: string): void };
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

/** The longest text of an address, and the shortest. */
const maxText = 45;
const minText = 2;
/** An address may become this many times longer: `"::1"` as many as forty characters. */
const maxGrowth = 9;

const exporterPrefix = Buffer.from('"flow.export.');
const exporterLetterAt = 6;
const exporterLetter = exporterPrefix[exporterLetterAt];
const hexPrefixes = [Buffer.from('"flow.hex.'), Buffer.from('"flow.ie.')];
const hexValue = Buffer.from('"0x');
const hexInList = Buffer.from('["0x');
/** Made of the addresses, so that these can be found by trying. */
const communityId = Buffer.from('"flow.community.id":');
const ids = [Buffer.from('"flow.conversation.id":'), Buffer.from('"flow.session.id":')];

/**
 * Replaces every text of a line that is an address, whatever its field is called, also in arrays. Bytes in hex, in which addresses may
 * be, are left out with their fields, and identifiers that are made of addresses are replaced or left out.
 */
export function createAnonymizeLines(options: AnonymizeLinesOptions): ShapeLines {
  const { anonymize, recent, keepsExporter, anonymizeId, count } = options;
  let to = Buffer.alloc(0);
  let end = 0;
  let addresses = 0;
  let computed = 0;
  let fields = 0;

  const replacementOf = (text: string): string => {
    const known = recent.get(text);
    if (known !== undefined) return known;
    const found = anonymize(text) ?? "";
    if (found !== "") computed++;
    recent.set(text, found);
    return found;
  };

  const reserve = (bytes: number): void => {
    if (to.length - end >= bytes) return;
    const larger = Buffer.allocUnsafeSlow(2 * (end + bytes));
    to.copy(larger, 0, 0, end);
    to = larger;
  };

  /** Writes the texts of a value that are addresses. @returns up to where it was copied. */
  const putValue = (from: Buffer, copied: number, value: number, valueEnd: number): number => {
    for (let at = value; at < valueEnd; at++) {
      if (from[at] !== quote) continue;
      const last = endOfText(from, at + 1);
      if (mayBeAddress(from, at + 1, last)) {
        const text = replacementOf(from.toString("latin1", at + 1, last));
        if (text !== "") {
          end += from.copy(to, end, copied, at + 1);
          end += to.write(text, end, "latin1");
          copied = last;
          addresses++;
        }
      }
      at = last;
    }
    return copied;
  };

  const copyLine = (from: Buffer, start: number, lineEnd: number): void => {
    let copied = start;
    forEachField(from, start, lineEnd, (name, value, valueEnd) => {
      const first = from[value];
      if (first !== quote && first !== bracket) return;
      // Most names below flow differ in the first letter behind it.
      if (keepsExporter && from[name + exporterLetterAt] === exporterLetter && startsWith(from, name, exporterPrefix)) {
        return;
      }
      if (anonymizeId !== undefined && isId(from, name, value)) {
        end += from.copy(to, end, copied, value + 1);
        end += to.write(anonymizeId(from.toString("latin1", value + 1, valueEnd - 1)), end, "latin1");
        copied = valueEnd - 1;
      } else if (isLeftOut(from, name, value)) {
        end += from.copy(to, end, copied, name);
        // One comma goes with the field: the one behind it, for the last field the one before it.
        const isLast = from[valueEnd] !== comma;
        if (isLast && to[end - 1] === comma) end--;
        copied = isLast ? valueEnd : valueEnd + 1;
        fields++;
      } else copied = putValue(from, copied, value, valueEnd);
    });
    end += from.copy(to, end, copied, lineEnd);
  };

  return (lines, records) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    end = addresses = computed = fields = 0;
    for (let at = 0, lineEnd = 0; at < from.length; at = lineEnd) {
      lineEnd = from.indexOf(0x0a, at) + 1 || from.length;
      reserve(maxGrowth * (lineEnd - at));
      copyLine(from, at, lineEnd);
    }
    count({ addresses, computed, fields });
    return { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, end).buffer), count: records };
  };
}

/** Whether a field cannot be kept: bytes, and identifiers that say the addresses to whoever tries them. */
function isLeftOut(from: Buffer, name: number, value: number): boolean {
  if (value - name === communityId.length && startsWith(from, name, communityId)) return true;
  if (isId(from, name, value)) return true;
  const isHex = startsWith(from, value, hexValue) || startsWith(from, value, hexInList);
  return isHex && hexPrefixes.some((prefix) => startsWith(from, name, prefix));
}

function isId(from: Buffer, name: number, value: number): boolean {
  const length = value - name;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as Buffer;
    if (id.length === length && startsWith(from, name, id)) return true;
  }
  return false;
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
  if (length < minText || length > maxText) return false;
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
