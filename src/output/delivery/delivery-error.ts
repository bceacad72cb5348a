/** The errno name of an error of the operating system, else its class. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "unknown";
}

/** Why a call failed, in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Who is at fault when a store does not take records. Every adapter says it in these words, and the core alone decides what
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
  /** How long the server asked to be left alone. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether the batch is to be sent as it is for ever, though its records are suspected: the store may have it under its
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

/** What somebody must mend; all else may pass by itself. */
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
