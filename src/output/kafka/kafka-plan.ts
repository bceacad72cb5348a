import { forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { recordTypeOf, type RecordType } from "../delivery/record-type.ts";

/**
 * Records of one batch that are written to a partition together. Its records and its sequence stay the same for all tries:
 * by these a broker recognises it.
 */
export interface Chunk {
  readonly topic: string;
  partition: number;
  /** Of the records in the batch as it was first made, ascending. */
  readonly positions: readonly number[];
  /** Of its first record; undefined until it is sent. */
  sequence: number | undefined;
  /** It was sent, and what came of that is not known. */
  isUncertain: boolean;
  state: "open" | "accepted" | "refused";
  /** Why it is refused. */
  reason: string;
}

/** The lines of a batch in memory of its own. */
export interface BatchLines {
  /** The key and the line of the record that has a position. */
  recordAt(position: number): { readonly key: Buffer | undefined; readonly value: Buffer };
  /** Positions of the batch that is sent, ascending. */
  readonly positions: readonly number[];
}

export interface PlanOptions {
  readonly topics: Readonly<Partial<Record<RecordType, string>>>;
  readonly maxMessageBytes: number;
  /** Partitions of each topic. */
  readonly counts: ReadonlyMap<string, number>;
  /** Not negative. */
  readonly hash: (key: Buffer) => number;
}

/** What the protocol adds to a record, at most. */
const recordOverhead = 32;
/** Records without a key that stay together. */
const runLength = 1000;

/** Copies the lines of a batch: the client must not see memory that is shared with other threads. */
export function readLines(batch: Batch, keyOf: (line: Buffer) => Buffer | undefined): BatchLines {
  const bytes = Buffer.allocUnsafe(batch.byteLength);
  let at = 0;
  for (const chunk of batch.chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  const records = new Map<number, { readonly key: Buffer | undefined; readonly value: Buffer }>();
  forEachLine({ chunks: [bytes] }, (_, from, to, index) => {
    const value = bytes.subarray(from, to);
    records.set(positionOf(batch, index), { key: keyOf(value), value });
  });
  return {
    recordAt(position) {
      const record = records.get(position);
      if (record === undefined) throw new RangeError(`the batch has no record ${position}`);
      return record;
    },
    positions: [...records.keys()],
  };
}

/** The topic of a line. A type without one goes nowhere, which the routing before has seen to. */
export function topicOf(line: Buffer, topics: PlanOptions["topics"]): string {
  const [first, ...others] = Object.values(topics);
  if (others.every((topic) => topic === first)) return first ?? "";
  return topics[recordTypeOf(line, 0, line.length)] ?? topics.flow ?? Object.values(topics)[0] ?? "";
}

/**
 * Spreads the records of a batch over partitions: those with a key as Kafka's own Java client does, the others round
 * robin by runs, so that a batch has the same partitions each time.
 */
export function planChunks(batch: Batch, lines: BatchLines, options: PlanOptions): Chunk[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, { positions: number[]; bytes: number }>();
  for (const position of lines.positions) {
    const { key, value } = lines.recordAt(position);
    const topic = topicOf(value, options.topics);
    const count = options.counts.get(topic) ?? 1;
    const turn = key === undefined ? batch.id.number + Math.trunc(position / runLength) : options.hash(key);
    const partition = turn % count;
    const place = `${topic}:${partition}`;
    const bytes = value.length + (key?.length ?? 0) + recordOverhead;
    let current = open.get(place);
    if (current === undefined || current.bytes + bytes > options.maxMessageBytes) {
      current = { positions: [], bytes: 0 };
      open.set(place, current);
      chunks.push(newChunk(topic, partition, current.positions));
    }
    current.positions.push(position);
    current.bytes += bytes;
  }
  return chunks;
}

/** A chunk that no broker has seen. */
export function newChunk(topic: string, partition: number, positions: readonly number[]): Chunk {
  return { topic, partition, positions, sequence: undefined, isUncertain: false, state: "open", reason: "" };
}
