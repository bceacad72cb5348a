import type { Clock } from "../../base/report/index.ts";
import { fieldKey, findValue } from "./line-fields.ts";
import type { FieldEdit } from "./line-editor.ts";

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

/**
 * Leaves flow records out when there are too many, so that sums stay right: of each group of n records one is kept, drawn by lot, and stands
 * for n. A second's records decide on the n of the next; within a second n doubles each time that as many were kept as may be.
 */
export class Thinning {
  /** What happens to the fields of a record that stands for several: the last one weighed. */
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

  /** Begins lines that came together. */
  begin(): void {
    this.#now = this.#options.clock.monotonic();
    this.#leftOut = 0;
  }

  /** How many records one stands for; 0: it is left out. Records without a sampling rate stand for themselves. */
  weigh(line: Buffer, start: number, end: number): number {
    const record = line.subarray(start, end);
    this.#weight = 1;
    if (findValue(record, 0, record.length, rateKey) < 0) return 1;
    const { byExporter, maxRate, random } = this.#options;
    const stream = this.#streamOf(byExporter ? exporterOf(record) : "");
    this.#beginSecond(stream);
    stream.seen++;
    if (stream.position === stream.size || stream.position === 0) {
      // A group that has begun is finished with its size, so that its one record stands for all of it.
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

  /** Ends them. */
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

/** The product as it stands in a line; whole numbers are exact. */
function multiply(text: string, by: number): string {
  const product = Number(text) * by;
  if (Number.isSafeInteger(product) || !/^[0-9]+$/.test(text)) return String(product);
  return String(BigInt(text) * BigInt(by));
}
