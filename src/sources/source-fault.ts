/** Why a run came to nothing. */
export type SourceFaultCode =
  | "unreachable"
  | "refused"
  | "rate_limited"
  | "too_large"
  | "content"
  | "partial"
  | "configuration";
export const sourceFaultCodes = [
  "unreachable",
  "refused",
  "rate_limited",
  "too_large",
  "content",
  "partial",
  "configuration",
] as const satisfies readonly SourceFaultCode[];

/** A run that failed; the entries of the run before stay. The message is a sentence for operators, without secrets. */
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
