import type { ConnectError } from "@connectrpc/connect";
import { KeyError, parseKey, type Key } from "../../base/ip/index.ts";
import { maxViolations, UdmError } from "../../metadata/index.ts";
import { apiError, violationsError, type FieldViolation } from "../error/api-error.ts";

/** @param violations at least one. */
export function badRequest(violations: readonly FieldViolation[]): ConnectError {
  return violationsError("invalid_argument", "INVALID_FIELD", violations.slice(0, maxViolations));
}

/** The key of a field. @throws ConnectError `invalid_argument` */
export function requestKey(text: string, field = "key"): Key {
  try {
    return parseKey(text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    throw badRequest([{ field, description: error.message }]);
  }
}

const reasons = {
  invalid_argument: "INVALID_FIELD",
  not_found: "KEY_NOT_FOUND",
  already_exists: "KEY_EXISTS",
  failed_precondition: "CHANGED_MEANWHILE",
  unavailable: "STORE_UNAVAILABLE",
  resource_exhausted: "LIMIT_EXCEEDED",
} as const;

/**
 * An error of the store as one of the API. Anything but a refusal of the store stays as it is: a fault of ours.
 *
 * @param fieldPath what stands before the fields of the n-th write.
 */
export function toApiError(error: unknown, fieldPath: (index: number) => string): unknown {
  if (!(error instanceof UdmError)) return error;
  const { code, message } = error;
  if (error.violations.length === 0) return apiError(code, reasons[code], message);
  const violations = error.violations.map(({ index, field, description }) => ({
    field: `${fieldPath(index)}${field}`,
    description,
  }));
  return violationsError(code, reasons[code], violations);
}
