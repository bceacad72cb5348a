import { JetStreamApiError, jetstreamManager, type JetStreamManager, type StreamInfo } from "@nats-io/jetstream";
import { DeliveryError } from "../delivery/delivery-error.ts";
import { reasonOf } from "../errno.ts";
import type { NatsOutputConfig } from "./nats-config.ts";
import type { NatsPublisher } from "./nats-connection.ts";

const nanosecondsPerMillisecond = 1_000_000;
/** Messages of a stream that remembers identities for less than this may be there twice after a short fault. */
const shortWindowMs = 30_000;

/**
 * Sees to it that a stream takes what is published, and creates one if it may.
 *
 * @returns what the operator should know.
 * @throws DeliveryError when no stream takes it, or the stream does not acknowledge.
 */
export async function prepareStream(
  publisher: NatsPublisher,
  config: Pick<NatsOutputConfig, "subject" | "stream" | "timeoutMs">,
): Promise<readonly string[]> {
  const { connection } = publisher;
  const subjects = `${config.subject}.>`;
  let manager: JetStreamManager;
  let names: readonly string[];
  try {
    manager = await jetstreamManager(connection, { timeout: config.timeoutMs / 2 });
    names = await manager.streams.names(subjects).next();
  } catch (error) {
    if ((error as Error).name === "JetStreamNotEnabled") throw error;
    return [
      `the streams cannot be looked at (${reasonOf(error)}): whether one takes ${subjects} shows when records are sent`,
    ];
  }
  const [name] = names;
  const info = name === undefined ? await createStream(manager, config, subjects) : await infoOf(manager, name);
  if (info === undefined) return [];
  const { config: stream } = info;
  if (stream.no_ack) {
    throw new DeliveryError("operator", "no_ack", `the stream ${stream.name} acknowledges nothing: no_ack must be off`);
  }
  const windowMs = stream.duplicate_window / nanosecondsPerMillisecond;
  return windowMs < shortWindowMs
    ? [
        `the stream ${stream.name} recognises messages for ${windowMs / 1000} s only: after a fault some may be there twice`,
      ]
    : [];
}

/** Undefined where it may not be looked at: publishing needs no permission for that. */
function infoOf(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  return manager.streams.info(name).catch(() => undefined);
}

async function createStream(
  manager: JetStreamManager,
  { stream }: Pick<NatsOutputConfig, "stream">,
  subjects: string,
): Promise<StreamInfo> {
  if (stream === undefined) {
    throw new DeliveryError("operator", "no_stream", `no stream takes the subjects ${subjects}`);
  }
  try {
    return await manager.streams.add({
      name: stream.name,
      subjects: [subjects],
      num_replicas: stream.replicas,
      max_age: stream.maxAgeMs * nanosecondsPerMillisecond,
      max_bytes: stream.maxBytes === 0 ? -1 : stream.maxBytes,
      duplicate_window: stream.duplicateWindowMs * nanosecondsPerMillisecond,
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    throw new DeliveryError("operator", "no_stream", `the stream ${stream.name} cannot be created: ${error.message}`, {
      cause: error,
    });
  }
}
