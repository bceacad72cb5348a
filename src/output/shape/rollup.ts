import { createLineWalker, lendLines, type Sink } from "../../record/index.ts";
import type { Clock, Component } from "../../base/report/index.ts";

/*
 * A key:    for each field: length of its value in four bytes, the lowest one first (0: it has none) | value
 */

/** Makes one key of the values of several fields of a line, without a text for any of them. */
interface GroupKey {
  /** Forgets what was set. */
  clear(): void;
  /** Says where the value of a field lies. */
  set(index: number, start: number, end: number): void;
  /** Puts the values together. @returns a hash of them. */
  pack(from: Uint8Array): number;
  /** Whether what was packed is another key. */
  is(key: Uint8Array): boolean;
  /** What was packed. */
  copy(): Uint8Array;
}

const lengthBytes = 4;

function createGroupKey(fields: number): GroupKey {
  const starts = new Uint32Array(fields);
  const ends = new Uint32Array(fields);
  let packed = new Uint8Array(256);
  let length = 0;

  const reserve = (bytes: number): void => {
    if (packed.length >= bytes) return;
    const larger = new Uint8Array(2 * bytes);
    larger.set(packed);
    packed = larger;
  };

  return {
    clear() {
      ends.fill(0);
    },
    set(index, start, end) {
      starts[index] = start;
      ends[index] = end;
    },
    pack(from) {
      let at = 0;
      let hash = 0;
      for (let field = 0; field < fields; field++) {
        const end = ends[field] as number;
        const start = end === 0 ? 0 : (starts[field] as number);
        const bytes = end - start;
        reserve(at + lengthBytes + bytes);
        const to = packed;
        for (let shift = 0; shift < 32; shift += 8) to[at++] = bytes >>> shift;
        hash = Math.imul(hash ^ bytes, 0x01000193);
        for (let i = start; i < end; i++) {
          const byte = from[i] as number;
          to[at++] = byte;
          hash = Math.imul(hash ^ byte, 0x01000193);
        }
      }
      length = at;
      return hash ^ (hash >>> 15);
    },
    is(key) {
      if (key.length !== length) return false;
      for (let i = 0; i < length; i++) if (key[i] !== packed[i]) return false;
      return true;
    },
    copy: () => packed.slice(0, length),
  };
}

/** The values of a key, in the order of the fields; empty: the record had none. */
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

/** Whole numbers that are added up: exact, whatever they grow to. */
interface Sums {
  /** Adds the digits from one place up to another to a number. */
  add(index: number, from: Buffer, start: number, end: number): void;
  /** Undefined for a number that nothing was added to. */
  text(index: number): string | undefined;
}

/** Digits that are exact in a double. */
const exactDigits = 15;

/** Whether a value is a whole number without a sign. */
function isWhole(from: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (((from[at] as number) ^ 0x30) > 9) return false;
  return end > start;
}

