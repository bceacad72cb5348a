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
import { causesOf, connectionFailure, DeliveryError, type Blame, errorCode } from "../delivery/delivery-error.ts";
import { readNamedFile, tlsOptions } from "../delivery/tls-options.ts";
import { natsTls, serversOf, type NatsSettings } from "./settings.ts";

/** Says in a sentence why a server could not be used. The library wraps what the system says into errors of its own. */
export function natsFailure(error: unknown, place: string): DeliveryError {
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

export function connectionLost(place: string, cause: unknown): DeliveryError {
  return new DeliveryError("store", "connection_lost", `${place} closed the connection`, { cause });
}

/** A message for a stream. */
export interface StreamMessage {
  readonly subject: string;
  /** By it the server knows a message that it has. */
  readonly id: string;
  readonly payload: Uint8Array;
}

/** What a server says of a message. */
export type PublishAnswer =
  | { readonly isStored: true }
  | { readonly isStored: false; readonly code: number; readonly text: string };

/** A connection that publishes to streams. It never connects again by itself. */
export interface NatsPublisher {
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
export async function connectNats(settings: NatsSettings): Promise<NatsPublisher> {
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
