import { copyLines, leaseLines, type MatchesLine, type ShapeLines, type Sink } from "../../record/index.ts";
import { dropField, type FieldEdit, LineEditor } from "./line-editor.ts";
import { recordTypeOf, fieldKey, findValue } from "./line-fields.ts";
import { recordTypes, type RecordType } from "./settings.ts";
import type { Clock } from "../../base/report/index.ts";

interface LineFilterOptions {
  /** Types that pass; absent: all. */
  readonly types?: readonly RecordType[];
  readonly dropFields?: readonly string[];
  /** Edits of fields by name; fields in `dropFields` are dropped first. */
  readonly edits?: ReadonlyMap<string, FieldEdit>;
  /** Keeps a sample when there are too many records; absent: keeps all. */
  readonly thinning?: Thinning | undefined;
  /** The filter; absent: every record matches. */
  readonly matches?: MatchesLine | undefined;
  /** Called with the number of records that do not match, not counting records of other types. */
  readonly filtered?: (records: number) => void;
}

/**
 * Returns a function that passes only records of some types that match a filter, and drops or edits their fields. The result is in
 * memory of its own.
 *
 * @returns undefined when every line passes unchanged: then no line needs to be examined.
 */
export function createLineFilter(options: LineFilterOptions): ShapeLines | undefined {
  const {
    types = recordTypes,
    dropFields = [],
    edits = new Map<string, FieldEdit>(),
    matches,
    thinning,
    filtered,
  } = options;
  const allowed = new Set(types);
  const takesAll = recordTypes.every((type) => type === "as_path_hop" || allowed.has(type));
  const all = new Map([...edits, ...dropFields.map((name) => [name, dropField] as const)]);
  if (takesAll && all.size === 0 && matches === undefined && thinning === undefined) return undefined;
  const editor = all.size === 0 ? undefined : new LineEditor(all);
  const weighted = thinning && new LineEditor(new Map([...thinning.edits, ...all]));
  const maxGrowth = (weighted ?? editor)?.maxGrowth ?? 0;
  let to = Buffer.alloc(0);
  return (lines, records) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const most = lines.length + records * maxGrowth;
    if (to.length < most) to = Buffer.allocUnsafeSlow(most);
    let length = 0;
    let count = 0;
    let others = 0;
    thinning?.begin();
    for (let at = 0, end = 0; at < from.length; at = end) {
      end = from.indexOf(0x0a, at) + 1 || from.length;
      if (!takesAll && !allowed.has(recordTypeOf(from, at, end))) continue;
      if (matches !== undefined && !matches(from, at, end)) {
        others++;
        continue;
      }
      const weight = thinning === undefined ? 1 : thinning.weigh(from, at, end);
      if (weight === 0) continue;
      const copier = weight > 1 ? weighted : editor;
      length = copier?.copy(from, at, end, to, length) ?? copyLines(from, at, end, to, length);
      count++;
    }
    thinning?.end();
    if (others > 0) filtered?.(others);
    // Copy: a caller that keeps the lines keeps no more memory than they take.
    return count === 0
      ? undefined
      : { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, length).buffer), count };
  };
}

const lineStart = Buffer.from('{"@timestamp":"');
const quote = 0x22;

/** The greatest credible difference between an exporter's time and the time of receipt, milliseconds. */
const believedMs = 86_400_000;
/** The length of `2026-01-02`. */
const dateLength = 10;

/**
 * Returns a function that copies the value of another time field into `@timestamp`, which is the first field of each line.
 * A line without that field stays unchanged. So does one whose field is more than a day from the time of receipt, which
 * `@timestamp` holds before: it names indices and partitions, and a wrong exporter clock must not create one for each year it shows.
 *
 * @returns lines in memory of their own.
 *
 * @param field a field of texts without escapes, as times are.
 */
export function createTimestampSource(field: string): (lines: Uint8Array) => Uint8Array {
  // A quote in a text has a backslash before it, so this matches only the field itself.
  const name = Buffer.from(`,"${field}":"`);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Buffer[] = [];
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      const line = from.subarray(at, end);
      at = end;
      const found = line.indexOf(name);
      const isTimed = line.subarray(0, lineStart.length).equals(lineStart);
      const valueEnd = isTimed && found >= 0 ? line.indexOf(quote, found + name.length) : -1;
      const rest = line.indexOf(quote, lineStart.length);
      if (valueEnd < 0 || !isNear(line, lineStart.length, rest, found + name.length, valueEnd)) parts.push(line);
      else parts.push(lineStart, line.subarray(found + name.length, valueEnd), line.subarray(rest));
    }
    // Copy: a caller that keeps the lines keeps no more memory than they take.
    return new Uint8Array(Buffer.concat(parts));
  };
}

/** Reports whether two times in a line are at most a day apart. */
function isNear(line: Buffer, from: number, to: number, otherFrom: number, otherTo: number): boolean {
  // Times of the same date are, and need no parsing.
  const dateEnd = from + dateLength;
  if (to > dateEnd && otherTo > otherFrom + dateLength) {
    if (line.compare(line, from, dateEnd, otherFrom, otherFrom + dateLength) === 0) return true;
  }
  const [received, named] = [timeOf(line, from, to), timeOf(line, otherFrom, otherTo)];
  return Math.abs(received - named) <= believedMs;
}

