import { LineWalker, leaseLines, type Sink } from "../../record/index.ts";
import type { Clock, Component } from "../../base/report/index.ts";
import type { RollupReport } from "../output-metrics.ts";

/* A key:    for each field: length of its value in four bytes, the lowest one first (0: it has none) | value */

const lengthBytes = 4;

/** Builds one key from the values of several fields of a line, without making strings of them. */
class GroupKey {
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #packed = new Uint8Array(256);
  #length = 0;

  constructor(fields: number) {
    this.#starts = new Uint32Array(fields);
    this.#ends = new Uint32Array(fields);
  }

  /** Forgets the values that were set. */
  clear(): void {
    this.#ends.fill(0);
  }

  /** Sets the start and end of a field's value. */
  set(index: number, start: number, end: number): void {
    this.#starts[index] = start;
    this.#ends[index] = end;
  }

  /** Packs the values into the key. @returns a hash of them. */
  pack(from: Uint8Array): number {
    let at = 0;
    let hash = 0;
    for (let field = 0; field < this.#ends.length; field++) {
      const end = this.#ends[field] as number;
      const start = end === 0 ? 0 : (this.#starts[field] as number);
      const bytes = end - start;
      const to = this.#reserve(at + lengthBytes + bytes);
      for (let shift = 0; shift < 32; shift += 8) to[at++] = bytes >>> shift;
      hash = Math.imul(hash ^ bytes, 0x01000193);
      for (let i = start; i < end; i++) {
        const byte = from[i] as number;
        to[at++] = byte;
        hash = Math.imul(hash ^ byte, 0x01000193);
      }
    }
    this.#length = at;
    return hash ^ (hash >>> 15);
  }

  /** Reports whether the packed key equals another one. */
  is(key: Uint8Array): boolean {
    const packed = this.#packed;
    if (key.length !== this.#length) return false;
    for (let i = 0; i < key.length; i++) if (key[i] !== packed[i]) return false;
    return true;
  }

  /** Returns a copy of the packed key. */
  copy(): Uint8Array {
    return this.#packed.slice(0, this.#length);
  }

  #reserve(bytes: number): Uint8Array {
    if (this.#packed.length < bytes) {
      const larger = new Uint8Array(2 * bytes);
      larger.set(this.#packed);
      this.#packed = larger;
    }
    return this.#packed;
  }
}

/** Returns the values of a key, in the order of the fields; empty: the record had none. */
function valuesOf(key: Uint8Array): string[] {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  const values: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const value = at + lengthBytes;
    const end = value + bytes.readUInt32LE(at);
    values.push(bytes.toString("latin1", value, end));
    at = end;
  }
  return values;
}

/** Counters that are added up. */
const summedFields: readonly string[] = ["", "reverse."].flatMap((direction) =>
  ["", "raw.", "scaled."].flatMap((kind) => ["bytes", "packets"].map((unit) => `flow.${direction}${kind}${unit}`)),
);

/** The number of digits that are exact in a double. */
const exactDigits = 15;

/** Reports whether a value is an unsigned whole number. */
function isWhole(from: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (((from[at] as number) ^ 0x30) > 9) return false;
  return end > start;
}

/** Sums of whole numbers, exact at any size. */
class Sums {
  /** Sums as doubles; sums that become too large move to the bigints. */
  readonly #small: (number | undefined)[] = [];
  readonly #large: bigint[] = [];

  /** Adds the digits between two offsets to a sum. */
  add(index: number, from: Buffer, start: number, end: number): void {
    const small = this.#small;
    if (end - start > exactDigits) {
      this.#addLarge(index, BigInt(from.toString("latin1", start, end)));
      small[index] ??= 0;
      return;
    }
    let value = 0;
    for (let at = start; at < end; at++) value = 10 * value + (from[at] as number) - 0x30;
    const sum = (small[index] ?? 0) + value;
    if (sum <= Number.MAX_SAFE_INTEGER) {
      small[index] = sum;
      return;
    }
    this.#addLarge(index, BigInt(small[index] ?? 0));
    small[index] = value;
  }

  /** Returns a sum as text; undefined: nothing was added to it. */
  text(index: number): string | undefined {
    const rest = this.#small[index];
    const whole = this.#large[index];
    if (rest === undefined) return undefined;
    return whole === undefined ? String(rest) : String(whole + BigInt(rest));
  }

  #addLarge(index: number, value: bigint): void {
    this.#large[index] = (this.#large[index] ?? 0n) + value;
  }
}

interface RollupOptions {
  /** The fields whose values make a group. */
  readonly fields: readonly string[];
  /** The most groups that are kept. */
  readonly maxGroups: number;
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "now">;
  readonly report: RollupReport;
}

/** The result for a line. `other`: it has no counters that can be added, or is not a flow. `full`: there is no room for its group. */
type RollupOutcome = "added" | "other" | "full";

interface Group {
  /** The values of the chosen fields, one after the other. */
  readonly key: Uint8Array;
  readonly sums: Sums;
  records: number;
  /** Times with their quotes; empty if no record had one. */
  start: string;
  end: string;
}

