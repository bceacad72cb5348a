import { JetStreamApiError, jetstreamManager, type JetStreamManager, type StreamInfo } from "@nats-io/jetstream";
import {
  connect,
  createInbox,
  credsAuthenticator,
  deferred,
  headers,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
  type Authenticator,
  type ConnectionOptions,
  type Deferred,
  type Msg,
  type NatsConnection,
} from "@nats-io/transport-node";
import { DeliveryError, reasonOf, causesOf, connectionFailure, type Blame } from "../delivery/output-adapter.ts";
import { errorCode } from "../../base/file/index.ts";
import { type NatsSettings, natsTls, serversOf } from "./settings.ts";
import { readNamedFile, tlsOptions } from "../delivery/tls-options.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { createKeyFinder, endOfKey } from "../delivery/line-fields.ts";
import { allAccepted, type OutputAdapter, type Refusal } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import type { AdapterContext } from "../output-kind.ts";

const nanosecondsPerMillisecond = 1_000_000;
/** Messages of a stream that remembers identities for less than this may be there twice after a short fault. */
const shortWindowMs = 30_000;

/**
 * Sees to it that a stream takes what is published, and creates one if it may.
 *
 * @returns what the operator should know.
 * @throws DeliveryError when no stream takes it, or the stream does not acknowledge.
 */
async function prepareStream(publisher: NatsPublisher, settings: NatsSettings): Promise<readonly string[]> {
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

/** Says in a sentence why a server could not be used. The library wraps what the system says into errors of its own. */
function natsFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const all = [...causesOf(error)];
  const of = (name: string): Error | undefined => all.find((one) => one.name === name);
  const failure = (code: string, text: string, blame: Blame = "operator"): DeliveryError =>
    new DeliveryError(blame, code, `${place} ${text}`, { cause: error });
  const denied = of("AuthorizationError") ?? of("UserAuthenticationExpiredError");
  if (denied !== undefined) return failure("credentials", `refuses the credentials (${denied.message})`);
  const permission = of("PermissionViolationError");
  if (permission !== undefined) return failure("permission", `does not allow it: ${permission.message}`);
  if (of("JetStreamNotEnabled") !== undefined) return failure("no_jetstream", "has no JetStream for this account");
  if (of("TimeoutError") !== undefined) return failure("timeout", "does not answer", "store");
  const system = all.find((one) => errorCode(one) !== one.name);
  if (system !== undefined) return connectionFailure(system, place);
  const [first] = all;
  // A peer that hangs up has the library reject with nothing.
  if (first === undefined || first.name === "ClosedConnectionError") return connectionLost(place, error);
  return failure("unreachable", `cannot be used: ${first.message}`, "store");
}

function connectionLost(place: string, cause: unknown): DeliveryError {
  return new DeliveryError("store", "connection_lost", `${place} closed the connection`, { cause });
}

/** A message for a stream. */
interface StreamMessage {
  readonly subject: string;
  /** By it the server knows a message that it has. */
  readonly id: string;
  readonly payload: Uint8Array;
}

/** What a server says of a message. */
type PublishAnswer =
  | { readonly isStored: true }
  | { readonly isStored: false; readonly code: number; readonly text: string };

/** A connection that publishes to streams. It never connects again by itself. */
interface NatsPublisher {
  readonly connection: NatsConnection;
  /** The longest message that the server takes, headers included. */
  readonly maxPayload: number;
  readonly isClosed: boolean;
  /**
   * Publishes messages, and calls back with the answer to each. Resolves when all are answered.
   *
   * @throws DeliveryError when the connection is lost, or the server does not allow a subject; the reason of `signal`.
   */
  publish(
    messages: Iterable<StreamMessage>,
    answered: (index: number, answer: PublishAnswer) => void,
    signal: AbortSignal,
  ): Promise<void>;
  close(): void;
}

/** Messages without an answer, of all calls. Servers drop what exceeds 10,000 for one stream. */
const windowSize = 4000;
const stored: PublishAnswer = { isStored: true };

interface Call {
  readonly answered: (index: number, answer: PublishAnswer) => void;
  readonly fail: (error: DeliveryError) => void;
  readonly done: () => void;
  /** Messages that were published and not answered. */
  open: number;
  isAllSent: boolean;
}

/** @throws DeliveryError */
async function connectNats(settings: NatsSettings): Promise<NatsPublisher> {
  const place = serversOf(settings).join(", ");
  const connection = await connect(connectOptions(settings)).catch((error: unknown) => {
    throw natsFailure(error, place);
  });
  return createPublisher(connection, place);
}

