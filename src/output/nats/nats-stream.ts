import { JetStreamApiError, jetstreamManager, type JetStreamManager, type StreamInfo } from "@nats-io/jetstream";
import { DeliveryError, reasonOf } from "../delivery/delivery-error.ts";
import type { NatsPublisher } from "./nats-connection.ts";
import type { NatsSettings } from "./settings.ts";

const nanosecondsPerMillisecond = 1_000_000;
/** Messages of a stream that remembers identities for less than this may be there twice after a short fault. */
const shortWindowMs = 30_000;

/**
 * Sees to it that a stream takes what is published, and creates one if it may.
 *
 * @returns what the operator should know.
 * @throws DeliveryError when no stream takes it, or the stream does not acknowledge.
 */
export async function prepareStream(publisher: NatsPublisher, settings: NatsSettings): Promise<readonly string[]> {
  const { connection } = publisher;
  const subjects = `${settings.SUBJECT}.>`;
  let manager: JetStreamManager;
  let names: readonly string[];
  try {
    manager = await jetstreamManager(connection, { timeout: 500 * settings.TIMEOUT });
    names = await manager.streams.names(subjects).next();
  } catch (error) {
    if ((error as Error).name === "JetStreamNotEnabled") throw error;
    return [
      `the streams cannot be looked at (${reasonOf(error)}): whether one takes ${subjects} shows when records are sent`,
    ];
  }
  const [name] = names;
  const info = name === undefined ? await createStream(manager, settings, subjects) : await infoOf(manager, name);
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

async function createStream(manager: JetStreamManager, settings: NatsSettings, subjects: string): Promise<StreamInfo> {
  const name = settings.STREAM_NAME;
  if (!settings.STREAM_CREATE) {
    throw new DeliveryError("operator", "no_stream", `no stream takes the subjects ${subjects}`);
  }
  try {
    return await manager.streams.add({
      name,
      subjects: [subjects],
      num_replicas: settings.STREAM_REPLICAS,
      max_age: settings.STREAM_MAX_AGE * 3_600_000 * nanosecondsPerMillisecond,
      max_bytes: settings.STREAM_MAX_SIZE || -1,
      duplicate_window: settings.STREAM_DUPLICATE_WINDOW * 1000 * nanosecondsPerMillisecond,
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    throw new DeliveryError("operator", "no_stream", `the stream ${name} cannot be created: ${error.message}`, {
      cause: error,
    });
  }
}
