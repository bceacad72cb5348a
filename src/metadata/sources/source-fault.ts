/** Why a run came to nothing, with what is said of it where nothing of the answer may be shown. */
export const sourceFaults = {
  unreachable: "it cannot be reached",
  too_slow: "it takes too long",
  refused: "it refuses",
  rate_limited: "it asks to come back later",
  too_large: "its answer is too long",
  content: "its answer cannot be used",
  partial: "its answer is not whole",
  configuration: "its configuration cannot be used",
  no_room: "its entries have no room",
  other: "a fault of the collector",
} as const;
export type RunFaultCode = keyof typeof sourceFaults;
export type SourceFaultCode = Exclude<RunFaultCode, "no_room" | "other">;

/**
 * A run that failed; the entries of the run before stay. The message is a sentence for operators, without secrets;
 * it may have parts of what was read, which only those may see who may see entries.
 */
export class SourceFault extends Error {
  readonly code: SourceFaultCode;
  /** How long the server asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: SourceFaultCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "SourceFault";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}
