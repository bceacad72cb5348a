import { parseAddress, unmapAddress } from "../base/ip/index.ts";
import { addressText } from "./column.ts";
import { bookedColumns } from "./booking.ts";
import { inlineText, Block, BlockColumn, blockRows } from "./block.ts";
import { LineWalker } from "../record/index.ts";
import { type Column, isMetadataName } from "./column.ts";

const quote = 0x22;
const backslash = 0x5c;
const zero = 0x30;
const nine = 0x39;
const dot = 0x2e;
const minus = 0x2d;
const openBracket = 0x5b;
const two32 = 4_294_967_296;
/** Numbers of this many digits are exact as they are added up. */
const safeDigits = 15;
/** A list is a text as it stands in the line; a longer one is cut off by nobody, but left out. */
const maxText = 4096;

/** Writes the value of a line from `at` up to `end` to the next row of a block. One that is not of the column's type is left out. */
function putValue(block: Block, index: number, bytes: Buffer, at: number, end: number): void {
  const column = block.columns[index] as BlockColumn;
  const row = block.rows;
  if (!put(column, row, block, bytes, at, end)) return;
  const octet = row >> 3;
  const bit = 1 << (row & 7);
  const byte = column.validity[octet] as number;
  if ((byte & bit) !== 0) return;
  column.validity[octet] = byte | bit;
  column.count++;
}

function put(column: BlockColumn, row: number, block: Block, bytes: Buffer, at: number, end: number): boolean {
  const first = bytes[at] as number;
  if (column.column.isArray) {
    return first === openBracket && end - at > 2 && putText(column, row, block, bytes, at, end);
  }
  switch (column.column.type) {
    case "text":
      if (first !== quote) return first !== openBracket && putText(column, row, block, bytes, at, end);
      return putQuoted(column, row, block, bytes, at + 1, end - 1);
    case "address":
      return first === quote && putAddress(column, row, block, bytes, at + 1, end - 1);
    case "integer":
    case "unsigned":
      return putInteger(column.words, 2 * row, bytes, at, end);
    case "double": {
      const value = Number(bytes.toString("latin1", at, end));
      column.doubles[row] = value;
      return first !== quote && Number.isFinite(value);
    }
    case "boolean":
      // "t" or "f".
      column.bytes[row] = first === 0x74 ? 1 : 0;
      return first === 0x74 || first === 0x66;
    case "time":
      break;
  }
  return first === quote && putTime(column.words, 2 * row, bytes, at + 1, end - 1);
}

function putQuoted(column: BlockColumn, row: number, block: Block, bytes: Buffer, at: number, end: number): boolean {
  for (let p = at; p < end; p++) {
    if (bytes[p] !== backslash) continue;
    const text = Buffer.from(JSON.parse(bytes.toString("utf8", at - 1, end + 1)) as string);
    return putText(column, row, block, text, 0, text.length);
  }
  return putText(column, row, block, bytes, at, end);
}

function putText(column: BlockColumn, row: number, block: Block, bytes: Buffer, at: number, end: number): boolean {
  const length = end - at;
  if (length > maxText) return false;
  if (length > inlineText) {
    column.long.push(row, block.keepText(bytes, at, end), length);
    return true;
  }
  column.words[4 * row] = length;
  const target = column.bytes;
  const to = 16 * row + 4;
  for (let i = 0; i < length; i++) target[to + i] = bytes[at + i] as number;
  return true;
}

/** The digits of a number below 16, and of one below 256 in a word with the lower digit above. */
const hexWords = Uint32Array.from({ length: 256 }, (_, byte) => {
  const [high, low] = byte.toString(16).padStart(2, "0");
  return (high as string).charCodeAt(0) | ((low as string).charCodeAt(0) << 8);
});

