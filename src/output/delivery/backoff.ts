export interface BackoffOptions {
  /** After the first failure, milliseconds. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * How long to wait before a further try: twice as long each time, and of that a random part from the half on, so that
 * many senders do not come back together.
 *
 * @param failures in a row, 1 or more.
 * @param askedMs what the server asked for (`Retry-After`): the wait is not shorter, up to ten minutes.
 */
export function backoffMs(
  { firstMs, maxMs, random }: BackoffOptions,
  failures: number,
  askedMs: number | undefined,
): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  const own = full * (0.5 + 0.5 * random());
  return askedMs === undefined ? own : Math.max(own, Math.min(askedMs, 600_000));
}
