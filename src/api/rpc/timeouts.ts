import { Code, ConnectError } from "@connectrpc/connect";
import { quote } from "../../text/index.ts";
import { apiError } from "./api-error.ts";

/** Tells whether somebody still waits for an answer, by throwing when not. */
export type Waiting = Pick<AbortSignal, "throwIfAborted">;

/** The longest time that a timer can hold; Node fires a longer one at once. */
const maxTimer = 2_147_483_647;

/**
 * Runs with what aborts with `parent`, or with `deadline_exceeded` after the time that `Connect-Timeout-Ms`
 * gives.
 *
 * @throws ConnectError `invalid_argument` for a header that is not a number of up to ten digits.
 */
export async function withDeadline<T>(
  timeoutHeader: string | undefined,
  parent: Waiting & { readonly signal: AbortSignal },
  run: (waiting: Waiting) => Promise<T>,
): Promise<T> {
  if (timeoutHeader === undefined) return run(parent);
  if (!/^\d{1,10}$/.test(timeoutHeader)) {
    throw apiError(
      "invalid_argument",
      "INVALID_TIMEOUT",
      `Connect-Timeout-Ms ${quote(timeoutHeader)} is not a number of milliseconds`,
    );
  }
  const controller = new AbortController();
  const exceed = (): void =>
    controller.abort(new ConnectError("the deadline of the request has passed", Code.DeadlineExceeded));
  if (Number(timeoutHeader) === 0) exceed();
  const timer = setTimeout(exceed, Math.min(Number(timeoutHeader), maxTimer));
  try {
    return await run(AbortSignal.any([controller.signal, parent.signal]));
  } finally {
    clearTimeout(timer);
  }
}

const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 };

/**
 * Milliseconds that a `grpc-timeout` header gives: Infinity without one, and for more than a timer can hold. Undefined for one that
 * is not valid.
 */
export function grpcTimeout(value: string | undefined): number | undefined {
  if (value === undefined) return Infinity;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const timeout = Number(digits) * (grpcUnits[unit] ?? 1);
  return timeout > maxTimer ? Infinity : timeout;
}

/** Whether a valid timeout header asks for more than a timer can hold: as good as none. */
export function isBeyondTimer(name: "grpc-timeout" | "connect-timeout-ms", value: string): boolean {
  const [, digits, unit] = (name === "grpc-timeout" ? /^(\d{1,8})([HMSmun])$/ : /^(\d{1,10})()$/).exec(value) ?? [];
  if (digits === undefined) return false;
  return Number(digits) * (grpcUnits[unit ?? ""] ?? 1) > maxTimer;
}
