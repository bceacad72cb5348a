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