function createPublisher(connection: NatsConnection, place: string): NatsPublisher {
  const inbox = createInbox();
  const calls = new Map<string, Call>();
  let callCount = 0;
  let outstanding = 0;
  let lastHeardAt = 0;
  let whenRoom: Deferred<void> | undefined;

  const failAll = (error: DeliveryError): void => {
    for (const call of calls.values()) call.fail(error);
  };
  const isFull = (): boolean => outstanding >= windowSize;
  const release = (count: number): void => {
    outstanding -= count;
    whenRoom?.resolve();
    whenRoom = undefined;
  };

  const take = (message: Msg): void => {
    const [number = "", index = ""] = message.subject.slice(inbox.length + 1).split(".");
    const call = calls.get(number);
    lastHeardAt = performance.now();
    if (call === undefined) return;
    call.open--;
    release(1);
    call.answered(Number(index), readAnswer(message));
    if (call.open === 0 && call.isAllSent) call.done();
  };
  connection.subscribe(`${inbox}.*.*`, {
    callback(error, message) {
      if (error === null) take(message);
    },
  });
  void connection.closed().then((error) => failAll(connectionLost(place, error)));
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === "error") failAll(natsFailure(status.error, place));
    }
  })();

  return {
    connection,
    maxPayload: connection.info?.max_payload ?? 1_048_576,
    get isClosed() {
      return connection.isClosed();
    },
    async publish(messages, answered, signal) {
      signal.throwIfAborted();
      const number = String(callCount++);
      const ended = deferred<void>();
      ended.catch(() => {});
      const call: Call = { answered, fail: ended.reject, done: ended.resolve, open: 0, isAllSent: false };
      calls.set(number, call);
      const startedAt = performance.now();
      const onAbort = (): void => {
        ended.reject(signal.reason);
        // A connection that says nothing is dead, whatever the system thinks of it.
        if (lastHeardAt < startedAt) void connection.close();
      };
      signal.addEventListener("abort", onAbort);
      try {
        let index = 0;
        for (const { subject, id, payload } of messages) {
          while (isFull()) {
            whenRoom ??= deferred();
            await Promise.race([whenRoom, ended]);
          }
          const header = headers();
          header.set("Nats-Msg-Id", id);
          connection.publish(subject, payload, { reply: `${inbox}.${number}.${index++}`, headers: header });
          call.open++;
          outstanding++;
        }
        call.isAllSent = true;
        if (call.open > 0) await ended;
      } catch (error) {
        throw signal.aborted ? error : natsFailure(error, place);
      } finally {
        signal.removeEventListener("abort", onAbort);
        calls.delete(number);
        release(call.open);
      }
    },
    close() {
      void connection.close();
    },
  };
}

/** An acknowledgement is `{"stream":…,"seq":…}`; without a stream for the subject there is a status of 503. */
function readAnswer(message: Msg): PublishAnswer {
  const { data } = message;
  if (data.length === 0) {
    const code = message.headers?.code ?? 0;
    return { isStored: false, code, text: code === 503 ? "no stream takes the subject" : "no acknowledgement" };
  }
  // `{"s…`
  if (data[2] === 0x73) return stored;
  const answer = message.json<{
    error?: { err_code?: number; code?: number; description?: string };
    stream?: string;
  }>();
  if (answer.error === undefined) return stored;
  const { err_code, code = 0, description = "" } = answer.error;
  return { isStored: false, code: err_code ?? code, text: description };
}

function connectOptions(settings: NatsSettings): ConnectionOptions {
  const tls = natsTls(settings);
  return {
    servers: serversOf(settings),
    name: "netgloss",
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: 1000 * settings.TIMEOUT,
    noAsyncTraces: true,
    ...authenticatorOf(settings),
    // The library hands these to Node, which takes bytes as well.
    ...(tls !== undefined && {
      tls: { ...tlsOptions(tls), handshakeFirst: settings.TLS_HANDSHAKE_FIRST } as ConnectionOptions["tls"] & {},
    }),
  };
}

