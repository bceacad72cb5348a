import { UdmError } from "../model/udm-error.ts";
import type { Heap } from "./heap.ts";

/** What is said when there is no room for an entry. */
export interface IndexLimits {
  readonly maxEntries: number;
  /** What a message says of how to raise it. */
  readonly limitName: string;
}

export function fullError({ buffer }: Heap, { limitName }: IndexLimits): UdmError {
  return new UdmError(
    "resource_exhausted",
    `the memory for metadata is full (${Math.round(buffer.byteLength / 1e6)} MB): raise ${limitName}`,
  );
}

export function tooManyError({ maxEntries, limitName }: IndexLimits): UdmError {
  return new UdmError("resource_exhausted", `there may be ${maxEntries} metadata entries at most: raise ${limitName}`);
}
