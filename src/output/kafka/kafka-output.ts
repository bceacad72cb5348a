import { positionOf, type Batch, batchKey } from "../delivery/batch.ts";
import { BatchMessages, type MessageLines } from "./batch-messages.ts";
import { createKafkaTopics, lengthOf, recordOverhead, type BatchLines, readLines } from "./record-batch.ts";
import { DeliveryError } from "../delivery/output-adapter.ts";
import type { KafkaClient, ProduceAnswer, ProducerId } from "./kafka-client.ts";
import { FlowEncoder, type MessageEncoder } from "./flow-message.ts";
import { GoflowEncoder } from "./goflow-message.ts";
import { MessageWriter } from "./message-writer.ts";
import { kafkaCode, topicFailure } from "./kafka-failure.ts";
import { compressor } from "../http/server-settings.ts";
import { createKeyFinder, type KeyFinder } from "../delivery/line-fields.ts";
import { allAccepted, type Outcome, type OutputAdapter, type Refusal } from "../delivery/output-adapter.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { KafkaSettings } from "./settings.ts";

const multiplier = 0x5bd1_e995;
const seed = 0x9747_b28c;

/**
 * Returns the MurmurHash2 of the bytes at `from` … `to`, by which Kafka's Java client chooses the partition of a key; 31 bits, not
 * negative. The library's implementation uses big integers and takes as long as copying the record.
 */
