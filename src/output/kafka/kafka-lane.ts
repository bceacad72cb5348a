import { DeliveryError } from "../delivery/delivery-error.ts";
import type { KafkaClient, ProduceAnswer, ProducerId } from "./kafka-client.ts";
import { kafkaCode, topicFailure } from "./kafka-failure.ts";
import type { BatchLines } from "./kafka-lines.ts";
import { newChunk, type Chunk } from "./kafka-plan.ts";

/**
 * One producer, which has one batch at a time. The brokers number what a producer writes to a partition; a chunk whose
 * fate is not known is sent again with the number that it had, before anything else goes to its partition.
 */
export interface KafkaLane {
  /**
   * Sends what is open of its batch. Calls for one batch may overlap when the earlier one is aborted.
   *
   * @param plan is called at the batch's first try.
   * @returns what is wrong, when not all could be written or refused.
   */
  send(lines: BatchLines, plan: () => Promise<Chunk[]>, signal: AbortSignal): Promise<DeliveryError | undefined>;
  /** What happened to its batch. */
  chunks(): readonly Chunk[];
  /** Its batch is done. */
  release(): void;
}

/** The producer's numbers are not those that the broker has: the state of one of them is lost. */
const isForeignSequence: ReadonlySet<number> = new Set([
  kafkaCode.outOfOrderSequence,
  kafkaCode.invalidProducerEpoch,
  kafkaCode.invalidProducerIdMapping,
  kafkaCode.unknownProducerId,
]);
/** A single record is at fault, or there are too many. */
const isContent: ReadonlySet<number> = new Set([
  kafkaCode.messageTooLarge,
  kafkaCode.recordListTooLarge,
  kafkaCode.invalidTimestamp,
  kafkaCode.invalidRecord,
]);
/** After these the records may be written. */
const isInDoubt: ReadonlySet<number> = new Set([kafkaCode.requestTimedOut, kafkaCode.notEnoughReplicasAfterAppend]);

/** Whether the records of a chunk, which stay together, are in these lines. */
const isIn = (lines: BatchLines, { positions }: Chunk): boolean => lines.has(positions[0] ?? 0);

const placeOf = ({ topic, partition }: Pick<Chunk, "topic" | "partition">): string => `${topic}:${partition}`;

export function createKafkaLane(client: KafkaClient, isIdempotent: boolean): KafkaLane {
  let producer: ProducerId | undefined;
  /** The next sequence by place. */
  let sequences = new Map<string, number>();
  let chunks: Chunk[] | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let mustRenew = false;

  /** The producer begins again: what is in doubt may be written twice. */
  const renew = (): void => {
    mustRenew = false;
    producer = undefined;
    sequences = new Map();
    for (const chunk of chunks ?? []) {
      chunk.sequence = undefined;
      chunk.isUncertain = false;
    }
  };

  /** A topic that was made again may have fewer partitions than its chunks were made for, and knows no batch. */
  const moveStrays = async (open: readonly Chunk[]): Promise<void> => {
    let isMoved = false;
    for (const chunk of open) {
      const { length } = await client.leaders(chunk.topic);
      if (chunk.partition < length) continue;
      chunk.partition %= length;
      isMoved = true;
    }
    if (isMoved) renew();
  };

  /** @returns whether there were some. */
  const reopenRefused = (lines: BatchLines): boolean => {
    let isAny = false;
    chunks = chunks?.map((one) => {
      if (one.state !== "refused" || !isIn(lines, one)) return one;
      isAny = true;
      return newChunk(one.topic, one.partition, one.positions);
    });
    return isAny;
  };

  const accept = (chunk: Chunk): void => {
    chunk.state = "accepted";
    // Sequences are of 31 bits and go round.
    sequences.set(placeOf(chunk), ((chunk.sequence ?? 0) + chunk.positions.length) % 0x8000_0000);
  };

  const refuseOrSplit = (chunk: Chunk, { code, said }: ProduceAnswer): void => {
    // An earlier try may have been written: its numbers must not be given to other records.
    if (chunk.isUncertain) mustRenew = true;
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
    chunks = chunks?.flatMap((one) => (one === chunk ? halves : [one]));
  };

  /** @returns what is wrong, when the chunk has to wait. */
  const judge = (chunk: Chunk, answer: ProduceAnswer | undefined): DeliveryError | undefined => {
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
      accept(chunk);
      return undefined;
    }
    if (isContent.has(code)) {
      refuseOrSplit(chunk, answer);
      return undefined;
    }
    if (isInDoubt.has(code)) chunk.isUncertain = true;
    if (isForeignSequence.has(code)) mustRenew = true;
    client.forgetLeaders();
    return topicFailure(code, chunk.topic, said);
  };

  /** Sends one chunk for each place. @returns what is wrong, by place. */
  const round = async (
    next: readonly Chunk[],
    lines: BatchLines,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, DeliveryError>> => {
    const faults = new Map<string, DeliveryError>();
    if (isIdempotent) producer ??= await client.newProducer();
    const byLeader = new Map<number, Chunk[]>();
    for (const chunk of next) {
      const leader = (await client.leaders(chunk.topic))[chunk.partition] ?? -1;
      const group = byLeader.get(leader) ?? [];
      byLeader.set(leader, group);
      group.push(chunk);
    }
    // After that the lines are the core's, which may give their memory away.
    signal.throwIfAborted();
    await Promise.all(
      [...byLeader].map(async ([leader, group]) => {
        const requests = group.map((chunk) => {
          const indexes = chunk.positions.map((position) => lines.indexOf(position));
          const sequence = (chunk.sequence ??= sequences.get(placeOf(chunk)) ?? 0);
          const records = client.encode(lines, indexes, producer, sequence);
          return { topic: chunk.topic, partition: chunk.partition, records };
        });
        try {
          const answers = await client.produce(leader, requests, signal);
          for (const chunk of group) {
            const fault = judge(
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
    if (mustRenew) renew();
    return faults;
  };

  const sendAll = async (
    lines: BatchLines,
    plan: () => Promise<Chunk[]>,
    signal: AbortSignal,
  ): Promise<DeliveryError | undefined> => {
    chunks ??= await plan();
    // What was refused is asked for once more: the core judges whether the record is at fault.
    reopenRefused(lines);
    /** Whether those that were refused first were asked for again after others had been accepted: the topic may be mended meanwhile. */
    let isConfirmed = false;
    await moveStrays(chunks.filter(({ state }) => state === "open"));
    const faulty = new Map<string, DeliveryError>();
    for (;;) {
      signal.throwIfAborted();
      const next = new Map<string, Chunk>();
      for (const chunk of chunks) {
        const place = placeOf(chunk);
        if (chunk.state === "open" && !next.has(place) && !faulty.has(place)) next.set(place, chunk);
      }
      // Those of a later part of the batch wait, and what is behind them: a partition gets its chunks in their order.
      for (const [place, chunk] of next) if (!isIn(lines, chunk)) next.delete(place);
      if (next.size === 0) {
        if (isConfirmed || !chunks.some(({ state }) => state === "accepted") || !reopenRefused(lines)) {
          return faulty.values().next().value;
        }
        isConfirmed = true;
        continue;
      }
      for (const [place, fault] of await round([...next.values()], lines, signal)) faulty.set(place, fault);
    }
  };

  return {
    send(lines, plan, signal) {
      const before = running;
      const sent = before.then(() => sendAll(lines, plan, signal));
      running = sent.catch(() => {});
      return sent;
    },
    chunks: () => chunks ?? [],
    release() {
      chunks = undefined;
    },
  };
}
