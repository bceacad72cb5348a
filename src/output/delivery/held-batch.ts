import type { Batch } from "./batch.ts";

/** A batch in memory that is lent. */
export interface HeldBatch {
  readonly batch: Batch;
  /** Gives the memory back; the batch must not be looked at again. To be called once. */
  readonly release: () => void;
}
