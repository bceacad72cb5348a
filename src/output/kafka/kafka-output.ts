import type { Batch } from "../delivery/batch.ts";
import { batchKey, positionOf } from "../delivery/batch.ts";
import { compressor } from "../delivery/compress.ts";
import { createKeyFinder } from "../delivery/key-fields.ts";
import { allAccepted, type Outcome, type OutputAdapter, type Refusal } from "../delivery/output-adapter.ts";
import type { KafkaClient } from "./kafka-client.ts";
import type { KafkaOutputConfig } from "./kafka-config.ts";
import { createKafkaLane, type KafkaLane } from "./kafka-lane.ts";
import { readLines, type BatchLines } from "./kafka-lines.ts";
import { planChunks, type Chunk } from "./kafka-plan.ts";
import { createKafkaTopics } from "./kafka-topics.ts";

/**
 * Writes records to topics of Kafka. A batch keeps its lane, which is a producer of its own, until all of it is written or
 * refused: what is sent again is recognised by the brokers. A batch that is in doubt when the collector ends may be
 * written twice, by the next run.
 *
 * @throws Error when this Node cannot compress as wanted.
 */
export function createKafkaOutput(
  config: KafkaOutputConfig,
  createClient: (config: KafkaOutputConfig) => Promise<KafkaClient> = loadClient,
): OutputAdapter {
  // Throws where this Node has none.
  if (config.compression === "zstd") compressor("zstd");
  const findKey = createKeyFinder(config.keyFields);
  const topics = createKafkaTopics(config.topics);
  const free: KafkaLane[] = [];
  const held = new Map<string, KafkaLane>();
  let isIdempotent = config.isIdempotent && config.acks === -1;
  let client: KafkaClient | undefined;

  const planOf = async (of: KafkaClient, batch: Batch, lines: BatchLines): Promise<Chunk[]> => {
    const used = new Set(lines.topicOf);
    const counted = topics.names.map(async (name, number) => ({
      name,
      partitions: used.has(number) ? (await of.leaders(name)).length : 0,
    }));
    const { maxMessageBytes } = config;
    return planChunks(batch, lines, { topics: await Promise.all(counted), maxMessageBytes });
  };

  return {
    async open() {
      client ??= await createClient(config);
      for (const topic of topics.names) await client.leaders(topic);
      const warnings: string[] = [];
      if (isIdempotent && (await client.newProducer()) === undefined) {
        isIdempotent = false;
        warnings.push("the user may not write idempotently: after a fault some records may be in Kafka twice");
      }
      return warnings;
    },
    async send(batch, signal) {
      if (client === undefined) throw new Error("not open");
      const open = client;
      const key = batchKey(batch.id);
      const lane = held.get(key) ?? free.pop() ?? createKafkaLane(open, isIdempotent);
      held.set(key, lane);
      const lines = readLines(batch, findKey, topics.topicOf);
      const fault = await lane.send(lines, () => planOf(open, batch, lines), signal);
      // The core has not seen the result of an aborted call: the lane keeps it for the next one.
      signal.throwIfAborted();
      const outcome = { ...outcomeOf(batch, lane.chunks()), ...(fault && { fault }) };
      if (fault !== undefined && outcome.retry.length === batch.count) throw fault;
      if (lane.chunks().every(({ state }) => state !== "open")) {
        held.delete(key);
        lane.release();
        free.push(lane);
      }
      return outcome;
    },
    async close() {
      await client?.close();
    },
  };
}

/** The library is large: threads that deliver nothing to Kafka do not load it. */
async function loadClient(config: KafkaOutputConfig): Promise<KafkaClient> {
  const { createKafkaClient } = await import("./kafka-client.ts");
  return createKafkaClient(config);
}

function outcomeOf(batch: Batch, chunks: readonly Chunk[]): Outcome {
  if (chunks.length > 0 && chunks.every(({ state }) => state === "accepted")) return allAccepted;
  const byPosition = new Map<number, Chunk>();
  for (const chunk of chunks) for (const position of chunk.positions) byPosition.set(position, chunk);
  const refused: Refusal[] = [];
  const retry: number[] = [];
  for (let index = 0; index < batch.count; index++) {
    const chunk = byPosition.get(positionOf(batch, index));
    if (chunk?.state === "refused") refused.push({ index, reason: chunk.reason });
    else if (chunk?.state !== "accepted") retry.push(index);
  }
  return { refused, retry };
}
