import { errorCode } from "../../base/file/index.ts";
import type { Batch } from "./batch.ts";

/** A record that the server rejects. */
export interface Refusal {
  /** Its index in the batch that was sent. */
  readonly index: number;
  /** The server's reason, one line. */
  readonly reason: string;
}

/** The result of a batch for which the server reports on each record. The server has the records that are in neither list. */
export interface Outcome {
  /** Records that the server itself finds at fault. */
  readonly refused: readonly Refusal[];
  /** Indexes of the records to retry, in the batch that was sent, ascending. */
  readonly retry: readonly number[];
  /** Records of `retry` that may cause a fault of the server. */
  readonly unclear?: readonly Refusal[];
  /** Why the others of `retry` were not taken; absent: the server is busy. */
  readonly fault?: DeliveryError | undefined;
  /** True if the server has taken some of `refused` and does not say which. */
  readonly tookOthers?: true;
  readonly retryAfterMs?: number | undefined;
  /**
   * The number of records that the server has only in part; absent: none. They lack the field where their line was truncated
   * and those after it, or a field that is not JSON.
   */
  readonly cut?: number;
  /** A part of the store that lacks the records it took, as a sentence. */
  readonly lack?: DeliveryError | undefined;
  /** The number of values that the store's format cannot hold; absent: none. Reported once for a batch. */
  readonly leftOut?: number;
}

/** The outcome where the server has all records of a batch. */
export const allAccepted: Outcome = { refused: [], retry: [] };

/**
 * One kind of store: what an output adds to the delivery core. Its calls run in the output's own thread.
 *
 * It needs no retries, queue, metrics or log of its own.
 */
export interface OutputAdapter {
  /** True if the store recognises only whole batches: halves of a batch that it may have would be there twice. */
  readonly isKnownWhole?: true;
  /**
   * Makes the first contact: checks that the server can be used and prepares what sending needs. Called until it works, before
   * any batch is sent.
   *
   * @returns warnings for the operator, each a sentence; sending may start nonetheless.
   * @throws DeliveryError whose message states the fault.
   */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Sends a batch, once. Resolves when the server has said for each record whether it keeps it. An answer that does not say so
   * acknowledges nothing. Several calls may be under way.
   *
   * @param signal is aborted when the time for the request is over, or the output stops.
   * @param oldestOther the arrival of the oldest record that the output holds besides this batch, milliseconds since the epoch; absent: there is none.
   * @throws DeliveryError that says who is at fault; any other error counts as the store's.
   */
  send(batch: Batch, signal: AbortSignal, oldestOther?: number): Promise<Outcome>;
  /** Sends like `send`, for a manual test that must leave nothing behind; absent: `send` is used. */
  rehearse?(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

/** Returns the reason of a failed call, in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Who is at fault when a store does not take records. Every adapter uses these words, and the core alone decides the
 * consequences ({@link judge}):
 *
 * - `record`: the content. Halving finds the record within a batch; a record that is refused alone becomes a dead letter.
 * - `operator`: settings, permissions, limits, a closed index. All records are held until somebody mends it.
 * - `store`: the store or the way to it. All records are held, and tried again.
 * - `unclear`: a fault of the store that one of the records may cause. Like `store`, and like `record` once the store
 *   has taken others between several tries.
 */
export type Blame = "record" | "operator" | "store" | "unclear";

/** A batch that was not delivered, or a server that cannot be used. The message is a sentence for the operator. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly blame: Blame;
  /** A word for metrics: `unreachable`, `timeout`, `http_503`. */
  readonly code: string;
  /** The delay that the server asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * True if the batch must always be sent whole, although its records are suspected. The store may have it under its
   * identity, which halves would not have. The adapter itself then ends the retries.
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

/** Faults that somebody must mend; all others may pass by themselves. */
const ofOperator: ReadonlySet<string> = new Set(["certificate", "tls"]);

/** Sentences for errors of the system and TLS; `%s` is the place. */
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
 * Returns the error for a server that could not be used, with a sentence; the failure may pass.
 *
 * @param place host and port, or a URL without credentials.
 */
export function connectionFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  // Memory may be short, or one of the records causes it.
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

/** Yields an error and all its causes: libraries wrap errors of the system. */
export function* causesOf(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const one of error.errors) yield* causesOf(one);
  yield* causesOf(error.cause);
}