export function murmur2(bytes: Uint8Array, from: number, to: number): number {
  const byteAt = (at: number): number => bytes[at] as number;
  let hash = seed ^ (to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    let word = byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24);
    word = Math.imul(word, multiplier);
    word = Math.imul(word ^ (word >>> 24), multiplier);
    hash = Math.imul(hash, multiplier) ^ word;
  }
  if (at < to) {
    for (let i = to - 1; i >= at; i--) hash ^= byteAt(i) << (8 * (i - at));
    hash = Math.imul(hash, multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return (hash ^ (hash >>> 15)) & 0x7fff_ffff;
}

/**
 * Records of one batch that are written to a partition together. Its records and its sequence stay the same for all tries, so a
 * broker recognises it.
 */
interface Chunk {
  readonly topic: string;
  partition: number;
  /** Positions of the records in the original batch, ascending. */
  readonly positions: readonly number[];
  /** The sequence number of its first record; undefined until it is sent. */
  sequence: number | undefined;
  /** True if it was sent and the result is unknown. */
  isUncertain: boolean;
  state: "open" | "accepted" | "refused";
  /** The reason of a refusal. */
  reason: string;
}

interface PlanOptions {
  /** The topics, indexed by number. */
  readonly topics: readonly { readonly name: string; readonly partitions: number }[];
  readonly maxMessageBytes: number;
}

/** The number of consecutive keyless records that go to one partition. */
const runLength = 1000;

/**
 * Distributes the records of a batch over partitions: those with a key like Kafka's Java client, the others round robin by runs.
 * A batch gets the same partitions each time.
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

/** Returns a chunk that no broker has seen. */
function newChunk(topic: string, partition: number, positions: readonly number[]): Chunk {
  return { topic, partition, positions, sequence: undefined, isUncertain: false, state: "open", reason: "" };
}

/** Codes for a sequence or producer that the broker does not expect: the state of one of them is lost. */
const isForeignSequence: ReadonlySet<number> = new Set([
  kafkaCode.outOfOrderSequence,
  kafkaCode.invalidProducerEpoch,
  kafkaCode.invalidProducerIdMapping,
  kafkaCode.unknownProducerId,
]);
/** Codes for a single record at fault, or too many records. */
const isContent: ReadonlySet<number> = new Set([
  kafkaCode.messageTooLarge,
  kafkaCode.recordListTooLarge,
  kafkaCode.invalidTimestamp,
  kafkaCode.invalidRecord,
]);
/** Codes after which the records may have been written. */
const isInDoubt: ReadonlySet<number> = new Set([kafkaCode.requestTimedOut, kafkaCode.notEnoughReplicasAfterAppend]);

/** Reports whether these lines have the records of a chunk, which stay together. */
const isIn = (lines: BatchLines, { positions }: Chunk): boolean => lines.has(positions[0] ?? 0);

const placeOf = ({ topic, partition }: Pick<Chunk, "topic" | "partition">): string => `${topic}:${partition}`;

/**
 * One producer, which sends one batch at a time. Brokers number the records of a producer in each partition. A chunk whose
 * result is unknown is sent again with its old number before anything else goes to its partition.
 */
class KafkaLane {
  readonly #client: KafkaClient;
  readonly #isIdempotent: boolean;
  #producer: ProducerId | undefined;
  /** The next sequence by topic and partition. */
  #sequences = new Map<string, number>();
  #chunks: Chunk[] | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #mustRenew = false;
  /** The messages of its batch, unless it sends the lines. */
  readonly messages = new MessageWriter();
  /** The number of values of its batch that its messages cannot hold. */
  leftOut = 0;
  /** The number of records of its batch whose line was truncated. */
  cut = 0;

  constructor(client: KafkaClient, isIdempotent: boolean) {
    this.#client = client;
    this.#isIdempotent = isIdempotent;
  }

  /** The chunks of its batch and their states. */
  get chunks(): readonly Chunk[] {
    return this.#chunks ?? [];
  }

  /**
   * Sends the open chunks of its batch. Calls for one batch may overlap when the earlier one is aborted.
   *
   * @param plan is called at the batch's first try.
   * @returns the fault, when some could be neither written nor refused.
   */
  send(lines: BatchLines, plan: () => Promise<Chunk[]>, signal: AbortSignal): Promise<DeliveryError | undefined> {
    const sent = this.#running.then(() => this.#sendAll(lines, plan, signal));
    this.#running = sent.catch(() => {});
    return sent;
  }

  /** Ends its batch. */
  release(): void {
    this.#chunks = undefined;
  }

  /** Replaces the producer: records in doubt may be written twice. */
  #renew(): void {
    this.#mustRenew = false;
    this.#producer = undefined;
    this.#sequences = new Map();
    for (const chunk of this.#chunks ?? []) {
      chunk.sequence = undefined;
      chunk.isUncertain = false;
    }
  }

  /** Distributes chunks of missing partitions again: a topic that was recreated may have fewer partitions, and knows no batch. */
  async #moveStrays(open: readonly Chunk[]): Promise<void> {
    let isMoved = false;
    for (const chunk of open) {
      const { length } = await this.#client.leaders(chunk.topic);
      if (chunk.partition < length) continue;
      chunk.partition %= length;
      isMoved = true;
    }
    if (isMoved) this.#renew();
  }

  /** Reopens refused chunks. @returns whether there were some. */
  #reopenRefused(lines: BatchLines): boolean {
    let isAny = false;
    this.#chunks = this.#chunks?.map((one) => {
      if (one.state !== "refused" || !isIn(lines, one)) return one;
      isAny = true;
      return newChunk(one.topic, one.partition, one.positions);
    });
    return isAny;
  }

  #accept(chunk: Chunk): void {
    chunk.state = "accepted";
    // Sequences have 31 bits and wrap.
    this.#sequences.set(placeOf(chunk), ((chunk.sequence ?? 0) + chunk.positions.length) % 0x8000_0000);
  }

  #refuseOrSplit(chunk: Chunk, { code, said }: ProduceAnswer): void {
    // An earlier try may have been written: other records must not get its numbers.
    if (chunk.isUncertain) this.#mustRenew = true;
    if (chunk.positions.length === 1) {
      chunk.state = "refused";
      const isTooLarge = code === kafkaCode.messageTooLarge || code === kafkaCode.recordListTooLarge;
      chunk.reason = isTooLarge ? `the record is too large for the topic ${chunk.topic}` : said;
      return;
    }
    const { topic, partition, positions } = chunk;
    const middle = positions.length >>> 1;
    const halves = [positions.slice(0, middle), positions.slice(middle)].map((half) =>
      newChunk(topic, partition, half),
    );
    this.#chunks = this.#chunks?.flatMap((one) => (one === chunk ? halves : [one]));
  }

  /** Notes the answer for a chunk. @returns the fault, when the chunk has to wait. */
  #judge(chunk: Chunk, answer: ProduceAnswer | undefined): DeliveryError | undefined {
    if (answer === undefined) {
      chunk.isUncertain = true;
      return new DeliveryError(
        "store",
        "no_answer",
        `the broker does not report the result for the topic ${chunk.topic}`,
      );
    }
    const { code, said } = answer;
    if (code === kafkaCode.none || code === kafkaCode.duplicateSequence) {
      this.#accept(chunk);
      return undefined;
    }
    if (isContent.has(code)) {
      this.#refuseOrSplit(chunk, answer);
      return undefined;
    }
    if (isInDoubt.has(code)) chunk.isUncertain = true;
    if (isForeignSequence.has(code)) this.#mustRenew = true;
    this.#client.forgetLeaders();
    return topicFailure(code, chunk.topic, said);
  }

  /** Sends one chunk for each place. @returns the faults by place. */
  async #round(
    next: readonly Chunk[],
    lines: BatchLines,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, DeliveryError>> {
    const faults = new Map<string, DeliveryError>();
    if (this.#isIdempotent) this.#producer ??= await this.#client.newProducer();
    const byLeader = new Map<number, Chunk[]>();
    for (const chunk of next) {
      const leader = (await this.#client.leaders(chunk.topic))[chunk.partition] ?? -1;
      const group = byLeader.get(leader) ?? [];
      byLeader.set(leader, group);
      group.push(chunk);
    }
    // After an abort the lines belong to the core, which may free their memory.
    signal.throwIfAborted();
    await Promise.all(
      [...byLeader].map(async ([leader, group]) => {
        const requests = group.map((chunk) => {
          const indexes = chunk.positions.map((position) => lines.indexOf(position));
          const sequence = (chunk.sequence ??= this.#sequences.get(placeOf(chunk)) ?? 0);
          const records = this.#client.encode(lines, indexes, this.#producer, sequence);
          return { topic: chunk.topic, partition: chunk.partition, records };
        });
        try {
          const answers = await this.#client.produce(leader, requests, signal);
          for (const chunk of group) {
            const fault = this.#judge(
              chunk,
              answers.find((answer) => placeOf(answer) === placeOf(chunk)),
            );
            if (fault !== undefined) faults.set(placeOf(chunk), fault);
          }
        } catch (error) {
          for (const chunk of group) {
            chunk.isUncertain = true;
            faults.set(placeOf(chunk), error as DeliveryError);
          }
        }
      }),
    );
    if (this.#mustRenew) this.#renew();
    return faults;
  }

  async #sendAll(
    lines: BatchLines,
    plan: () => Promise<Chunk[]>,
    signal: AbortSignal,
  ): Promise<DeliveryError | undefined> {
    this.#chunks ??= await plan();
    // Send refused chunks once more: the core judges whether the record is at fault.
    this.#reopenRefused(lines);
    /** True if refused chunks were sent again after others had been accepted: the topic may have been mended meanwhile. */
    let isConfirmed = false;
    await this.#moveStrays(this.#chunks.filter(({ state }) => state === "open"));
    const faulty = new Map<string, DeliveryError>();
    for (;;) {
      signal.throwIfAborted();
      const next = new Map<string, Chunk>();
      for (const chunk of this.#chunks) {
        const place = placeOf(chunk);
        if (chunk.state === "open" && !next.has(place) && !faulty.has(place)) next.set(place, chunk);
      }
      // Chunks of a later part of the batch wait, and so do those after them: a partition gets its chunks in order.
      for (const [place, chunk] of next) if (!isIn(lines, chunk)) next.delete(place);
      if (next.size === 0) {
        if (isConfirmed || !this.#chunks.some(({ state }) => state === "accepted") || !this.#reopenRefused(lines)) {
          return faulty.values().next().value;
        }
        isConfirmed = true;
        continue;
      }
      for (const [place, fault] of await this.#round([...next.values()], lines, signal)) faulty.set(place, fault);
    }
  }
}

/**
 * Writes records to topics of Kafka. A batch keeps its lane, which is a producer of its own, until all of it is written or
 * refused, so brokers recognise records that are sent again. A batch that is in doubt when the collector ends may be
 * written twice, by the next run.
 *
 * @throws Error when this Node does not support the compression.
 */
export class KafkaOutput implements OutputAdapter {
  readonly #settings: KafkaSettings;
  readonly #createClient: () => KafkaClient;
  readonly #findKey: KeyFinder;
  readonly #topics: ReturnType<typeof createKafkaTopics>;
  /** Undefined: lines are sent as they are. */
  readonly #messages: BatchMessages | undefined;
  readonly #free: KafkaLane[] = [];
  readonly #held = new Map<string, KafkaLane>();
  #isIdempotent: boolean;
  #client: KafkaClient | undefined;

  constructor(settings: KafkaSettings, { nameOf }: Pick<AdapterContext, "nameOf">, createClient: () => KafkaClient) {
    // Fail early where this Node has no zstd.
    if (settings.PRODUCER_COMPRESSION === "zstd") compressor("zstd");
    this.#settings = settings;
    this.#createClient = createClient;
    this.#findKey = createKeyFinder(settings.PARTITION_KEY.map(nameOf));
    this.#topics = createKafkaTopics(settings);
    const encoder = encoders[settings.FORMAT]();
    this.#messages = encoder && new BatchMessages(encoder, settings.PROTOBUF_DELIMITED);
    this.#isIdempotent = settings.PRODUCER_IDEMPOTENCE_ENABLE && settings.PRODUCER_REQUIRED_ACKS === "all";
  }

  async open(): Promise<readonly string[]> {
    this.#client ??= this.#createClient();
    for (const topic of this.#topics.names) await this.#client.leaders(topic);
    if (!this.#isIdempotent || (await this.#client.newProducer()) !== undefined) return [];
    this.#isIdempotent = false;
    return ["the user may not write idempotently: after a fault some records may be in Kafka twice"];
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    if (this.#client === undefined) throw new Error("not open");
    const client = this.#client;
    const key = batchKey(batch.id);
    const lane = this.#held.get(key) ?? this.#free.pop() ?? new KafkaLane(client, this.#isIdempotent);
    const { leftOut, cut, ...lines } = this.#recordsOf(batch, lane);
    this.#held.set(key, lane);
    const plan = (): Promise<Chunk[]> => {
      // Take the counts now: the batch is whole at its first try.
      lane.leftOut = leftOut;
      lane.cut = cut;
      return this.#plan(client, batch, lines);
    };
    const fault = await lane.send(lines, plan, signal);
    // The core has not seen the result of an aborted call: the lane keeps it for the next one.
    signal.throwIfAborted();
    const outcome = { ...outcomeOf(batch, lane.chunks), ...(fault && { fault }) };
    if (fault !== undefined && outcome.retry.length === batch.count) throw fault;
    if (lane.chunks.every(({ state }) => state !== "open")) {
      this.#held.delete(key);
      lane.release();
      this.#free.push(lane);
      const { leftOut: lacking, cut: cutOff } = lane;
      return { ...outcome, ...(lacking > 0 && { leftOut: lacking }), ...(cutOff > 0 && { cut: cutOff }) };
    }
    return outcome;
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  /** Returns the records of a batch. A try that was aborted before no longer reads the lane's messages. */
  #recordsOf(batch: Batch, lane: KafkaLane): MessageLines {
    const lines = readLines(batch, this.#findKey, this.#topics.topicOf);
    try {
      return this.#messages?.make(batch, lines, lane.messages) ?? { ...lines, leftOut: 0, cut: 0 };
    } catch (error) {
      // The records may come again in other batches, or never.
      if (!this.#held.has(batchKey(batch.id))) this.#free.push(lane);
      throw error;
    }
  }

  async #plan(client: KafkaClient, batch: Batch, lines: BatchLines): Promise<Chunk[]> {
    const used = new Set(lines.topicOf);
    const counted = this.#topics.names.map(async (name, number) => ({
      name,
      partitions: used.has(number) ? (await client.leaders(name)).length : 0,
    }));
    const { PRODUCER_MAX_MESSAGE_BYTES: maxMessageBytes } = this.#settings;
    return planChunks(batch, lines, { topics: await Promise.all(counted), maxMessageBytes });
  }
}

const encoders: Readonly<Record<KafkaSettings["FORMAT"], () => MessageEncoder | undefined>> = {
  json: () => undefined,
  protobuf: () => new FlowEncoder(),
  goflow2: () => new GoflowEncoder(),
};

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
