import { formatAddress, formatAddressBytes, parseAddress, unmapAddress } from "../base/ip/index.ts";
import type { BatchColumn, Column, ColumnBatch, FieldValues, TextTable, Value } from "../record/index.ts";
import { ValueCodes } from "./value-codes.ts";
import { hashOf, mixed } from "./windows.ts";

/** A reader of one field of the records in use, by their row numbers. */
export interface Reader {
  has(row: number): boolean;
  /** Returns the value as a number; 0 where there is none. A time is in nanoseconds since the epoch. */
  number(row: number): number;
  /** Returns the value as text; undefined where there is none. */
  text(row: number): string | undefined;
  /** Returns a 32-bit hash of the value; 0 where there is none. */
  hash(row: number): number;
}

/** The records in use. Keys, filters and evidence read single values of them. */
export interface Rows extends FieldValues {
  /** The row that filters read. */
  row: number;
  /** A number that changes with the rows in use. */
  readonly batch: number;
  /** Returns the reader of a field that a rule names. */
  reader(field: string): Reader;
  /** Returns the codes of a field for the rows in use; undefined where it has none. */
  codes(field: string): ValueCodes | undefined;
  /** Returns values computed from each row. @param name unique for each way of computing. */
  derive(name: string, compute: (row: number) => number): DerivedValues;
}

/** Values computed from rows: for all rows at once, on first use. */
export class DerivedValues {
  readonly #rows: { readonly batch: number; readonly count: number };
  readonly #compute: (row: number) => number;
  #batch = -1;
  #values = new Float64Array(0);

  constructor(rows: { readonly batch: number; readonly count: number }, compute: (row: number) => number) {
    this.#rows = rows;
    this.#compute = compute;
  }