/** An address as hexadecimal digits, as {@link addressText} gives them: of IPv4 they lie in the row. */
function putAddress(column: BlockColumn, row: number, block: Block, bytes: Buffer, at: number, end: number): boolean {
  let value = 0;
  let part = 0;
  let dots = 0;
  let p = at;
  for (; p < end; p++) {
    const byte = bytes[p] as number;
    if (byte >= zero && byte <= nine) part = 10 * part + byte - zero;
    else if (byte === dot) {
      value = (value << 8) | part;
      part = 0;
      dots++;
    } else break;
  }
  if (p === end && dots === 3) {
    value = (value << 8) | part;
    const { words } = column;
    words[4 * row] = 8;
    words[4 * row + 1] = (hexWords[value >>> 24] as number) | ((hexWords[(value >>> 16) & 255] as number) << 16);
    words[4 * row + 2] = (hexWords[(value >>> 8) & 255] as number) | ((hexWords[value & 255] as number) << 16);
    return true;
  }
  const address = parseAddress(bytes.toString("latin1", at, end));
  if (address === undefined) return false;
  const text = Buffer.from(addressText(unmapAddress(address)), "latin1");
  return putText(column, row, block, text, 0, text.length);
}

function putInteger(words: Uint32Array, word: number, bytes: Buffer, at: number, end: number): boolean {
  const isNegative = bytes[at] === minus;
  const from = isNegative ? at + 1 : at;
  let value = 0;
  for (let p = from; p < end; p++) {
    const byte = bytes[p] as number;
    if (byte < zero || byte > nine) return false;
    value = 10 * value + byte - zero;
  }
  if (end === from || end - from > 20) return false;
  if (isNegative || end - from > safeDigits) {
    putWhole(words, word, BigInt(bytes.toString("latin1", at, end)));
    return true;
  }
  words[word] = value >>> 0;
  words[word + 1] = Math.floor(value / two32);
  return true;
}

function putWhole(words: Uint32Array, word: number, value: bigint): void {
  words[word] = Number(value & 0xffff_ffffn);
  words[word + 1] = Number((value >> 32n) & 0xffff_ffffn);
}

const digit = (bytes: Uint8Array, at: number): number => (bytes[at] as number) - zero;
const two = (bytes: Uint8Array, at: number): number => 10 * digit(bytes, at) + digit(bytes, at + 1);

/** Nanoseconds since the epoch, of RFC 3339 in UTC as lines have it. */
function putTime(words: Uint32Array, word: number, bytes: Buffer, at: number, end: number): boolean {
  // 2026-11-22T04:00:00Z, with decimals or without.
  if (end - at < 20 || end - at > 30 || bytes[at + 4] !== minus) return false;
  const year = 100 * two(bytes, at) + two(bytes, at + 2);
  const days = daysOf(year, two(bytes, at + 5), two(bytes, at + 8));
  const seconds = 86_400 * days + 3600 * two(bytes, at + 11) + 60 * two(bytes, at + 14) + two(bytes, at + 17);
  let nanoseconds = 0;
  let unit = 100_000_000;
  for (let p = at + 20; p < end - 1; p++, unit /= 10) nanoseconds += unit * digit(bytes, p);
  // As a signed number of 64 bits, in which the years from 1678 to 2261 fit.
  if (!(seconds > -9_200_000_000 && seconds < 9_200_000_000)) return false;
  // In two steps, for a product of seconds and 10^9 is beyond 2^53.
  const high = Math.floor(seconds / 4096);
  const low = (seconds - high * 4096) * 1e9 + nanoseconds;
  // 4096 × 10^9 = 953 × 2^32 + 2 896 166 912.
  const lowWords = high * 2_896_166_912 + low;
  words[word] = lowWords - Math.floor(lowWords / two32) * two32;
  words[word + 1] = (high * 953 + Math.floor(lowWords / two32)) >>> 0;
  return true;
}

/** Days since the epoch of a date (Howard Hinnant's civil calendar arithmetic). */
function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const ofEra = y - 400 * era;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}

/** Each record of a flow has the first; records of options, counters and the like have the second, too. */
const flowField = "flow.export.type";
const otherField = "flow.record.type";
/** Stands for the index of a column. */
const other = -1;

/** Reads lines of records into the rows of a block. */
class LineScanner {
  readonly block: Block;
  readonly #flow: number | undefined;
  readonly #walker: LineWalker<number>;
  #isFlow = false;
  #isOther = false;
  #line: Buffer = Buffer.alloc(0);

