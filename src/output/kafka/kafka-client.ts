import {
  produceV10,
  produceV11,
  produceV7,
  produceV8,
  produceV9,
  Writer,
  type Connection,
  Base,
  compressionsAlgorithms,
  crc32c,
  kGetApi,
  kGetBootstrapConnection,
  ResponseError,
  type BaseOptions,
  type Callback,
  type initProducerIdV5,
  type SASLOptions,
} from "@platformatic/kafka";
import { isIP, type Socket } from "node:net";
import { reasonOf, DeliveryError } from "../delivery/output-adapter.ts";
import { readNamedFile, tlsOptions } from "../delivery/tls-options.ts";
import type { RecordPlaces } from "./record-batch.ts";
import { createRecordBatchEncoder } from "./record-batch.ts";
import { kafka, type KafkaSettings } from "./settings.ts";
import { brokerFailure, kafkaCode, kafkaCodeOf, topicFailure } from "./kafka-failure.ts";

/** Versions of the produce request whose answers the library can read. */
const versions = [produceV7, produceV8, produceV9, produceV10, produceV11];
type ProduceAnswers = ReturnType<typeof produceV11.parseResponse>;

const produceKey = 0;
/** From this version on, lengths are compact and structures may have tagged fields (KIP-482). */
const firstFlexible = 9;

interface ProduceOptions {
  /** The version that the broker and the library have in common. */
  readonly version: number;
  readonly acks: number;
  /** The time that the broker waits for the replicas, milliseconds. */
  readonly replicasMs: number;
}

/**
 * Sends records to one broker, at most one request for a partition.
 *
 * @throws the library's error; ResponseError where a partition was not written.
 */
