import type { Key } from "../../base/ip/index.ts";

/** What a {@link UdmIndex} object stands for. When it is garbage, its state is given up. */
export interface HeldSnapshot {
  snapshot: number;
  /**
   * Memory that is never used. The garbage collector does not know how much shared memory an object keeps; this makes it
   * run in time.
   */
  readonly weight: ArrayBuffer | undefined;
  /** Different for each. */
  readonly serial: number;
  /** Undefined when it was not made by changing another, or by too many changes. */
  changes: ChangesOf | undefined;
}

export interface ChangesOf {
  /** Serial of the state that was changed. */
  readonly since: number;
  readonly keys: readonly Key[];
}
