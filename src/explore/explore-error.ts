/** Why a question to Explore has no answer. The codes are those of the API. */
export type ExploreErrorCode =
  | "invalid_argument"
  | "not_found"
  | "resource_exhausted"
  | "unavailable"
  | "deadline_exceeded"
  | "canceled";

/** Its message is for the one who asked. It goes from one thread to another by {@link asPlain} and {@link fromPlain}. */
export class ExploreError extends Error {
  readonly code: ExploreErrorCode;
  /** Which field of the question is at fault. */
  readonly field: string | undefined;

  constructor(code: ExploreErrorCode, message: string, field?: string) {
    super(message);
    this.name = "ExploreError";
    this.code = code;
    this.field = field;
  }
}
