import { produceV10, produceV11, produceV7, produceV8, produceV9, Writer, type Connection } from "@platformatic/kafka";
import type { ProduceRequest } from "./kafka-client.ts";

/** Versions of the request that the library reads the answers of. */
const versions = [produceV7, produceV8, produceV9, produceV10, produceV11];
type ProduceAnswers = ReturnType<typeof produceV11.parseResponse>;

const produceKey = 0;
/** From this version on lengths are compact and structures may have tagged fields (KIP-482). */
const firstFlexible = 9;

export interface ProduceOptions {
  /** What the broker and the library have in common. */
  readonly version: number;
  readonly acks: number;
  /** How long the broker waits for the replicas. */
  readonly replicasMs: number;
}

/**
 * Sends records to one broker, at most one request for a partition.
 *
 * @throws what the library says; ResponseError where a partition was not written.
 */
export function produce(
  connection: Connection,
  requests: readonly ProduceRequest[],
  options: ProduceOptions,
): Promise<ProduceAnswers> {
  const { version } = options;
  const isFlexible = version >= firstFlexible;
  const api = versions.find((one) => one.api.version === version) ?? produceV11;
  return new Promise((resolve, reject) => {
    connection.send<ProduceAnswers>(
      produceKey,
      version,
      () => writeRequest(requests, options, isFlexible),
      api.parseResponse,
      isFlexible,
      isFlexible,
      (error, answers) => {
        if (error === null || error === undefined) resolve(answers as ProduceAnswers);
        else reject(error);
      },
    );
  });
}

function writeRequest(requests: readonly ProduceRequest[], options: ProduceOptions, isFlexible: boolean): Writer {
  const byTopic = new Map<string, ProduceRequest[]>();
  for (const request of requests) {
    const group = byTopic.get(request.topic) ?? [];
    byTopic.set(request.topic, group);
    group.push(request);
  }
  const writer = Writer.create()
    .appendString(null, isFlexible)
    .appendInt16(options.acks)
    .appendInt32(options.replicasMs)
    .appendArray(
      [...byTopic],
      (topics, [topic, group]) => {
        topics.appendString(topic, isFlexible).appendArray(
          group,
          (partitions, { partition, records }) => {
            partitions.appendInt32(partition).appendBytes(records, isFlexible);
          },
          isFlexible,
          isFlexible,
        );
      },
      isFlexible,
      isFlexible,
    );
  return isFlexible ? writer.appendTaggedFields() : writer;
}
