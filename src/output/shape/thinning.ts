import type { Clock } from "../../base/report/index.ts";
import { fieldKey, findValue } from "../delivery/line-fields.ts";
import type { FieldEdit } from "../delivery/line-editor.ts";

export interface ThinningOptions {
  /** Records a second. */
  readonly maxRate: number;
  /** Whether each exporter may send this many, or all together. */
  readonly byExporter: boolean;
  /** Whether `flow.bytes` and its kin are estimates by the sampling rate; else those are below `flow.scaled`. */
  readonly hasScaledCounters: boolean;
  readonly clock: Pick<Clock, "monotonic">;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Called with how many records are left out. */
  readonly thinned: (records: number) => void;
}

/**
 * Leaves flow records out when there are too many, so that sums stay right: of each group of n records one is kept, drawn by lot, and stands
 * for n. A second's records decide on the n of the next; within a second n doubles each time that as many were kept as may be.
 */
export interface Thinning {
  /** Begins lines that came together. */
  begin(): void;
  /** How many records one stands for; 0: it is left out. Records without a sampling rate stand for themselves. */
  weigh(line: Buffer, start: number, end: number): number;
  /** Ends them. */
  end(): void;
  /** What happens to the fields of a record that stands for several: the last one weighed. */
  readonly edits: ReadonlyMap<string, FieldEdit>;
}

interface Stream {
  /** Records of a group; the position of the next one, and of the one that is kept. */
  size: number;
  position: number;
  pick: number;
  /** Of the groups to come. */
  nextSize: number;
  since: number;
  seen: number;
  kept: number;
}

const rateKey = fieldKey("flow.sample_rate");
const exporterKey = fieldKey("flow.export.ip.addr");
/** What grows with the sampling rate. */
const estimates = ["flow.bytes", "flow.packets", "flow.reverse.bytes", "flow.reverse.packets"];
const estimatesAside = [
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.reverse.scaled.bytes",
  "flow.reverse.scaled.packets",
];
const second = 1000;
/** Forged senders are exporters, too. */
const maxStreams = 16_384;

export function createThinning(options: ThinningOptions): Thinning {
  const { maxRate, byExporter, hasScaledCounters, clock, random, thinned } = options;
  const weightedFields = ["flow.sample_rate", ...(hasScaledCounters ? estimates : estimatesAside)];
  const streams = new Map<string, Stream>();
  let now = 0;
  let leftOut = 0;
  let weight = 1;

  const streamOf = (name: string): Stream => {
    const known = streams.get(name);
    if (known !== undefined) return known;
    if (streams.size >= maxStreams) streams.clear();
    const stream = { size: 1, position: 0, pick: 0, nextSize: 1, since: now, seen: 0, kept: 0 };
    streams.set(name, stream);
    return stream;
  };

  /** A group that has begun is finished with its size, so that its one record stands for all of it. */
  const beginGroup = (stream: Stream): void => {
    stream.size = stream.nextSize;
    stream.position = 0;
    stream.pick = Math.floor(random() * stream.size);
  };

  const look = (stream: Stream): void => {
    const seconds = (now - stream.since) / second;
    if (seconds < 1) return;
    stream.nextSize = Math.max(1, Math.ceil(stream.seen / seconds / maxRate));
    stream.since = now;
    stream.seen = 0;
    stream.kept = 0;
  };

  const multiplied: FieldEdit = {
    maxGrowth: 24,
    write: (from, value, end, to, at) =>
      at + to.write(multiply(from.toString("latin1", value, end), weight), at, "latin1"),
  };

  return {
    begin() {
      now = clock.monotonic();
      leftOut = 0;
    },
    weigh(line, start, end) {
      const record = line.subarray(start, end);
      weight = 1;
      if (findValue(record, 0, record.length, rateKey) < 0) return weight;
      const stream = streamOf(byExporter ? exporterOf(record) : "");
      look(stream);
      stream.seen++;
      if (stream.position === stream.size || stream.position === 0) beginGroup(stream);
      const isKept = stream.position++ === stream.pick;
      if (!isKept) {
        leftOut++;
        return 0;
      }
      if (++stream.kept % maxRate === 0) stream.nextSize *= 2;
      weight = stream.size;
      return weight;
    },
    end() {
      if (leftOut > 0) thinned(leftOut);
    },
    edits: new Map(weightedFields.map((name) => [name, multiplied])),
  };
}

function exporterOf(record: Buffer): string {
  const at = findValue(record, 0, record.length, exporterKey);
  return at < 0 ? "" : record.toString("latin1", at + 1, record.indexOf(0x22, at + 1));
}

/** The product as it stands in a line; whole numbers are exact. */
function multiply(text: string, by: number): string {
  const product = Number(text) * by;
  if (Number.isSafeInteger(product) || !/^[0-9]+$/.test(text)) return String(product);
  return String(BigInt(text) * BigInt(by));
}
