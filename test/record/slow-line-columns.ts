import { parseAddress, type Address } from "../../src/base/ip/index.ts";
import {
  type BatchColumn,
  type Column,
  type ColumnBatch,
  type ColumnData,
  type ColumnType,
  LineWalker,
} from "../../src/record/index.ts";

type Scalar = number | bigint | Uint8Array;

const lineFeed = 0x0a;
const widthOfAddress = 16;
const leastInteger = -(2n ** 63n);
const pastInteger = 2n ** 63n;
const pastUnsigned = 2n ** 64n;

/** Rows of a column under construction. */
class GrowingColumn {
  readonly column: Column;
  readonly values: Scalar[] = [];
  readonly offsets: number[] = [0];
  readonly presence: boolean[] = [];

  constructor(column: Column) {
    this.column = column;
  }

  /** Adds the values of the next row; undefined: it has none. */
  add(values: readonly Scalar[] | undefined): void {
    this.presence.push(values !== undefined);
    if (this.column.isArray) {
      for (const value of values ?? []) this.values.push(value);
      this.offsets.push(this.values.length);
    } else this.values.push(values?.[0] ?? zeroOf(this.column.type));
  }

  view(): BatchColumn {
    const presence = new Uint8Array(Math.ceil(this.presence.length / 8));
    for (const [row, has] of this.presence.entries())
      if (has) presence[row >> 3] = (presence[row >> 3] as number) | (1 << (row & 7));
    return {
      column: this.column,
      count: this.presence.filter(Boolean).length,
      presence,
      data: dataOf(this.column.type, this.values),
      offsets: this.column.isArray ? Uint32Array.from(this.offsets) : new Uint32Array(0),
    };
  }
}

function zeroOf(type: ColumnType): Scalar {
  if (type === "address") return new Uint8Array(widthOfAddress);
  return type === "integer" || type === "unsigned" || type === "time" ? 0n : 0;
}

function dataOf(type: ColumnType, values: readonly Scalar[]): ColumnData[ColumnType] {
  switch (type) {
    case "text":
      return Uint32Array.from(values as number[]);
    case "address":
      return Uint8Array.from(values.flatMap((value) => [...(value as Uint8Array)]));
    case "integer":
    case "time":
      return BigInt64Array.from(values as bigint[]);
    case "unsigned":
      return BigUint64Array.from(values as bigint[]);
    case "double":
      return Float64Array.from(values as number[]);
    case "boolean":
      break;
  }
  return Uint8Array.from(values as number[]);
}

/** What LineColumns does, said plainly. */
export class SlowLineColumns {
  readonly #declared: readonly Column[];
  readonly #maxRows: number;
  readonly #hasRest: boolean;
  readonly #arraysAsJson: boolean;
  readonly #walker: LineWalker<string>;
  readonly #positions: ReadonlyMap<string, number>;
  #columns: GrowingColumn[] = [];
  #rest: (string | undefined)[] = [];
  #texts = new Map<string, number>();
  #rows = 0;
  #cutRows = 0;

