import { apiError } from "../error/api-error.ts";
import { quote } from "../../text/index.ts";

/**
 * Milliseconds that a `Connect-Timeout-Ms` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to ten digits.
 */
export function connectTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw badTimeout(`Connect-Timeout-Ms ${quote(value)} is not a number of milliseconds`);
}

const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 };

/**
 * Milliseconds that a `grpc-timeout` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to eight digits with a unit.
 */
export function grpcTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  if (digits !== undefined) return Number(digits) * (grpcUnits[unit] ?? 1);
  throw badTimeout(`grpc-timeout ${quote(value)} is not a number of up to eight digits with a unit`);
}

function badTimeout(message: string): Error {
  return apiError("invalid_argument", "INVALID_TIMEOUT", message);
}
