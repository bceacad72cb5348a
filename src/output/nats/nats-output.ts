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
import { allAccepted, type Outcome, type OutputAdapter, type Refusal } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import type { AdapterContext } from "../output-kind.ts";

const nanosecondsPerMillisecond = 1_000_000;
/** The duplicate window below which a warning says that messages may be stored twice after a short fault. */
const shortWindowMs = 30_000;

/**
 * Checks that a stream takes the published messages, and creates one if it may.
 *
 * @returns warnings for the operator.
 * @throws DeliveryError when no stream takes them, or the stream does not acknowledge.
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

/** Returns a stream's information; undefined without permission to read it, which publishing does not need. */
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

/** Returns the error, with a sentence, for a server that could not be used. The library wraps the system's errors. */
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
  // When the peer hangs up, the library rejects with nothing.
  if (first === undefined || first.name === "ClosedConnectionError") return connectionLost(place, error);
  return failure("unreachable", `cannot be used: ${first.message}`, "store");
}

function connectionLost(place: string, cause: unknown): DeliveryError {
  return new DeliveryError("store", "connection_lost", `${place} closed the connection`, { cause });
}

/** A message for a stream. The server recognises a message that it has by its id. */
type StreamMessage = { readonly subject: string; readonly id: string; readonly payload: Uint8Array };

/** The answer of a server to a message. */
type PublishAnswer =
  | { readonly isStored: true }
  | { readonly isStored: false; readonly code: number; readonly text: string };

/** The most unanswered messages of all calls. Servers drop messages beyond 10,000 for one stream. */
const windowSize = 4000;
const stored: PublishAnswer = { isStored: true };

interface Call {
  readonly answered: (index: number, answer: PublishAnswer) => void;
  readonly fail: (error: DeliveryError) => void;
  readonly done: () => void;
  /** The number of messages published but not answered. */
  open: number;
  isAllSent: boolean;
}

/** A connection that publishes to streams. It never reconnects by itself. */
class NatsPublisher {
  readonly connection: NatsConnection;
  readonly #servers: string;
  readonly #inbox = createInbox();
  readonly #calls = new Map<string, Call>();
  #callCount = 0;
  #outstanding = 0;
  #lastHeardAt = 0;
  #whenRoom: Deferred<void> | undefined;