  /**
   * @param columns those of one name are an error.
   * @param options `maxRows` of a batch; `hasRest`: what has no column is kept as JSON; `arraysAsJson`: arrays are texts.
   */
  constructor(
    columns: readonly Column[],
    options: { readonly maxRows: number; readonly hasRest: boolean; readonly arraysAsJson?: boolean },
  ) {
    this.#declared = columns;
    this.#maxRows = options.maxRows;
    this.#hasRest = options.hasRest;
    this.#arraysAsJson = options.arraysAsJson === true;
    this.#positions = new Map(columns.map(({ field }, index) => [field, index]));
    if (this.#positions.size !== columns.length) throw new TypeError("two columns have one field");
    this.#walker = new LineWalker((name) => name);
    this.clear();
  }

  /** Rows that are there. */
  get rows(): number {
    return this.#rows;
  }

  /**
   * Reads whole lines from an offset on into rows, until all are read or the batch is full.
   *
   * @returns the offset of the first line that is not read.
   */
  take(lines: Uint8Array, from: number): number {
    let at = from;
    while (at < lines.length && this.#rows < this.#maxRows) {
      const found = lines.indexOf(lineFeed, at);
      const end = found < 0 ? lines.length : found;
      this.#readLine(Buffer.from(lines.buffer, lines.byteOffset, lines.length), at, end);
      at = end + 1;
    }
    return Math.min(at, lines.length);
  }

  batch(): ColumnBatch {
    const rest = new GrowingColumn({ field: "", type: "text", isArray: false });
    for (const text of this.#rest) rest.add(text === undefined ? undefined : [this.#codeOf(text)]);
    const texts = [...this.#texts.keys()].map((text) => Buffer.from(text));
    const offsets = new Uint32Array(texts.length + 1);
    for (const [i, text] of texts.entries()) offsets[i + 1] = (offsets[i] as number) + text.length;
    return {
      rows: this.#rows,
      cutRows: this.#cutRows,
      columns: this.#columns.map((column) => column.view()),
      rest: this.#hasRest ? (rest.view() as BatchColumn<"text">) : undefined,
      texts: { count: texts.length, offsets, bytes: new Uint8Array(Buffer.concat(texts)) },
    };
  }

  /** Forgets all rows and texts. */
  clear(): void {
    this.#columns = this.#declared.map(
      ({ field, type, isArray }) =>
        new GrowingColumn(
          isArray && this.#arraysAsJson ? { field, type: "text", isArray: false } : { field, type, isArray },
        ),
    );
    this.#rest = [];
    this.#texts = new Map([["", 0]]);
    this.#rows = 0;
    this.#cutRows = 0;
  }

  #codeOf(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const code = this.#texts.size;
    this.#texts.set(text, code);
    return code;
  }

  #readLine(lines: Buffer, from: number, to: number): void {
    const values = new Map<number, readonly Scalar[]>();
    const others: string[] = [];
    let isSound = true;
    this.#walker.walk(lines, from, to, (name, nameAt, valueAt, end) => {
      const position = this.#positions.get(name);
      const text = lines.toString("utf8", valueAt, end);
      const read = position === undefined ? undefined : this.#read(this.#declared[position] as Column, text);
      if (position !== undefined && read !== undefined && !values.has(position)) values.set(position, read);
      else if (isJson(`{${lines.toString("utf8", nameAt, end)}}`)) others.push(lines.toString("utf8", nameAt, end));
      else isSound &&= !this.#hasRest;
    });
    for (const [position, column] of this.#columns.entries()) column.add(values.get(position));
    if (!isSound || !isWholeLine(lines.toString("utf8", from, to))) this.#cutRows++;
    this.#rest.push(others.length === 0 ? undefined : `{${others.join(",")}}`);
    this.#rows++;
  }

  /** Reads a value of JSON; undefined: it does not fit the column. */
  #read({ type, isArray }: Column, text: string): readonly Scalar[] | undefined {
    if (text.startsWith("[") !== isArray || text.startsWith("{")) return undefined;
    if (isArray && this.#arraysAsJson) return isJson(text) ? [this.#codeOf(text)] : undefined;
    const items = isArray ? itemsOf(text) : [text];
    const values = items?.map((item) => this.#scalar(type, item));
    return values?.every((value) => value !== undefined) === true ? values : undefined;
  }

  #scalar(type: ColumnType, text: string): Scalar | undefined {
    const isText = text.startsWith('"');
    if (isText !== (type === "text" || type === "address" || type === "time")) return undefined;
    switch (type) {
      case "text":
        return this.#codeOf(JSON.parse(text) as string);
      case "address":
        return addressOf(text.slice(1, -1));
      case "time":
        return timeOf(text.slice(1, -1));
      case "integer":
        return wholeOf(text, leastInteger, pastInteger);
      case "unsigned":
        return wholeOf(text, 0n, pastUnsigned);
      case "double":
        return /^-?[0-9]/.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined;
      case "boolean":
        break;
    }
    return text === "true" ? 1 : text === "false" ? 0 : undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Tells whether a line is one record to its end: its brackets, those within texts left aside, close with the last character and not before. */
export function isWholeLine(line: string): boolean {
  let depth = 0;
  let isText = false;
  for (let i = 0; i < line.length; i++) {
    const character = line[i] as string;
    if (isText && character === "\\") i++;
    else if (character === '"') isText = !isText;
    else if (!isText && "{[".includes(character)) depth++;
    else if (!isText && "}]".includes(character) && --depth === 0) return i === line.length - 1;
  }
  return false;
}

/** Returns the texts of the items of an array of scalars; undefined: an item is an array or object. */
function itemsOf(text: string): readonly string[] | undefined {
  const inner = text.slice(1, -1);
  const items = inner === "" ? [] : (inner.match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? []);
  return items.some((item) => item.startsWith("[") || item.startsWith("{")) ? undefined : items;
}

function wholeOf(text: string, least: bigint, past: bigint): bigint | undefined {
  if (!/^-?[0-9]{1,20}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= least && value < past ? value : undefined;
}

const mapped = 0xffffn << 32n;

/** Returns the 16 bytes of an address; undefined: it is none, or written as IPv4 within IPv6. */
function addressOf(text: string): Uint8Array | undefined {
  const address = parseAddress(text);
  if (address === undefined || isMapped(address)) return undefined;
  const value = address.family === 4 ? mapped | address.value : address.value;
  return new Uint8Array(Buffer.from(value.toString(16).padStart(2 * widthOfAddress, "0"), "hex"));
}

function isMapped({ family, value }: Address): boolean {
  return family === 6 && value >> 32n === 0xffffn;
}

/** RFC 3339 in UTC, as lines have it. */
const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** Returns nanoseconds since the epoch; undefined: it is no time, or beyond 64 bits. */
function timeOf(text: string): bigint | undefined {
  const [, seconds, decimals = ""] = timePattern.exec(text) ?? [];
  const ms = seconds === undefined ? Number.NaN : Date.parse(`${seconds}Z`);
  if (Number.isNaN(ms)) return undefined;
  const value = BigInt(ms) * 1_000_000n + BigInt(decimals.padEnd(9, "0"));
  return value >= leastInteger && value < pastInteger ? value : undefined;
}
