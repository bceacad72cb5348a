import { copyLines, leaseLines, type MatchesLine, type ShapeLines, type Sink } from "../../record/index.ts";
import { dropField, type FieldEdit, LineEditor } from "./line-editor.ts";
import { recordTypeOf } from "./line-fields.ts";
import { recordTypes, type RecordType } from "./settings.ts";
import type { Thinning } from "./thinning.ts";

interface LineFilterOptions {
  /** Left out: all. */
  readonly types?: readonly RecordType[];
  readonly dropFields?: readonly string[];
  /** What happens to fields, by their names; fields to drop come before it. */
  readonly edits?: ReadonlyMap<string, FieldEdit>;
  /** Leaves out some of too many records; left out: none. */
  readonly thinning?: Thinning | undefined;
  /** Left out: every record. */
  readonly matches?: MatchesLine | undefined;
  /** Called with how many records do not match, those of other types left out. */
  readonly filtered?: (records: number) => void;
}

/**
 * Takes only records of some types that match a filter, and takes fields out of them, or changes them. What is left lies in memory of its own.
 *
 * @returns undefined when every line passes as it is: then no line needs to be looked at.
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
    // Who keeps the lines is to keep no more memory than they take.
    return count === 0
      ? undefined
      : { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, length).buffer), count };
  };
}

const start = Buffer.from('{"@timestamp":"');
const quote = 0x22;

/** A time of an exporter that is further from the time of receipt is not believed, milliseconds. */
const believedMs = 86_400_000;
/** `2026-01-02` */
const dateLength = 10;

/**
 * Makes the function that puts the value of another field of time into `@timestamp`, which is the first field of each line.
 * A line without that field stays as it is. So does one whose field is more than a day from the time of receipt, which is
 * there before: `@timestamp` names indices and partitions, and an exporter's clock must not make one for each year that it shows.
 *
 * @returns lines in memory of their own.
 *
 * @param field a field of texts without escapes, as times are.
 */
export function createTimestampSource(field: string): (lines: Uint8Array) => Uint8Array {
  // In a text a quote has a backslash before it, so that this is the field itself.
  const name = Buffer.from(`,"${field}":"`);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Buffer[] = [];
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      const line = from.subarray(at, end);
      at = end;
      const found = line.indexOf(name);
      const isTimed = line.subarray(0, start.length).equals(start);
      const valueEnd = isTimed && found >= 0 ? line.indexOf(quote, found + name.length) : -1;
      const rest = line.indexOf(quote, start.length);
      if (valueEnd < 0 || !isNear(line, start.length, rest, found + name.length, valueEnd)) parts.push(line);
      else parts.push(start, line.subarray(found + name.length, valueEnd), line.subarray(rest));
    }
    // Who keeps the lines is to keep no more memory than they take.
    return new Uint8Array(Buffer.concat(parts));
  };
}

/** Whether two times of a line, from here to there, are at most a day apart. */
function isNear(line: Buffer, from: number, to: number, otherFrom: number, otherTo: number): boolean {
  // Those of one date are, and need no parsing.
  const dateEnd = from + dateLength;
  if (to > dateEnd && otherTo > otherFrom + dateLength) {
    if (line.compare(line, from, dateEnd, otherFrom, otherFrom + dateLength) === 0) return true;
  }
  const [received, named] = [timeOf(line, from, to), timeOf(line, otherFrom, otherTo)];
  return Math.abs(received - named) <= believedMs;
}

/** Milliseconds since the epoch; NaN: it is no time. */
function timeOf(line: Buffer, from: number, to: number): number {
  // Nanoseconds are more than the engine's parser takes.
  return Date.parse(line.toString("latin1", from, to).replace(/(\.[0-9]{3})[0-9]+/, "$1"));
}

/** Gives a sink only what passes a filter. Lines that pass are copied. */
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
