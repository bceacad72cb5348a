/**
 * The closed set of ways in which the store refuses.
 * - `invalid_argument`: the request breaks a rule, or names one key twice.
 * - `not_found`, `already_exists`: as the state is after the writes before this one.
 * - `unavailable`: the file could not be read at start, or cannot be saved; nothing has changed.
 * - `failed_precondition`: others have changed what the write was made for.
 * - `resource_exhausted`: a configured limit would be exceeded.
 */
export type UdmErrorCode =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "unavailable"
  | "resource_exhausted";

/** One thing that is wrong with one write of a batch. */
export interface UdmViolation {
  /** Position of the write in the batch. */
  readonly index: number;
  /** `key`, `name`, `tags[2]`, `metadata[".site"]`, … */
  readonly field: string;
  /** A sentence that names the offending value. */
  readonly description: string;
}

export class UdmError extends Error {
  readonly code: UdmErrorCode;
  /** All violations of a batch, in order, at most {@link maxViolations}. */
  readonly violations: readonly UdmViolation[];

  constructor(code: UdmErrorCode, message: string, violations: readonly UdmViolation[] = [], options?: ErrorOptions) {
    super(message, options);
    this.name = "UdmError";
    this.code = code;
    this.violations = violations.slice(0, maxViolations);
  }
}

/** How many violations an error lists at most. */
export const maxViolations = 100;
