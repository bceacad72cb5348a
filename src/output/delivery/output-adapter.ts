import type { Batch } from "./batch.ts";
import type { DeliveryError } from "./delivery-error.ts";

/** A record that the server finds fault with. */
export interface Refusal {
  /** Its index in the batch that was sent. */
  readonly index: number;
  /** What the server says of it, one line. */
  readonly reason: string;
}

/** The result of a batch of which the server says what happened to each record; those that are in neither list are with it. */
export interface Outcome {
  /** Those that the server calls the record's own fault. */
  readonly refused: readonly Refusal[];
  /** Indexes in the batch that was sent, ascending: those that are to be tried again. */
  readonly retry: readonly number[];
  /** Of `retry`: those for which the server has a fault that the record may bring about. */
  readonly unclear?: readonly Refusal[];
  /** Why the others of `retry` were not taken; absent: the server is busy. */
  readonly fault?: DeliveryError | undefined;
  /** The server has taken some of `refused`, and does not say which. */
  readonly tookOthers?: true;
  readonly retryAfterMs?: number | undefined;
  /** Where a part of the store lacks the records that it took, a sentence. */
  readonly lack?: DeliveryError | undefined;
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
   * @throws DeliveryError that says who is at fault; any other error is the store's.
   */
  send(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  /** As `send`, for a try by hand that is to leave nothing behind; absent: `send` is used. */
  rehearse?(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}
