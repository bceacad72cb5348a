import { errorCode } from "../../base/file/index.ts";
import type { Batch } from "./batch.ts";

/** A record that the server finds fault with. */
export interface Refusal {
  /** Its index in the batch that was sent. */
  readonly index: number;
  /** The server's reason, one line. */
  readonly reason: string;
}

/** The result of a batch of which the server says what happened to each record; those that are in neither list are with it. */
export interface Outcome {
  /** Records that the server calls at fault by themselves. */
  readonly refused: readonly Refusal[];
  /** Indexes in the batch that was sent, ascending: those that are to be tried again. */
  readonly retry: readonly number[];
  /** Records of `retry` for which the server has a fault that they may bring about. */
  readonly unclear?: readonly Refusal[];
  /** Why the others of `retry` were not taken; absent: the server is busy. */
  readonly fault?: DeliveryError | undefined;
  /** The server has taken some of `refused`, and does not say which. */
  readonly tookOthers?: true;
  readonly retryAfterMs?: number | undefined;
  /** Records that the server took without the field at which their line was cut off, and those behind it, or without one that is no JSON; absent: none. */
  readonly cut?: number;
  /** Says where a part of the store lacks the records that it took, in a sentence. */
  readonly lack?: DeliveryError | undefined;
  /** Values of the records that have no place in what the store gets; absent: none. Told once for a batch. */
  readonly leftOut?: number;
}

/** All records of a batch are with the server. */
export const allAccepted: Outcome = { refused: [], retry: [] };

/**
 * One kind of store: what an output adds to the delivery core. Its calls run in the output's own thread.
 *
 * It needs no retries, no queue, no metrics and no log of its own.
 */
export interface OutputAdapter {
  /** The store knows a batch again as a whole alone: halves of one that it may have would be there twice. */
  readonly isKnownWhole?: true;
  /**
   * First contact: judges that the server can be used and prepares what sending needs. Called until it works, and before
   * any batch is sent.
   *
   * @returns what an operator should know though sending may begin, each a sentence.
   * @throws DeliveryError whose message says what is wrong.
   */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Sends a batch, once. Resolves when the server has said of each record whether it keeps it; an answer that does not say so
   * acknowledges nothing. Several calls may be under way.
   *
   * @param signal is aborted when the time for the request is over, or the output stops.
   * @param oldestOther when the oldest record arrived that the output holds besides this batch, milliseconds since the epoch; left out: it holds none.
   * @throws DeliveryError that says who is at fault; any other error is the store's.
   */
  send(batch: Batch, signal: AbortSignal, oldestOther?: number): Promise<Outcome>;
  /** As `send`, for a try by hand that is to leave nothing behind; absent: `send` is used. */
  rehearse?(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

/** Why a call failed, in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Names who is at fault when a store does not take records. Every adapter says it in these words, and the core alone decides what
 * follows ({@link judge}):
 *
 * - `record`: the content. Of a batch it is found by halves, and a record that is refused alone becomes a dead letter.
 * - `operator`: settings, permissions, limits, a closed index. All is held until somebody mends it.
 * - `store`: the store or the way to it. All is held, and tried again.
 * - `unclear`: the store has a fault that one of the records may bring about. As `store`, and as `record` once the store
 *   has taken others between several tries.
 */
export type Blame = "record" | "operator" | "store" | "unclear";

/** A batch that was not delivered, or a server that cannot be used. The message is a sentence for the operator. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly blame: Blame;
  /** A word for metrics: `unreachable`, `timeout`, `http_503`. */
  readonly code: string;
  /** The time that the server asked to be left alone, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * True if the batch is to be sent as it is for ever, though its records are suspected: the store may have it under its
   * identity, which halves would not have. Then the adapter itself puts an end to it.
   */
  readonly isWhole: boolean;

  constructor(
    blame: Blame,
    code: string,
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined;
      readonly isWhole?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.isWhole = options.isWhole ?? false;
    this.blame = blame;
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const untrusted: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_UNTRUSTED",
]);

/** Faults that somebody must mend; all else may pass by itself. */
const ofOperator: ReadonlySet<string> = new Set(["certificate", "tls"]);

/** Sentences for what the system and TLS say; `%s` is the place. */
const sentences: Readonly<Record<string, readonly [code: string, text: string]>> = {
  ECONNREFUSED: ["refused", "%s refuses connections: nothing listens there"],
  ENOTFOUND: ["name_not_found", "the host name of %s is not known"],
  EAI_AGAIN: ["name_not_found", "the host name of %s cannot be looked up now"],
  ETIMEDOUT: ["timeout", "%s does not answer"],
  EHOSTUNREACH: ["unreachable", "there is no route to %s"],
  ENETUNREACH: ["unreachable", "there is no route to %s"],
  ECONNRESET: [
    "connection_lost",
    "%s closed the connection before it answered: if it always does, is TLS on or off at both ends?",
  ],
  EPIPE: ["connection_lost", "%s closed the connection before it had the batch"],
  CERT_HAS_EXPIRED: ["certificate", "the certificate of %s has expired"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["certificate", "the certificate of %s is for another host name"],
  EPROTO: ["tls", "%s does not speak TLS as expected: is TLS on at both ends?"],
  ERR_SSL_WRONG_VERSION_NUMBER: ["tls", "%s does not speak TLS: is TLS on at both ends?"],
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ["certificate", "%s demands a client certificate"],
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: ["certificate", "%s refuses the client certificate"],
};

/**
 * Says in a sentence why a server could not be used; the failure may pass.
 *
 * @param place host and port, or a URL without credentials.
 */
export function connectionFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  // Memory may be short, or one of the records brings it about.
  if (error instanceof WebAssembly.RuntimeError)
    return new DeliveryError("unclear", "trap", `records cannot be encoded: ${reasonOf(error)}`, { cause: error });
  const code = errorCode(error);
  if (untrusted.has(code)) {
    return new DeliveryError(
      "operator",
      "certificate",
      `the certificate of ${place} is not trusted (${reasonOf(error)}): name its CA`,
      {
        cause: error,
      },
    );
  }
  const [word, text] = sentences[code] ?? ["unreachable", `%s cannot be reached: ${reasonOf(error)}`];
  return new DeliveryError(ofOperator.has(word) ? "operator" : "store", word, text.replace("%s", place), {
    cause: error,
  });
}

/** An error, and all within it: libraries wrap what the system says. */
export function* causesOf(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const one of error.errors) yield* causesOf(one);
  yield* causesOf(error.cause);
}