/** Who the client is: the first that is set counts. */
function authenticatorOf(settings: NatsSettings): { readonly authenticator?: Authenticator } {
  const { TOKEN: token, NKEY_SEED: seed, CREDENTIALS_FILEPATH: path, USERNAME: username } = settings;
  // The file is read at each connection.
  if (path !== "") return { authenticator: credsAuthenticator(readNamedFile(path)) };
  if (seed !== "") return { authenticator: nkeyAuthenticator(Buffer.from(seed)) };
  if (token !== "") return { authenticator: tokenAuthenticator(token) };
  return username === "" ? {} : { authenticator: usernamePasswordAuthenticator(username, settings.PASSWORD) };
}

/** Error codes of JetStream by who is at fault; others: the server. A message may be longer than the stream allows. */
const blames: ReadonlyMap<number, Blame> = new Map([
  [10_054, "record"],
  // No stream takes the subject, or JetStream is off for the account.
  [503, "operator"],
  [10_039, "operator"],
  [10_076, "operator"],
  // The stream is full and discards what is new, is sealed, or the account's storage is used up.
  [10_077, "operator"],
  [10_109, "operator"],
  [10_002, "operator"],
  [10_028, "operator"],
  [10_047, "operator"],
]);
/** The header with the identity of a message has fewer bytes. */
const headerBytes = 128;

/**
 * Publishes each record as a message of its own to a stream of JetStream. Its identity is the message's `Nats-Msg-Id`, so
 * the stream keeps a record once that is sent again within its duplicate window.
 */
export function createNatsOutput(settings: NatsSettings, { nameOf }: AdapterContext): OutputAdapter {
  const subjectOf = createSubjectOf(settings, nameOf);
  let publisher: NatsPublisher | undefined;
  let connecting: Promise<NatsPublisher> | undefined;

  const connected = async (): Promise<NatsPublisher> => {
    if (publisher !== undefined && !publisher.isClosed) return publisher;
    connecting ??= connectNats(settings).finally(() => (connecting = undefined));
    publisher = await connecting;
    return publisher;
  };

  return {
    async open() {
      const open = await connected();
      return prepareStream(open, settings).catch((error: unknown) => {
        throw natsFailure(error, serversOf(settings).join(", "));
      });
    },
    async send(batch, signal) {
      const open = await connected();
      const refused: Refusal[] = [];
      const retry: number[] = [];
      const { messages, indexes } = messagesOf(batch, subjectOf, open.maxPayload - headerBytes, refused);
      let fault: DeliveryError | undefined;
      await open.publish(
        messages,
        (at, answer) => {
          if (answer.isStored) return;
          const index = indexes[at] ?? 0;
          const blame = blames.get(answer.code) ?? "store";
          if (blame === "record") {
            refused.push({ index, reason: answer.text });
            return;
          }
          retry.push(index);
          fault ??= new DeliveryError(blame, `nats_${answer.code}`, `${settings.SUBJECT}: ${answer.text}`);
        },
        signal,
      );
      if (fault !== undefined && retry.length === batch.count) throw fault;
      if (refused.length + retry.length === 0) return allAccepted;
      return { refused, retry: retry.toSorted((a, b) => a - b), ...(fault && { fault }) };
    },
    async close() {
      publisher?.close();
    },
  };
}

function messagesOf(
  batch: Batch,
  subjectOf: (line: Buffer) => string,
  maxBytes: number,
  refused: Refusal[],
): { readonly messages: readonly StreamMessage[]; readonly indexes: readonly number[] } {
  const key = batchKey(batch.id);
  const messages: StreamMessage[] = [];
  const indexes: number[] = [];
  forEachLine(batch, (lines, from, to, index) => {
    if (to - from > maxBytes) {
      refused.push({ index, reason: `the record is longer than the server's max_payload` });
      return;
    }
    const payload = lines.subarray(from, to);
    messages.push({ subject: subjectOf(payload), id: `${key}-${positionOf(batch, index).toString(36)}`, payload });
    indexes.push(index);
  });
  return { messages, indexes };
}

/** `<subject>.<type>.<key>`; what cannot be part of a subject is an underscore, so the key is one token. */
function createSubjectOf(settings: NatsSettings, nameOf: AdapterContext["nameOf"]): (line: Buffer) => string {
  const { SUBJECT: subject } = settings;
  const findKey = createKeyFinder(settings.SUBJECT_KEY.map(nameOf));
  return (line) => {
    const type = `${subject}.${recordTypeOf(line, 0, line.length)}`;
    const at = findKey(line, 0, line.length);
    const key = at < 0 ? "" : line.toString("utf8", at, endOfKey(line, at, line.length));
    return key === "" ? type : `${type}.${key.replaceAll(/[.*>\s\p{Cc}]/gu, "_")}`;
  };
}