function produce(
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

/** The identity by which a broker recognises batches that it has. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** Records of one partition that are written together or not at all. */
export interface ProduceRequest {
  readonly topic: string;
  readonly partition: number;
  /** A record batch. */
  readonly records: Buffer;
}

/** The answer of a broker to a request. */
export interface ProduceAnswer {
  readonly topic: string;
  readonly partition: number;
  /** An error code of the Kafka protocol; 0: written. */
  readonly code: number;
  readonly said: string;
}

/** The Kafka operations that this output needs. Every error is a DeliveryError that states the fault. */
export interface KafkaClient {
  /** Returns the leader of each partition of a topic, by the partition's number. */
  leaders(topic: string): Promise<readonly number[]>;
  /** Requests a producer. @returns undefined where the user may have none. */
  newProducer(): Promise<ProducerId | undefined>;
  /**
   * Encodes records as a record batch, a copy.
   *
   * @param sequence of the first record; counts the records of the producer in their partition.
   */
  encode(records: RecordPlaces, indexes: readonly number[], producer: ProducerId | undefined, sequence: number): Buffer;
  /** Sends to one broker, once, at most one request for a partition. An abort closes the connection. */
  produce(leader: number, requests: readonly ProduceRequest[], signal: AbortSignal): Promise<readonly ProduceAnswer[]>;
  /** Discards the known leaders, so they are requested again. */
  forgetLeaders(): void;
  close(): Promise<void>;
}

type ProduceApi = Pick<typeof produceV11.api, "version">;
type InitProducerIdApi = typeof initProducerIdV5.api;

/** Creates a client. @throws DeliveryError when a file cannot be read. */
export function createKafkaClient(settings: KafkaSettings): KafkaClient {
  const { BROKERS: brokers, PRODUCER_COMPRESSION: compression, TOPIC_AUTO_CREATE: autocreateTopics } = settings;
  const timeoutMs = 1000 * settings.TIMEOUT;
  const replicasMs = Math.min(timeoutMs >>> 1, 1000 * settings.PRODUCER_TIMEOUT || Infinity);
  const tls = kafka.tls(settings);
  const place = brokers.join(", ");
  const { bitmask: bits, compressSync: compress } = compressionsAlgorithms[compression];
  const encodeBatch = createRecordBatchEncoder({
    crc32c,
    compression: compression === "none" ? undefined : { bits, compress },
  });
  const options: BaseOptions = {
    clientId: settings.CLIENT_ID,
    bootstrapBrokers: [...brokers],
    timeout: timeoutMs,
    requestTimeout: timeoutMs,
    connectTimeout: Math.min(timeoutMs, 10_000),
    // The core retries instead.
    retries: false,
    maxInflights: settings.REQUESTS_IN_FLIGHT,
    autocreateTopics,
    metadataMaxAge: 60_000,
    ...(tls !== undefined && {
      tls: tlsOptions(tls),
      // TLS does not allow addresses as server names (RFC 6066).
      tlsServerName: !brokers.some((broker) => isIP(broker.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "")) !== 0),
    }),
    ...(settings.SASL_ENABLE && { sasl: saslOptions(settings) }),
  };
  const base = new Base(options);
  // Without a listener, a connection that fails twice would end the thread.
  base.connections.on("connecting", ({ connection }) => connection.on("error", () => {}));

  const closeConnections = (): void => {
    // The library drops a closed connection, but not one that does not answer.
    for (const [, { socket }] of base.connections as unknown as Iterable<[string, { socket?: Socket }]>)
      socket?.destroy();
  };
  const failure = (error: unknown): DeliveryError => {
    base.clearMetadata();
    if (kafkaCodeOf(error) === undefined) closeConnections();
    return brokerFailure(error, place);
  };
  const getApi = <Api>(name: string): Promise<Api> =>
    new Promise((resolve, reject) => {
      base[kGetApi](name, settle<unknown>(resolve as (value: unknown) => void, reject));
    });

  const send = async (
    connection: Connection,
    requests: readonly ProduceRequest[],
  ): Promise<readonly ProduceAnswer[]> => {
    const { version } = await getApi<ProduceApi>("Produce");
    // Use at most half the time for the replicas, so the leader can still report that it waits for them.
    const how = { version, acks: settings.PRODUCER_REQUIRED_ACKS === "all" ? -1 : 1, replicasMs };
    try {
      return answersOf(await produce(connection, requests, how));
    } catch (error) {
      const answers = error instanceof ResponseError ? answersOf(error["response" as keyof ResponseError]) : [];
      if (answers.length === 0) throw error;
      return answers;
    }
  };

  return {
    async leaders(topic) {
      try {
        const { topics } = await base.metadata({ topics: [topic], autocreateTopics });
        const partitions = topics.get(topic)?.partitions ?? [];
        if (partitions.length > 0) return partitions.map(({ leader }) => leader);
        base.clearMetadata();
        throw topicFailure(kafkaCode.leaderNotAvailable, topic, "");
      } catch (error) {
        if (error instanceof DeliveryError) throw error;
        const code = reasonOf(error).startsWith("Unknown topic") ? kafkaCode.unknownTopic : kafkaCodeOf(error);
        if (code === undefined || !isAboutTopic.has(code)) throw failure(error);
        if (code === kafkaCode.unknownTopic && autocreateTopics) {
          throw new DeliveryError(
            "store",
            "unknown_topic",
            `there is no topic ${topic} yet: the broker is asked to make it`,
          );
        }
        base.clearMetadata();
        throw topicFailure(code, topic, reasonOf(error));
      }
    },
    async newProducer() {
      try {
        const connection = await new Promise<Connection>((resolve, reject) => {
          base[kGetBootstrapConnection](settle(resolve, reject));
        });
        const api = await getApi<InitProducerIdApi>("InitProducerId");
        const { producerId, producerEpoch } = await api.async(connection, null, timeoutMs, -1n, -1);
        return { id: producerId, epoch: producerEpoch };
      } catch (error) {
        if (kafkaCodeOf(error) === kafkaCode.clusterAuthorizationFailed) return undefined;
        throw failure(error);
      }
    },
    encode: (records, indexes, producer, sequence) =>
      encodeBatch(records, indexes, { time: Date.now(), producer, sequence }),
    async produce(leader, requests, signal) {
      const broker = base.currentMetadata?.brokers.get(leader);
      if (broker === undefined) {
        base.clearMetadata();
        throw new DeliveryError("store", "no_leader", "a partition has no leader at present");
      }
      let connection: Connection | undefined;
      const onAbort = (): void => void connection?.socket.destroy();
      signal.addEventListener("abort", onAbort);
      try {
        connection = await base.connections.get(broker);
        signal.throwIfAborted();
        return await send(connection, requests);
      } catch (error) {
        // After a time-out the library cannot read late answers on this connection.
        connection?.socket.destroy();
        base.clearMetadata();
        throw brokerFailure(error, `${broker.host}:${broker.port}`);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    forgetLeaders: () => base.clearMetadata(),
    async close() {
      closeConnections();
      await base.close();
    },
  };
}

const isAboutTopic: ReadonlySet<number> = new Set([
  kafkaCode.unknownTopic,
  kafkaCode.leaderNotAvailable,
  kafkaCode.notLeader,
  kafkaCode.topicAuthorizationFailed,
]);

function settle<T>(resolve: (value: T) => void, reject: (error: Error) => void): Callback<T> {
  return (error, value) => {
    if (error === null || error === undefined) resolve(value as T);
    else reject(error);
  };
}

function saslOptions(settings: KafkaSettings): SASLOptions {
  const { SASL_MECHANISM: mechanism, SASL_USERNAME: username, SASL_PASSWORD: password } = settings;
  if (mechanism !== "OAUTHBEARER") return { mechanism, username, password };
  // Tokens expire, so read the file at each connection.
  return { mechanism, token: () => readNamedFile(settings.SASL_TOKEN_FILEPATH).toString().trim() };
}

interface ProduceResponse {
  readonly responses: readonly {
    readonly name: string;
    readonly partitionResponses: readonly {
      readonly index: number;
      readonly errorCode: number;
      readonly errorMessage: string | null;
      readonly recordErrors: readonly { readonly batchIndexErrorMessage: string | null }[];
    }[];
  }[];
}

function answersOf(response: unknown): readonly ProduceAnswer[] {
  const { responses = [] } = (response ?? {}) as Partial<ProduceResponse>;
  return responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map(({ index, errorCode: code, errorMessage, recordErrors }) => ({
      topic: name,
      partition: index,
      code,
      said: recordErrors[0]?.batchIndexErrorMessage ?? errorMessage ?? `code ${code}`,
    })),
  );
}
