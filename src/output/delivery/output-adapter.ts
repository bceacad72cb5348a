import type { Batch } from "./batch.ts";

/** A record that the server will never take. */
export interface Refusal {
  /** Its index in the batch that was sent. */
  readonly index: number;
  /** What the server says of it, one line. */
  readonly reason: string;
}

/** The result of a batch; records that are in neither list are with the server. */
export interface Outcome {
  readonly refused: readonly Refusal[];
  /** Indexes in the batch that was sent, ascending: those that are to be tried again. */
  readonly retry: readonly number[];
  readonly retryAfterMs?: number | undefined;
}

/** All records of a batch are with the server. */
export const allAccepted: Outcome = { refused: [], retry: [] };

/**
 * One kind of store: what an output adds to the delivery core. Its calls run in the output's own thread.
 *
 * It needs no retries, no queue, no metrics and no log of its own.
 */
export interface OutputAdapter {
  /**
   * First contact: judges that the server can be used and prepares what sending needs. Called until it works, and before
   * any batch is sent.
   *
   * @returns what an operator should know though sending may begin, each a sentence.
   * @throws DeliveryError whose message says what is wrong.
   */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Sends a batch, once. Resolves when the server has acknowledged what it will keep. Several calls may be under way.
   *
   * @param signal is aborted when the time for the request is over, or the output stops.
   * @throws DeliveryError, by which the batch is tried again, split or refused; any other error is `retry`.
   */
  send(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}