function createSums(): Sums {
  /** What does not fit any longer goes from the doubles to the bigints. */
  const small: (number | undefined)[] = [];
  const large: bigint[] = [];
  return {
    add(index, from, start, end) {
      if (end - start > exactDigits) {
        large[index] = (large[index] ?? 0n) + BigInt(from.toString("latin1", start, end));
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
      large[index] = (large[index] ?? 0n) + BigInt(small[index] ?? 0);
      small[index] = value;
    },
    text(index) {
      const rest = small[index];
      const whole = large[index];
      if (rest === undefined) return undefined;
      return whole === undefined ? String(rest) : String(whole + BigInt(rest));
    },
  };
}

interface RollupOptions {
  /** The fields whose values make a group. */
  readonly fields: readonly string[];
  /** How many groups are kept at most. */
  readonly maxGroups: number;
}

/** What happened to a line. `other`: it has no counters that can be added, or is no flow. `full`: there is no room for its group. */
type RollupOutcome = "added" | "other" | "full";

/** Adds flow records up: one for all whose chosen fields are the same. */
interface Rollup {
  /** Takes the record of a line, with its line feed or without. What is not `added` is to be passed on as it is. */
  add(from: Buffer, start: number, end: number): RollupOutcome;
  readonly groups: number;
  /**
   * Takes the groups away.
   *
   * @param time of the records, RFC 3339.
   * @returns the line of each group, one after the other as it is asked for.
   */
  take(time: string): Iterable<string>;
}

interface Group {
  /** The values of the chosen fields, one behind the other. */
  readonly key: Uint8Array;
  readonly sums: Sums;
  records: number;
  /** With their quotes; empty where no record had one. */
  start: string;
  end: string;
}

/** What a field is for: a place among the chosen ones, a number to be added, a time; or that the record stays as it is. */
type Use = { readonly kind: "group" | "sum"; readonly index: number } | { readonly kind: "start" | "end" | "type" };

/** Names that cannot be chosen, because they are made of all records of a group. */
export const rolledUpFields: ReadonlySet<string> = new Set([
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.record.type",
  "flow.rollup.records",
  ...summedFields,
]);

function createRollup({ fields, maxGroups }: RollupOptions): Rollup {
  const uses = usesByName(fields);
  const walker = createLineWalker((name) => uses.get(name));
  const names = fields.map((name) => `,${JSON.stringify(name)}:`);
  const key = createGroupKey(fields.length);
  const starts = new Uint32Array(summedFields.length);
  const ends = new Uint32Array(summedFields.length);
  /** By the hash of their keys; those of one hash are in a list. */
  let groups = new Map<number, Group[]>();
  let groupCount = 0;
  let counters = 0;
  let isOther = false;
  let from: Buffer = Buffer.alloc(0);
  /** Where times begin; 0: the record has none. */
  let start = 0;
  let end = 0;

  const visit = (use: Use, _name: number, value: number, valueEnd: number): void => {
    switch (use.kind) {
      case "group":
        key.set(use.index, value, valueEnd);
        break;
      case "sum":
        if (!isWhole(from, value, valueEnd)) isOther = true;
        starts[use.index] = value;
        ends[use.index] = valueEnd;
        counters++;
        break;
      case "start":
        start = value;
        break;
      case "end":
        end = value;
        break;
      case "type":
        isOther = true;
    }
  };

  /** The group of the record that was read; undefined: there is no room for it. */
  const groupOfKey = (): Group | undefined => {
    const hash = key.pack(from);
    const known = groups.get(hash);
    const found = known?.find((one) => key.is(one.key));
    if (found !== undefined) return found;
    if (groupCount >= maxGroups) return undefined;
    groupCount++;
    const group = { key: key.copy(), sums: createSums(), records: 0, start: "", end: "" };
    if (known === undefined) groups.set(hash, [group]);
    else known.push(group);
    return group;
  };

  return {
    get groups() {
      return groupCount;
    },
    add(bytes, lineStart, lineEnd) {
      from = bytes;
      key.clear();
      starts.fill(0);
      counters = 0;
      isOther = false;
      start = end = 0;
      walker.walk(bytes, lineStart, lineEnd, visit);
      if (isOther || counters === 0) return "other";
      const group = groupOfKey();
      if (group === undefined) return "full";
      group.records++;
      // No counter is at the beginning of a line.
      for (let i = 0; i < starts.length; i++) {
        if (starts[i] !== 0) group.sums.add(i, bytes, starts[i] as number, ends[i] as number);
      }
      if (start !== 0 && compareTimes(bytes, start, group.start) < 0) group.start = timeAt(bytes, start);
      if (end !== 0 && (group.end === "" || compareTimes(bytes, end, group.end) > 0)) group.end = timeAt(bytes, end);
      return "added";
    },
    take(time) {
      const taken = groups;
      groups = new Map();
      groupCount = 0;
      return linesOf(taken, names, time);
    },
  };
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

/** A time with its quotes. */
function timeAt(from: Buffer, start: number): string {
  return from.toString("latin1", start, from.indexOf(0x22, start + 1) + 1);
}

/**
 * Compares a time with another one: in UTC, with decimals or without, each in quotes.
 *
 * @param time empty: later than any.
 * @returns below 0: that of the line is earlier.
 */
function compareTimes(from: Buffer, start: number, time: string): number {
  if (time === "") return -1;
  // Without the Z, which is above the point and all digits.
  for (let i = 0; ; i++) {
    const one = digitOrEnd(from[start + i] as number);
    const other = digitOrEnd(time.charCodeAt(i));
    if (one !== other || one === 0) return one - other;
  }
}

/** What a character of a time counts: nothing for the Z that ends it. */
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

interface RollupSinkOptions extends RollupOptions {
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "now">;
  readonly report: RollupReport;
}

/** What a sink that adds records up counts. */
export interface RollupReport {
  /** Records that were added to a group. */
  added(records: number): void;
  /** Records that were passed on as they are, because there were too many groups. */
  overflowed(records: number): void;
  /** Records that were made of groups. */
  written(records: number): void;
  /** How many groups there are is read when metrics are. */
  groups(read: () => number): void;
}

/** Lines of groups are handed over in pieces of about this size, with other work between them. */
const pieceBytes = 512 * 1024;

/**
 * Gives a sink the sums of flow records instead of these: at the end of each interval, which begin with the epoch, and when it
 * stops. All other records pass as they come.
 */
export function rollupSink<T extends Sink & Component>(sink: T, options: RollupSinkOptions): T {
  const { intervalMs, clock, report } = options;
  const rollup = createRollup(options);
  report.groups(() => rollup.groups);
  let from = beginOf(clock.now());
  let timer: NodeJS.Timeout | undefined;
  /** Of an interval that is over: what is still to be handed over. */
  let lines: Iterator<string> | undefined;
  let next: NodeJS.Immediate | undefined;

  function beginOf(now: number): number {
    return Math.floor(now / intervalMs) * intervalMs;
  }

  /** @returns whether there is more. */
  const handOver = (of: Iterator<string>): boolean => {
    let text = "";
    let count = 0;
    while (text.length < pieceBytes) {
      const line = of.next();
      if (line.done === true) break;
      text += line.value;
      count++;
    }
    if (count === 0) return false;
    report.written(count);
    lendLines(sink, Buffer.from(text, "latin1"), count, () => {});
    return true;
  };

  const handOverAll = (): void => {
    clearImmediate(next);
    const rest = lines;
    lines = undefined;
    if (rest === undefined) return;
    let hasMore = true;
    while (hasMore) hasMore = handOver(rest);
  };

  const handOverNext = (): void => {
    if (lines !== undefined && handOver(lines)) next = setImmediate(handOverNext);
    else lines = undefined;
  };

  const endInterval = (): void => {
    // What the interval before has left goes first.
    handOverAll();
    if (rollup.groups > 0) lines = rollup.take(new Date(from).toISOString())[Symbol.iterator]();
    from = beginOf(clock.now());
    handOverNext();
  };

  const isOver = (): boolean => {
    const now = clock.now();
    // A clock that was set back begins another interval, too.
    return now >= from + intervalMs || now < from;
  };

  const schedule = (): void => {
    const rest = from + intervalMs - clock.now();
    timer = setTimeout(
      () => {
        if (isOver()) endInterval();
        schedule();
      },
      Math.min(intervalMs, Math.max(1, rest)),
    );
  };

  const take = (given: Uint8Array, _count: number): void => {
    if (isOver()) endInterval();
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
    const others: Buffer[] = [];
    let added = 0;
    let overflowed = 0;
    let kept = 0;
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      const outcome = rollup.add(bytes, at, end);
      if (outcome === "added") {
        added++;
        continue;
      }
      if (outcome === "full") overflowed++;
      others.push(bytes.subarray(at, end));
      kept++;
    }
    if (added > 0) report.added(added);
    if (overflowed > 0) report.overflowed(overflowed);
    if (kept > 0) lendLines(sink, Buffer.concat(others), kept, () => {});
  };

  return {
    ...sink,
    write: take,
    lend(given: Uint8Array, count: number, done: () => void) {
      take(given, count);
      done();
    },
    async start() {
      await sink.start();
      schedule();
    },
    async stop() {
      clearTimeout(timer);
      endInterval();
      handOverAll();
      await sink.stop();
    },
  };
}