  private constructor(connection: NatsConnection, servers: string) {
    this.connection = connection;
    this.#servers = servers;
    connection.subscribe(`${this.#inbox}.*.*`, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
      },
    });
    void connection.closed().then((error) => this.#failAll(connectionLost(servers, error)));
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type === "error") this.#failAll(natsFailure(status.error, servers));
      }
    })();
  }

  /** Connects to a server. @throws DeliveryError */
  static async connect(settings: NatsSettings): Promise<NatsPublisher> {
    const servers = serversOf(settings).join(", ");
    const connection = await connect(connectOptions(settings)).catch((error: unknown) => {
      throw natsFailure(error, servers);
    });
    return new NatsPublisher(connection, servers);
  }

  /** The longest message that the server takes, including headers. */
  get maxPayload(): number {
    return this.connection.info?.max_payload ?? 1_048_576;
  }

  /**
   * Publishes messages, and calls back with the answer to each. Resolves when all are answered.
   *
   * @throws DeliveryError when the connection is lost, or the server does not allow a subject; the reason of `signal`.
   */
  async publish(messages: Iterable<StreamMessage>, answered: Call["answered"], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const number = String(this.#callCount++);
    const ended = deferred<void>();
    ended.catch(() => {});
    const call: Call = { answered, fail: ended.reject, done: ended.resolve, open: 0, isAllSent: false };
    this.#calls.set(number, call);
    const startedAt = performance.now();
    const onAbort = (): void => {
      ended.reject(signal.reason);
      // A silent connection is dead, even if the system reports it as open.
      if (this.#lastHeardAt < startedAt) this.close();
    };
    signal.addEventListener("abort", onAbort);
    try {
      let index = 0;
      for (const { subject, id, payload } of messages) {
        while (this.#outstanding >= windowSize) {
          this.#whenRoom ??= deferred();
          await Promise.race([this.#whenRoom, ended]);
        }
        const header = headers();
        header.set("Nats-Msg-Id", id);
        const reply = `${this.#inbox}.${number}.${index++}`;
        this.connection.publish(subject, payload, { reply, headers: header });
        call.open++;
        this.#outstanding++;
      }
      call.isAllSent = true;
      if (call.open > 0) await ended;
    } catch (error) {
      throw signal.aborted ? error : natsFailure(error, this.#servers);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#calls.delete(number);
      this.#release(call.open);
    }
  }

  close(): void {
    void this.connection.close();
  }

  #take(message: Msg): void {
    const [number = "", index = ""] = message.subject.slice(this.#inbox.length + 1).split(".");
    const call = this.#calls.get(number);
    this.#lastHeardAt = performance.now();
    if (call === undefined) return;
    call.open--;
    this.#release(1);
    call.answered(Number(index), readAnswer(message));
    if (call.open === 0 && call.isAllSent) call.done();
  }

  #release(count: number): void {
    this.#outstanding -= count;
    this.#whenRoom?.resolve();
    this.#whenRoom = undefined;
  }

  #failAll(error: DeliveryError): void {
    for (const call of this.#calls.values()) call.fail(error);
  }
}

/** Reads an acknowledgement, `{"stream":…,"seq":…}`. Without a stream for the subject the status is 503. */
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
    // The library passes these to Node, which accepts bytes as well.
    ...(tls !== undefined && {
      tls: { ...tlsOptions(tls), handshakeFirst: settings.TLS_HANDSHAKE_FIRST } as ConnectionOptions["tls"] & {},
    }),
  };
}

/** Returns the authenticator of the client: the first credential that is set counts. */
function authenticatorOf(settings: NatsSettings): { readonly authenticator?: Authenticator } {
  const { TOKEN: token, NKEY_SEED: seed, CREDENTIALS_FILEPATH: path, USERNAME: username } = settings;
  // Read the file at each connection.
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
  // The stream is full and discards new messages, or is sealed, or the account's storage is used up.
  [10_077, "operator"],
  [10_109, "operator"],
  [10_002, "operator"],
  [10_028, "operator"],
  [10_047, "operator"],
]);
/** An upper bound for the bytes of the header with the identity of a message. */
const headerBytes = 128;

/**
 * Publishes each record as a message of its own to a stream of JetStream. Its identity is the message's `Nats-Msg-Id`, so
 * the stream keeps only one copy of a record that is sent again within its duplicate window.
 */
export class NatsOutput implements OutputAdapter {
  readonly #settings: NatsSettings;
  readonly #subjectOf: (line: Buffer) => string;
  #publisher: NatsPublisher | undefined;
  #connecting: Promise<NatsPublisher> | undefined;

  constructor(settings: NatsSettings, { nameOf }: AdapterContext) {
    this.#settings = settings;
    this.#subjectOf = createSubjectOf(settings, nameOf);
  }

  async open(): Promise<readonly string[]> {
    const publisher = await this.#connected();
    return prepareStream(publisher, this.#settings).catch((error: unknown) => {
      throw natsFailure(error, serversOf(this.#settings).join(", "));
    });
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const publisher = await this.#connected();
    const refused: Refusal[] = [];
    const retry: number[] = [];
    const maxBytes = publisher.maxPayload - headerBytes;
    const { messages, indexes } = messagesOf(batch, this.#subjectOf, maxBytes, refused);
    let fault: DeliveryError | undefined;
    await publisher.publish(
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
        fault ??= new DeliveryError(blame, `nats_${answer.code}`, `${this.#settings.SUBJECT}: ${answer.text}`);
      },
      signal,
    );
    if (fault !== undefined && retry.length === batch.count) throw fault;
    if (refused.length + retry.length === 0) return allAccepted;
    return { refused, retry: retry.toSorted((a, b) => a - b), ...(fault && { fault }) };
  }

  async close(): Promise<void> {
    this.#publisher?.close();
  }

  async #connected(): Promise<NatsPublisher> {
    if (this.#publisher === undefined || this.#publisher.connection.isClosed()) {
      this.#connecting ??= NatsPublisher.connect(this.#settings).finally(() => (this.#connecting = undefined));
      this.#publisher = await this.#connecting;
    }
    return this.#publisher;
  }
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

/** Returns a function that builds `<subject>.<type>.<key>`. Characters not allowed in a subject become underscores, so the key is one token. */
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