/** Parses milliseconds since the epoch; NaN: not a time. */
function timeOf(line: Buffer, from: number, to: number): number {
  // The engine's parser does not accept nanoseconds.
  return Date.parse(line.toString("latin1", from, to).replace(/(\.[0-9]{3})[0-9]+/, "$1"));
}

/** Returns a sink that passes only filtered lines. Lines that pass are copied. */
export function filteredSink(sink: Sink, filter: ShapeLines): Sink {
  const write = (lines: Uint8Array, count: number): void => {
    const passed = filter(lines, count);
    if (passed !== undefined) leaseLines(sink, passed.lines, passed.count, () => {});
  };
  return {
    write,
    lease(lines, count, done) {
      write(lines, count);
      done();
    },
  };
}

export interface ThinningOptions {
  /** Records a second. */
  readonly maxRate: number;
  /** True if the rate is for each exporter, false if for all together. */
  readonly byExporter: boolean;
  /** True if `flow.bytes` and related fields are estimates by the sampling rate; else the estimates are below `flow.scaled`. */
  readonly hasScaledCounters: boolean;
  readonly clock: Pick<Clock, "monotonic">;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  /** Called with the number of records that are left out. */
  readonly thinned: (records: number) => void;
}

interface Stream {
  /** The number of records of a group; the position of the next one, and of the one that is kept. */
  size: number;
  position: number;
  pick: number;
  /** The size of the groups to come. */
  nextSize: number;
  since: number;
  seen: number;
  kept: number;
}

const rateKey = fieldKey("flow.sample_rate");
const exporterKey = fieldKey("flow.export.ip.addr");
/** Fields that are scaled by the sampling rate. */
const estimates = ["flow.bytes", "flow.packets", "flow.reverse.bytes", "flow.reverse.packets"];
const estimatesAside = [
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.reverse.scaled.bytes",
  "flow.reverse.scaled.packets",
];
const second = 1000;
/** The limit of streams: forged senders count as exporters, too. */
const maxStreams = 16_384;

/**
 * Samples flow records when there are too many, without biasing sums: of each group of n records, one is kept at random and represents
 * n. The records of one second determine the n of the next. Within a second n doubles each time the limit of kept records is reached.
 */
export class Thinning {
  /** Edits for the last weighed record, if it represents several. */
  readonly edits: ReadonlyMap<string, FieldEdit>;
  readonly #options: ThinningOptions;
  readonly #streams = new Map<string, Stream>();
  #now = 0;
  #leftOut = 0;
  #weight = 1;

  constructor(options: ThinningOptions) {
    this.#options = options;
    const fields = ["flow.sample_rate", ...(options.hasScaledCounters ? estimates : estimatesAside)];
    const multiplied: FieldEdit = {
      maxGrowth: 24,
      write: (from, value, end, to, at) =>
        at + to.write(multiply(from.toString("latin1", value, end), this.#weight), at, "latin1"),
    };
    this.edits = new Map(fields.map((name) => [name, multiplied]));
  }

  /** Starts a chunk of lines. */
  begin(): void {
    this.#now = this.#options.clock.monotonic();
    this.#leftOut = 0;
  }

  /** Returns how many records this one represents; 0: it is left out. Records without a sampling rate represent only themselves. */
  weigh(line: Buffer, start: number, end: number): number {
    const record = line.subarray(start, end);
    this.#weight = 1;
    if (findValue(record, 0, record.length, rateKey) < 0) return 1;
    const { byExporter, maxRate, random } = this.#options;
    const stream = this.#streamOf(byExporter ? exporterOf(record) : "");
    this.#beginSecond(stream);
    stream.seen++;
    if (stream.position === stream.size || stream.position === 0) {
      // A group keeps its size to its end, so that its one record represents all of it.
      stream.size = stream.nextSize;
      stream.position = 0;
      stream.pick = Math.floor(random() * stream.size);
    }
    const isKept = stream.position++ === stream.pick;
    if (!isKept) {
      this.#leftOut++;
      return 0;
    }
    if (++stream.kept % maxRate === 0) stream.nextSize *= 2;
    this.#weight = stream.size;
    return stream.size;
  }

  /** Ends the chunk. */
  end(): void {
    if (this.#leftOut > 0) this.#options.thinned(this.#leftOut);
  }

  #streamOf(name: string): Stream {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    if (this.#streams.size >= maxStreams) this.#streams.clear();
    const stream = { size: 1, position: 0, pick: 0, nextSize: 1, since: this.#now, seen: 0, kept: 0 };
    this.#streams.set(name, stream);
    return stream;
  }

  #beginSecond(stream: Stream): void {
    const seconds = (this.#now - stream.since) / second;
    if (seconds < 1) return;
    stream.nextSize = Math.max(1, Math.ceil(stream.seen / seconds / this.#options.maxRate));
    stream.since = this.#now;
    stream.seen = 0;
    stream.kept = 0;
  }
}

function exporterOf(record: Buffer): string {
  const at = findValue(record, 0, record.length, exporterKey);
  return at < 0 ? "" : record.toString("latin1", at + 1, record.indexOf(0x22, at + 1));
}

/** Returns the product as text for a line; whole numbers are exact. */
function multiply(text: string, by: number): string {
  const product = Number(text) * by;
  if (Number.isSafeInteger(product) || !/^[0-9]+$/.test(text)) return String(product);
  return String(BigInt(text) * BigInt(by));
}
