import type { Clock } from "../../report/index.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import type { HttpAnswer } from "../delivery/http-client.ts";
import { httpFailure } from "../delivery/http-failure.ts";

/** Codes of exceptions (ClickHouse's `ErrorCodes`) that the content of a row causes. */
const ofContent: ReadonlySet<number> = new Set([
  6, 25, 26, 27, 33, 34, 38, 41, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 376, 407, 441, 467, 675, 676,
]);
/** There is no such table, database or column (any more): they are judged again before the next try. */
const ofTables: ReadonlySet<number> = new Set([16, 60, 81]);

/** The code of the exception that an answer carries; 0: none. */
export function exceptionCode({ headers, body, status }: HttpAnswer): number {
  const header = Number(headers["x-clickhouse-exception-code"] ?? 0);
  if (header > 0 || (status >= 200 && status < 300)) return header;
  return Number(/^Code: ([0-9]+)\b/.exec(body.subarray(0, 32).toString())?.[1] ?? 0);
}

/**
 * What an answer that is no success means. Of rows that the server cannot read it names the first at best, so they are
 * found by halves. All else is tried again.
 */
export function clickHouseFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const code = exceptionCode(answer);
  if (code === 0) return httpFailure(answer, clock);
  const place = new URL(answer.url).host;
  const said = answer.body.subarray(0, 400).toString().replaceAll(/\s+/g, " ").trim();
  if (ofContent.has(code))
    return new DeliveryError("split", `exception_${code}`, `${place} refuses the content: ${said}`);
  return new DeliveryError("retry", `exception_${code}`, `${place} answers: ${said}`);
}

export function isOfTables(answer: HttpAnswer): boolean {
  return ofTables.has(exceptionCode(answer));
}