/** The use of a field: a position among the chosen ones, a number to add, a time, or a sign that the record stays unchanged. */
type Use = { readonly kind: "group" | "sum"; readonly index: number } | { readonly kind: "start" | "end" | "type" };

/** Names that cannot be chosen, because their values come from all records of a group. */
export const rolledUpFields: ReadonlySet<string> = new Set([
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.record.type",
  "flow.rollup.records",
  ...summedFields,
]);

/** Aggregates flow records: one for all whose chosen fields are the same. */
class Rollup {
  readonly #maxGroups: number;
  readonly #walker: LineWalker<Use>;
  readonly #names: readonly string[];
  readonly #key: GroupKey;
  readonly #starts = new Uint32Array(summedFields.length);
  readonly #ends = new Uint32Array(summedFields.length);
  /** Groups by the hash of their keys; those of one hash are in a list. */
  #groups = new Map<number, Group[]>();
  #groupCount = 0;
  #counters = 0;
  #isOther = false;
  #from: Buffer = Buffer.alloc(0);
  /** The offset where times begin; 0: the record has none. */
  #start = 0;
  #end = 0;

  constructor({ fields, maxGroups }: Pick<RollupOptions, "fields" | "maxGroups">) {
    const uses = usesByName(fields);
    this.#maxGroups = maxGroups;
    this.#walker = new LineWalker((name) => uses.get(name));
    this.#names = fields.map((name) => `,${JSON.stringify(name)}:`);
    this.#key = new GroupKey(fields.length);
  }

  get groups(): number {
    return this.#groupCount;
  }

