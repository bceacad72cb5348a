/**
 * What is to happen to a batch that an output could not deliver as a whole:
 *
 * - `retry`: the server or the way to it is at fault; the same batch is tried again until it works;
 * - `split`: the batch is too large; its halves are tried, a single record is refused;
 * - `refuse`: the server will never take it; its records are dead letters.
 */
export type FailureKind = "retry" | "split" | "refuse";

/** A batch that was not delivered, or a server that cannot be used. The message is a sentence for the operator. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly kind: FailureKind;
  /** A word for metrics: `unreachable`, `timeout`, `http_503`. */
  readonly code: string;
  /** How long the server asked to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    code: string,
    message: string,
    options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