  /** Returns the values by row. */
  values(): Float64Array {
    const { batch, count } = this.#rows;
    if (this.#batch === batch) return this.#values;
    this.#batch = batch;
    if (this.#values.length < count) this.#values = new Float64Array(count);
    for (let row = 0; row < count; row++) this.#values[row] = this.#compute(row);
    return this.#values;
  }
}

/** Records as columns, the form in which flows are read. */
export class BatchRows implements Rows {
  row = 0;
  batch = 0;
  count = 0;
  #readers: ReadonlyMap<string, ColumnReader> = new Map();
  readonly #derived = new Map<string, DerivedValues>();

  /** Replaces the columns, in the order of batches. Readers of remaining fields stay valid. */
  have(columns: readonly Column[]): void {
    const before = this.#readers;
    this.#readers = new Map(columns.map(({ field }) => [field, before.get(field) ?? new ColumnReader()]));
    for (const [index, reader] of [...this.#readers.values()].entries()) reader.index = index;
  }

  use(batch: ColumnBatch): void {
    this.batch++;
    this.count = batch.rows;
    for (const reader of this.#readers.values()) reader.use(batch);
  }

  codes(field: string): ValueCodes | undefined {
    return this.#readers.get(field)?.codes(this.batch, this.count);
  }

  derive(name: string, compute: (row: number) => number): DerivedValues {
    const derived = this.#derived.get(name) ?? new DerivedValues(this, compute);
    this.#derived.set(name, derived);
    return derived;
  }

  reader(field: string): ColumnReader {
    const reader = this.#readers.get(field);
    if (reader === undefined) throw new TypeError(`no column of ${field}`);
    return reader;
  }

  get(field: string): Value | undefined {
    return this.#readers.get(field)?.value(this.row);
  }
}

/** Returns the network of an address as text. An IPv6 network has twice as many bits. Any other text is returned unchanged. */
function networkOf(text: string, bits: number): string {
  const address = parseAddress(text);
  if (address === undefined) return text;
  const { family, value } = unmapAddress(address);
  const [length, width] = family === 4 ? [bits, 32] : [2 * bits, 128];
  const shift = BigInt(width - length);
  return `${formatAddress({ family, value: (value >> shift) << shift })}/${length}`;
}

/** The separator between the values of a key. No value contains it. */
export const keySeparator = "\0";
/** Maximum characters of a value in a key. Exporters also send texts of 60 KB, and a rule keeps all of its keys. */
const maxKeyLength = 256;

/** Returns a value as part of a key: cut to the maximum length, and without the separator. */
export function keyPart(text: string | undefined): string | undefined {
  if (text === undefined || (text.length <= maxKeyLength && !text.includes(keySeparator))) return text;
  // The copy is needed: a slice would keep the whole text in memory.
  return Buffer.from(text.slice(0, maxKeyLength).replaceAll(keySeparator, "\ufffd")).toString();
}

const maxNetworks = 10_000;

/** Returns a reader of key parts, which turns addresses into their networks. */
export function keyReader(reader: Reader, bits: number | undefined): Reader {
  if (bits === undefined) return reader;
  const networks = new Map<string, string>();
  return {
    has: (row) => reader.has(row),
    number: (row) => reader.number(row),
    hash: (row) => reader.hash(row),
    text(row) {
      const text = reader.text(row);
      if (text === undefined) return undefined;
      let network = networks.get(text);
      if (network === undefined) {
        if (networks.size >= maxNetworks) networks.clear();
        networks.set(text, (network = networkOf(text, bits)));
      }
      return network;
    },
  };
}

/** Returns the amount that each row adds to a sum; undefined where each row counts as one. */
export function amountsOf(kind: string, rows: Rows): DerivedValues | undefined {
  if (kind !== "bits" && kind !== "packets") return undefined;
  const name = kind === "bits" ? "bytes" : "packets";
  const factor = kind === "bits" ? 8 : 1;
  const [plain, scaled] = [rows.reader(`flow.${name}`), rows.reader(`flow.scaled.${name}`)];
  return rows.derive(kind, (row) => factor * (scaled.has(row) ? scaled.number(row) : plain.number(row)));
}

/** Tolerance within which an exporter's clock counts as correct. */
const aheadMs = 2000;
/** Nanoseconds per millisecond: readers return times in nanoseconds. */
export const timeFactor = 1e6;

/** The start and end of flows, by the clock of the exporter where possible. */
export class FlowTimes {
  /** Milliseconds from the end of a flow to its report: NaN without an end, infinite where the delay is unknown. */
  readonly #late: DerivedValues;
  /** Duration of a flow in milliseconds. */
  readonly #lasts: DerivedValues;
  #lates: Float64Array = new Float64Array(0);
  #spans: Float64Array = new Float64Array(0);
  /** Maximum age in milliseconds at which a record still counts. */
  readonly #reachMs: number;
  /** The start and, in `to`, the end of the flow in milliseconds since the epoch. {@link read} sets both. */
  from = 0;
  to = 0;

  constructor(rows: Rows, reachMs: number) {
    const received = rows.reader("@timestamp");
    const [start, end] = [rows.reader("flow.start.timestamp"), rows.reader("flow.end.timestamp")];
    const offset = rows.reader("flow.export.clock.offset");
    this.#late = rows.derive("late", (row) => {
      if (!end.has(row)) return Number.NaN;
      return received.has(row) ? (received.number(row) - end.number(row)) / timeFactor + offset.number(row) : Infinity;
    });
    this.#lasts = rows.derive("lasts", (row) =>
      start.has(row) && end.has(row) ? Math.max(0, (end.number(row) - start.number(row)) / timeFactor) : 0,
    );
    this.#reachMs = reachMs;
  }

  /** Selects the rows that are in use now. */
  use(): void {
    this.#lates = this.#late.values();
    this.#spans = this.#lasts.values();
  }

  /**
   * Reads the start and end of a flow. An end in the future, or before all kept windows, is replaced by the present time: the exporter's clock is wrong,
   * or it reports later than a window stays open.
   */
  read(row: number, now: number): void {
    this.from = this.to = now;
    const late = this.#lates[row] as number;
    if (Number.isNaN(late)) return;
    if (late >= -aheadMs && late <= this.#reachMs) this.to = now - Math.max(0, late);
    this.from = this.to - (this.#spans[row] as number);
  }
}

const rememberedAddresses = 4096;

/** Records as objects, the form in which devices give them. They are few, and their fields are known only to the definitions. */
export class ObjectRows implements Rows {
  row = 0;
  batch = 0;
  count = 0;
  #objects: readonly Readonly<Record<string, unknown>>[] = [];

  use(objects: readonly Readonly<Record<string, unknown>>[]): void {
    this.batch++;
    this.count = objects.length;
    this.#objects = objects;
  }

  codes(): undefined {
    return undefined;
  }

  derive(_name: string, compute: (row: number) => number): DerivedValues {
    return new DerivedValues(this, compute);
  }

  get(field: string): Value | undefined {
    return this.#objects[this.row]?.[field] as Value | undefined;
  }

  reader(field: string): Reader {
    return new ObjectReader((row) => this.#objects[row]?.[field]);
  }
}

/** A reader of one field of objects. */
class ObjectReader implements Reader {
  readonly #value: (row: number) => unknown;

  constructor(value: (row: number) => unknown) {
    this.#value = value;
  }

  has(row: number): boolean {
    return this.#value(row) !== undefined;
  }

  number(row: number): number {
    const given = this.#value(row);
    if (typeof given !== "string") return Number(given ?? 0) || 0;
    return (/^-?[\d.]+$/.test(given) ? Number(given) : 1e6 * Date.parse(given)) || 0;
  }

  text(row: number): string | undefined {
    return this.has(row) ? String(this.#value(row)) : undefined;
  }

  hash(row: number): number {
    return this.has(row) ? hashOf(String(this.#value(row))) : 0;
  }
}

/** A reader of one column of a batch. */
class ColumnReader implements Reader {
  /** The place of its column in batches. */
  index = 0;
  #batch: BatchColumn | undefined;
  /** Texts by code, filled as they are read. */
  #texts: (string | undefined)[] = [];
  #table: TextTable | undefined;
  /** Views of the batch, kept here because the batch creates new ones at each access. */
  #presence: Uint8Array | undefined;
  #data: BatchColumn["data"] = new Uint32Array(0);
  /** The values as 32-bit numbers; undefined for a type that cannot be read in this way. */
  #words: Uint32Array | undefined;
  #type: Column["type"] = "text";
  /** True for values that are 64-bit integers. */
  #isWhole = false;
  readonly #codes = new ValueCodes();
  /** The batch whose codes were read, and whether its values have codes. */
  #coded = { batch: -1, hasCodes: false };
  readonly #numbers = new Uint32Array(rememberedAddresses);
  readonly #addresses: (string | undefined)[] = Array.from({ length: rememberedAddresses });

  use(batch: ColumnBatch): void {
    const column = batch.columns[this.index] as BatchColumn;
    this.#batch = column.count > 0 ? column : undefined;
    this.#table = batch.texts;
    this.#texts = [];
    this.#type = column.column.type;
    this.#isWhole = this.#type === "integer" || this.#type === "unsigned" || this.#type === "time";
    this.#presence = undefined;
    this.#words = undefined;
    if (this.#batch === undefined) return;
    this.#presence = column.presence;
    this.#data = column.data;
    this.#words = wordsOf(column.column, this.#data);
  }

  has(row: number): boolean {
    const presence = this.#presence;
    return presence !== undefined && ((presence[row >> 3] as number) & (1 << (row & 7))) !== 0;
  }

  number(row: number): number {
    if (!this.has(row)) return 0;
    const words = this.#words;
    // A BigInt for each value would cost more than all other work on it.
    if (words !== undefined && this.#isWhole) {
      const high = words[2 * row + 1] as number;
      return (this.#type === "unsigned" ? high : high | 0) * 2 ** 32 + (words[2 * row] as number);
    }
    return Number(this.#data[row]);
  }

  /** @param batch the number of the batch in use. @param rows its number of rows. */
  codes(batch: number, rows: number): ValueCodes | undefined {
    if (this.#coded.batch !== batch) {
      const texts = { count: this.#table?.count ?? 0, text: (code: number) => this.#text(code) };
      this.#coded = { batch, hasCodes: this.#codes.use(this.#batch, rows, this.#words, texts) };
    }
    return this.#coded.hasCodes ? this.#codes : undefined;
  }

  hash(row: number): number {
    const words = this.#words;
    if (!this.has(row)) return 0;
    if (words === undefined || this.#type === "text") return hashOf(this.text(row) ?? "");
    const width = this.#type === "address" ? 4 : 2;
    let hash = 0;
    for (let i = 0; i < width; i++) hash = mixed(hash ^ (words[width * row + i] as number));
    return hash;
  }

  /** Returns the value in the form of records; undefined where there is none. */
  value(row: number): Value | undefined {
    if (!this.has(row)) return undefined;
    const { column, offsets } = this.#batch as BatchColumn;
    if (!column.isArray) return this.#item(row);
    const items: unknown[] = [];
    for (let at = offsets[row] as number; at < (offsets[row + 1] as number); at++) items.push(this.#item(at));
    return items as unknown as Value;
  }

  text(row: number): string | undefined {
    if (!this.has(row)) return undefined;
    const value = this.#item(row);
    return typeof value === "string" ? value : String(value);
  }

  #item(at: number): string | number | bigint | boolean {
    const { column } = this.#batch as BatchColumn;
    const data = this.#data;
    switch (column.type) {
      case "text":
        return this.#text(data[at] as number);
      case "address":
        return this.#address(data as Uint8Array, 16 * at);
      case "boolean":
        return data[at] === 1;
      case "double":
        return data[at] as number;
      case "time":
        return timeText(data[at] as bigint);
      case "integer":
      case "unsigned":
        break;
    }
    const number = column.isArray ? Number(data[at]) : this.number(at);
    return Number.isSafeInteger(number) ? number : (data[at] as bigint);
  }

  #text(code: number): string {
    const known = this.#texts[code];
    if (known !== undefined) return known;
    const { offsets, bytes } = this.#table as TextTable;
    const [from, to] = [offsets[code] as number, offsets[code + 1] as number];
    return (this.#texts[code] = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString());
  }

  #address(data: Uint8Array, at: number): string {
    const isIpv4 = data[at + 10] === 255 && data[at + 11] === 255 && isZero(data, at, at + 10);
    if (!isIpv4) return formatAddressBytes(data, at, 6);
    const [a, b, c, d] = [data[at + 12], data[at + 13], data[at + 14], data[at + 15]] as number[] as Four;
    const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
    const cell = (Math.imul(number, 0x9e3779b1) >>> 20) & (rememberedAddresses - 1);
    const known = this.#addresses[cell];
    if (known !== undefined && this.#numbers[cell] === number) return known;
    this.#numbers[cell] = number;
    return (this.#addresses[cell] = `${a}.${b}.${c}.${d}`);
  }
}

/** Returns the values of a column as 32-bit numbers, low ones first; undefined for other types, or for several values in a row. */
function wordsOf({ type, isArray }: Column, data: BatchColumn["data"]): Uint32Array | undefined {
  const isWide = data.BYTES_PER_ELEMENT === 8 || type === "address" || type === "text";
  if (!isWide || isArray || (data.byteOffset & 3) !== 0) return undefined;
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength >>> 2);
}

type Four = [number, number, number, number];

function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false;
  return true;
}

/** Returns a time as RFC 3339 text with nanoseconds. */
function timeText(nanoseconds: bigint): string {
  const fraction = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = new Date(Number((nanoseconds - fraction) / 1_000_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(fraction).padStart(9, "0")}Z`;
}