  /** @param onUnknown is called for a name that has no column: once for each, as long as it is remembered. */
  constructor(columns: readonly Column[], onUnknown: (name: string) => void) {
    this.block = new Block([...columns, ...bookedColumns].map((column) => new BlockColumn(column)));
    const positions = new Map(columns.map(({ field }, i) => [field, i]));
    this.#flow = positions.get(flowField);
    this.#walker = new LineWalker<number>((name) => {
      if (name === otherField) return other;
      const position = positions.get(name);
      if (position === undefined) onUnknown(name);
      return position;
    });
  }

  /**
   * Reads the line from its brace at `from` up to `end` into the next row of the block.
   *
   * @returns whether the record is a flow; others leave the block as it was.
   */
  scan(bytes: Buffer, from: number, end: number): boolean {
    this.#isFlow = false;
    this.#isOther = false;
    this.#line = bytes;
    this.#walker.walk(bytes, from, end, this.#visit);
    if (this.#isFlow && !this.#isOther) return true;
    this.block.clearRow();
    return false;
  }

  readonly #visit = (use: number, _: number, value: number, end: number): void => {
    if (use === other) this.#isOther = true;
    else {
      if (use === this.#flow) this.#isFlow = true;
      putValue(this.block, use, this.#line, value, end);
    }
  };
}

const lineFeed = 0x0a;

/** Turns lines of records into blocks of rows. */
export class Intake {
  /** Flows that became rows. */
  rows = 0;
  readonly #maxNames: number;
  readonly #onBlock: (block: Block) => void;
  readonly #onNames: (names: readonly string[]) => readonly Column[];
  readonly #found = new Set<string>();
  /** Unknown fields of the line at hand. */
  #unknown: string[] = [];
  /** Offsets of the ends of the lines at hand. */
  readonly #ends: number[] = [];
  #scanner: LineScanner;

  /**
   * @param maxNames how many columns metadata may add.
   * @param onBlock is given rows, which it must have copied when it returns.
   * @param onNames is given names of metadata that have no column. It returns the columns that rows have from the one at hand on.
   */
  constructor(
    columns: readonly Column[],
    maxNames: number,
    onBlock: (block: Block) => void,
    onNames: (names: readonly string[]) => readonly Column[],
  ) {
    this.#maxNames = maxNames;
    this.#onBlock = onBlock;
    this.#onNames = onNames;
    this.#scanner = this.#scannerOf(columns);
  }

  /** Reads whole lines that stand for this many records, each for as many as the others. */
  take(lines: Buffer, records: number): void {
    const ends = this.#ends;
    ends.length = 0;
    for (let at = 0; at < lines.length; at = (ends.at(-1) as number) + 1) {
      const end = lines.indexOf(lineFeed, at);
      ends.push(end < 0 ? lines.length : end);
    }
    const weight = Math.round(records / ends.length);
    let from = 0;
    for (const end of ends) {
      if (this.#scan(lines, from, end)) {
        const { block } = this.#scanner;
        this.rows++;
        block.weights[block.rows++] = weight;
        if (block.rows === blockRows) this.flush();
      }
      from = end + 1;
    }
  }

  /** Gives away the rows that are there. */
  flush(): void {
    const { block } = this.#scanner;
    if (block.rows === 0) return;
    this.#onBlock(block);
    block.clear();
  }

  /** Reads a line into the next row, again where it has names that become columns: no value of them is missing. */
  #scan(lines: Buffer, from: number, end: number): boolean {
    const isFlow = this.#scanner.scan(lines, from, end);
    if (this.#unknown.length === 0) return isFlow;
    const names = this.#unknown;
    this.#unknown = [];
    this.#scanner.block.clearRow();
    this.flush();
    this.#scanner = this.#scannerOf(this.#onNames(names));
    return this.#scanner.scan(lines, from, end);
  }

  #scannerOf(columns: readonly Column[]): LineScanner {
    return new LineScanner(columns, (name) => {
      if (this.#found.size >= this.#maxNames || this.#found.has(name) || !isMetadataName(name)) return;
      this.#found.add(name);
      this.#unknown.push(name);
    });
  }
}