  /** Takes the record of a line, with its line feed or without. If the result is not `added`, the caller passes the line on unchanged. */
  add(bytes: Buffer, lineStart: number, lineEnd: number): RollupOutcome {
    this.#from = bytes;
    this.#key.clear();
    this.#starts.fill(0);
    this.#counters = 0;
    this.#isOther = false;
    this.#start = this.#end = 0;
    this.#walker.walk(bytes, lineStart, lineEnd, this.#visit);
    if (this.#isOther || this.#counters === 0) return "other";
    const group = this.#groupOfKey();
    if (group === undefined) return "full";
    group.records++;
    // No counter is at the beginning of a line.
    for (let i = 0; i < this.#starts.length; i++) {
      if (this.#starts[i] !== 0) group.sums.add(i, bytes, this.#starts[i] as number, this.#ends[i] as number);
    }
    const [start, end] = [this.#start, this.#end];
    if (start !== 0 && compareTimes(bytes, start, group.start) < 0) group.start = timeAt(bytes, start);
    if (end !== 0 && (group.end === "" || compareTimes(bytes, end, group.end) > 0)) group.end = timeAt(bytes, end);
    return "added";
  }

  /**
   * Removes and returns the groups.
   *
   * @param time of the records, RFC 3339.
   * @returns the line of each group, built when it is requested.
   */
  take(time: string): Iterable<string> {
    const taken = this.#groups;
    this.#groups = new Map();
    this.#groupCount = 0;
    return linesOf(taken, this.#names, time);
  }

  readonly #visit = (use: Use, _name: number, value: number, valueEnd: number): void => {
    switch (use.kind) {
      case "group":
        this.#key.set(use.index, value, valueEnd);
        break;
      case "sum":
        if (!isWhole(this.#from, value, valueEnd)) this.#isOther = true;
        this.#starts[use.index] = value;
        this.#ends[use.index] = valueEnd;
        this.#counters++;
        break;
      case "start":
        this.#start = value;
        break;
      case "end":
        this.#end = value;
        break;
      case "type":
        this.#isOther = true;
    }
  };

  /** Returns the group of the record that was read; undefined: there is no room for it. */
  #groupOfKey(): Group | undefined {
    const hash = this.#key.pack(this.#from);
    const known = this.#groups.get(hash);
    const found = known?.find((one) => this.#key.is(one.key));
    if (found !== undefined) return found;
    if (this.#groupCount >= this.#maxGroups) return undefined;
    this.#groupCount++;
    const group = { key: this.#key.copy(), sums: new Sums(), records: 0, start: "", end: "" };
    if (known === undefined) this.#groups.set(hash, [group]);
    else known.push(group);
    return group;
  }
}

function* linesOf(
  groups: ReadonlyMap<number, readonly Group[]>,
  names: readonly string[],
  time: string,
): Iterable<string> {
  for (const list of groups.values()) {
    for (const { key, sums, records, start, end } of list) {
      let line = `{"@timestamp":"${time}","flow.record.type":"rollup"`;
      for (const [i, value] of valuesOf(key).entries()) if (value !== "") line += `${names[i]}${value}`;
      if (start !== "") line += `,"flow.start.timestamp":${start}`;
      if (end !== "") line += `,"flow.end.timestamp":${end}`;
      for (let i = 0; i < summedFields.length; i++) {
        const sum = sums.text(i);
        if (sum !== undefined) line += `,"${summedFields[i]}":${sum}`;
      }
      yield `${line},"flow.rollup.records":${records}}\n`;
    }
  }
}

/** Returns a time with its quotes. */
function timeAt(from: Buffer, start: number): string {
  return from.toString("latin1", start, from.indexOf(0x22, start + 1) + 1);
}

/**
 * Compares a time in a line with another one. Both are in UTC, with decimals or without, in quotes.
 *
 * @param time empty: later than any.
 * @returns below 0: the one in the line is earlier.
 */
function compareTimes(from: Buffer, start: number, time: string): number {
  if (time === "") return -1;
  // Ignore the Z, which sorts after the point and all digits.
  for (let i = 0; ; i++) {
    const one = digitOrEnd(from[start + i] as number);
    const other = digitOrEnd(time.charCodeAt(i));
    if (one !== other || one === 0) return one - other;
  }
}

/** Returns the rank of a character of a time: zero for the Z that ends it. */
function digitOrEnd(code: number): number {
  return code === 0x5a ? 0 : code;
}

function usesByName(fields: readonly string[]): ReadonlyMap<string, Use> {
  return new Map<string, Use>([
    ...fields.map((name, index) => [name, { kind: "group", index }] as const),
    ...summedFields.map((name, index) => [name, { kind: "sum", index }] as const),
    ["flow.start.timestamp", { kind: "start" }],
    ["flow.end.timestamp", { kind: "end" }],
    ["flow.record.type", { kind: "type" }],
  ]);
}

/** The approximate size of chunks in which lines of groups are passed on, with other work between them. */
const chunkBytes = 512 * 1024;

/**
 * Passes sums of flow records to a sink instead of the records: at the end of each interval, counted from the epoch, and when it
 * stops. All other records pass unchanged.
 */
export class RollupSink implements Sink, Component {
  readonly name: string;
  readonly #sink: Sink & Component;
  readonly #intervalMs: number;
  readonly #clock: Pick<Clock, "now">;
  readonly #report: RollupReport;
  readonly #rollup: Rollup;
  /** The start of the interval. */
  #from: number;
  #timer: NodeJS.Timeout | undefined;
  /** Lines of an ended interval that are still to be passed on. */
  #lines: Iterator<string> | undefined;
  #next: NodeJS.Immediate | undefined;

  constructor(sink: Sink & Component, options: RollupOptions) {
    this.name = sink.name;
    this.#sink = sink;
    this.#intervalMs = options.intervalMs;
    this.#clock = options.clock;
    this.#report = options.report;
    this.#rollup = new Rollup(options);
    this.#report.groups(() => this.#rollup.groups);
    this.#from = this.#beginOf(this.#clock.now());
  }

  write(lines: Uint8Array, _count: number): void {
    if (this.#isOver()) this.#endInterval();
    const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const others: Buffer[] = [];
    let added = 0;
    let overflowed = 0;
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      const outcome = this.#rollup.add(bytes, at, end);
      if (outcome === "added") added++;
      else others.push(bytes.subarray(at, end));
      if (outcome === "full") overflowed++;
    }
    if (added > 0) this.#report.added(added);
    if (overflowed > 0) this.#report.overflowed(overflowed);
    if (others.length > 0) leaseLines(this.#sink, Buffer.concat(others), others.length, () => {});
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    this.write(lines, count);
    done();
  }

  async start(): Promise<void> {
    await this.#sink.start();
    this.#schedule();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#endInterval();
    this.#handOverAll();
    await this.#sink.stop();
  }

  #beginOf(now: number): number {
    return Math.floor(now / this.#intervalMs) * this.#intervalMs;
  }

  #isOver(): boolean {
    const now = this.#clock.now();
    // A clock that was set back starts another interval, too.
    return now >= this.#from + this.#intervalMs || now < this.#from;
  }

  #schedule(): void {
    const rest = this.#from + this.#intervalMs - this.#clock.now();
    this.#timer = setTimeout(
      () => {
        if (this.#isOver()) this.#endInterval();
        this.#schedule();
      },
      Math.min(this.#intervalMs, Math.max(1, rest)),
    );
  }

  #endInterval(): void {
    // Lines of the interval before go first.
    this.#handOverAll();
    if (this.#rollup.groups > 0) this.#lines = this.#rollup.take(new Date(this.#from).toISOString())[Symbol.iterator]();
    this.#from = this.#beginOf(this.#clock.now());
    this.#handOverNext();
  }

  #handOverNext(): void {
    if (this.#lines !== undefined && this.#handOver(this.#lines)) {
      this.#next = setImmediate(() => this.#handOverNext());
    } else this.#lines = undefined;
  }

  #handOverAll(): void {
    clearImmediate(this.#next);
    const rest = this.#lines;
    this.#lines = undefined;
    if (rest !== undefined) while (this.#handOver(rest));
  }

  /** Passes on a chunk of lines. @returns whether there are more. */
  #handOver(lines: Iterator<string>): boolean {
    let text = "";
    let count = 0;
    while (text.length < chunkBytes) {
      const line = lines.next();
      if (line.done === true) break;
      text += line.value;
      count++;
    }
    if (count === 0) return false;
    this.#report.written(count);
    leaseLines(this.#sink, Buffer.from(text, "latin1"), count, () => {});
    return true;
  }
}
