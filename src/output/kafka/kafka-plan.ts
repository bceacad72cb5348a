import { positionOf, type Batch } from "../delivery/batch.ts";
import { lengthOf, recordOverhead, type BatchLines } from "./kafka-lines.ts";
import { murmur2 } from "./murmur2.ts";

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
  /** It was sent, and the result of that is not known. */
  isUncertain: boolean;
  state: "open" | "accepted" | "refused";
  /** Why it is refused. */
  reason: string;
}

export interface PlanOptions {
  /** Topics by their numbers. */
  readonly topics: readonly { readonly name: string; readonly partitions: number }[];
  readonly maxMessageBytes: number;
}

/** Records without a key that stay together. */
const runLength = 1000;

/**
 * Spreads the records of a batch over partitions: those with a key as Kafka's own Java client does, the others round
 * robin by runs, so that a batch has the same partitions each time.
 */
export function planChunks(batch: Batch, lines: BatchLines, { topics, maxMessageBytes }: PlanOptions): Chunk[] {
  const chunks: Chunk[] = [];
  const open: ({ positions: number[]; bytes: number } | undefined)[][] = topics.map(() => []);
  for (let index = 0; index < lines.count; index++) {
    const position = positionOf(batch, index);
    const number = lines.topicOf[index] as number;
    const { name, partitions } = topics[number] as PlanOptions["topics"][number];
    const partition = turnOf(batch, lines, index, position) % partitions;
    const bytes = lengthOf(lines, index) + recordOverhead;
    const ofTopic = open[number] ?? [];
    let current = ofTopic[partition];
    if (current === undefined || current.bytes + bytes > maxMessageBytes) {
      current = { positions: [], bytes: 0 };
      ofTopic[partition] = current;
      chunks.push(newChunk(name, partition, current.positions));
    }
    current.positions.push(position);
    current.bytes += bytes;
  }
  return chunks;
}

function turnOf(batch: Batch, lines: BatchLines, index: number, position: number): number {
  const key = lines.keyFrom[index] as number;
  if (key < 0) return batch.id.number + Math.trunc(position / runLength);
  return murmur2(lines.memories[lines.memoryOf[index] as number] as Buffer, key, lines.keyTo[index] as number);
}

/** A chunk that no broker has seen. */
export function newChunk(topic: string, partition: number, positions: readonly number[]): Chunk {
  return { topic, partition, positions, sequence: undefined, isUncertain: false, state: "open", reason: "" };
}
