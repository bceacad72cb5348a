import { crc32c, readRecordsBatch, Reader } from "@platformatic/kafka";
import { DeliveryError, type KafkaClient, type ProduceAnswer, type ProduceRequest } from "../../../src/output/index.ts";
import { createRecordBatchEncoder } from "../../../src/output/kafka/record-batch.ts";
import type { FaultProxy } from "../delivery/fault-proxy.ts";

interface FakeRecord {
  readonly key: string | undefined;
  readonly value: string;
  readonly bytes: Buffer;
}

export interface FakeKafka {
  readonly client: KafkaClient;
  /** Stands where a proxy stands before a real broker. */
  readonly proxy: FaultProxy;
  /** Partitions of each topic; one that is not here does not exist. */
  readonly topics: Map<string, number>;
  /** What was written, in order, by `topic:partition`. */
  readonly logs: Map<string, FakeRecord[]>;
  /** Judges records before they are written; a code other than 0 refuses them. */
  judge: (write: { readonly partition: number; readonly records: readonly FakeRecord[] }) => number;
  /** Users may write idempotently. */
  mayBeIdempotent: boolean;
  /** Producers that were given out. */
  producers: number;
  requests: number;
}

/**
 * Brokers in memory: partition `p` is with leader `p % 2`. As real ones they number what each producer writes to a
 * partition, know the last five batches again, and refuse a gap.
 */
export function createFakeKafka(topics: Readonly<Record<string, number>>): FakeKafka {
  const written = new Map<string, { readonly first: number; readonly count: number }[]>();
  const lost = (): DeliveryError => new DeliveryError("store", "connection_lost", "the broker closed the connection");
  let cuts = 0;

  const write = ({ topic, partition, records: bytes }: ProduceRequest): number => {
    const batch = readRecordsBatch(Reader.from(bytes));
    const records = batch.records.map(({ key, value }) => ({
      key: key === null ? undefined : Buffer.from(key).toString(),
      value: Buffer.from(value ?? "").toString(),
      bytes: Buffer.from(value ?? ""),
    }));
    const place = `${topic}:${partition}`;
    const code = fake.judge({ partition, records });
    if (code !== 0) return code;
    if (batch.producerId >= 0n) {
      const key = `${place}:${batch.producerId}`;
      const before = written.get(key) ?? [];
      const { firstSequence: first } = batch;
      if (before.some((one) => one.first === first && one.count === records.length)) return 0;
      const last = before.at(-1);
      if (last !== undefined && first !== last.first + last.count) return 45;
      written.set(key, [...before, { first, count: records.length }].slice(-5));
    }
    const log = fake.logs.get(place) ?? [];
    fake.logs.set(place, log);
    log.push(...records);
    return 0;
  };
  const encode = createRecordBatchEncoder({ compression: undefined, crc32c });

  const fake: FakeKafka = {
    topics: new Map(Object.entries(topics)),
    logs: new Map(),
    judge: () => 0,
    mayBeIdempotent: true,
    producers: 0,
    requests: 0,
    proxy: { port: 0, fault: "pass", cut: () => void cuts++, close: async () => {} },
    client: {
      async leaders(topic) {
        if (fake.proxy.fault === "away") throw lost();
        const count = fake.topics.get(topic);
        if (count === undefined) throw new DeliveryError("store", "unknown_topic", `there is no topic ${topic}`);
        return Array.from({ length: count }, (_, partition) => partition % 2);
      },
      async newProducer() {
        if (fake.proxy.fault === "away") throw lost();
        return fake.mayBeIdempotent ? { id: BigInt(fake.producers++), epoch: 0 } : undefined;
      },
      encode: (records, indexes, producer, sequence) => encode(records, indexes, { time: 0, producer, sequence }),
      async produce(_leader, requests, signal) {
        const { fault } = fake.proxy;
        const before = cuts;
        fake.requests++;
        if (fault === "away" || fault === "cutRequest") throw lost();
        await new Promise((resolve) => setTimeout(resolve, fault === "slow" ? 20 : 1));
        if (fault === "silent") {
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(lost())));
        }
        const answers: ProduceAnswer[] = requests.map((request) => {
          const { topic, partition } = request;
          return { topic, partition, code: write(request), said: "said" };
        });
        if (fault === "cutAnswer" || cuts !== before) throw lost();
        signal.throwIfAborted();
        return answers;
      },
      forgetLeaders() {},
      async close() {},
    },
  };
  return fake;
}
