import type { Clock } from "../../base/report/index.ts";
import { type HttpAnswer, httpFailure } from "../delivery/http-client.ts";
import { DeliveryError, type Blame } from "../delivery/output-adapter.ts";

/** Codes of exceptions (ClickHouse's `ErrorCodes`) by who is at fault. A record may cause any other code, for example through a view. */
const codes: Readonly<Record<Exclude<Blame, "unclear">, ReadonlySet<number>>> = {
  record: new Set([
    6, 25, 26, 27, 33, 34, 38, 41, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675, 676,
  ]),
  // Names, permissions, users, quotas, read-only mode, a full disk.
  operator: new Set([
    16, 36, 47, 48, 60, 80, 81, 115, 164, 180, 192, 193, 194, 195, 201, 242, 243, 290, 291, 344, 452, 497, 516,
  ]),
  // Time, load, memory, parts, the network, replicas and their keeper.
  store: new Set([
    3, 74, 75, 76, 158, 159, 160, 172, 198, 202, 203, 204, 209, 210, 212, 215, 218, 225, 236, 241, 252, 254, 265, 279,
    285, 289, 299, 305, 307, 319, 335, 394, 415, 425, 439, 473, 479, 735, 999, 1000, 1002,
  ]),
};
/** Codes for a table, database or column that does not exist (any more). The tables are inspected again before the next try. */
const ofTables: ReadonlySet<number> = new Set([16, 60, 81]);
const typeMismatch = 53;

/** Returns the code of the exception in an answer; 0: none. */
export function exceptionCode({ headers, body, status }: HttpAnswer): number {
  const header = Number(headers["x-clickhouse-exception-code"] ?? 0);
  if (header > 0 || (status >= 200 && status < 300)) return header;
  return Number(/^Code: ([0-9]+)\b/.exec(body.subarray(0, 32).toString())?.[1] ?? 0);
}

/**
 * Returns the error for an answer that is not a success. The server names at best the first of the rows that it cannot read, so
 * they are found by halving.
 */
export function clickHouseFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const code = exceptionCode(answer);
  if (code === 0) {
    const failure = httpFailure(answer, clock);
    const { blame, message, retryAfterMs } = failure;
    // The answer comes from a proxy: the server may have the rows.
    return blame === "unclear" ? new DeliveryError("store", failure.code, message, { retryAfterMs }) : failure;
  }
  const place = new URL(answer.url).host;
  const said = answer.body.subarray(0, 400).toString().replaceAll(/\s+/g, " ").trim();
  const view = viewOf(answer);
  if (view !== undefined) {
    const text = `the materialised view ${view} fails: mend or detach it: ${said}`;
    return new DeliveryError("unclear", `exception_${code}`, `${place}: ${text}`, { isWhole: true });
  }
  const known = (["record", "operator", "store"] as const).find((one) => codes[one].has(code)) ?? "unclear";
  const blame = isOfTypes(answer) ? "operator" : known;
  const what = blame === "record" ? "refuses the content" : "answers";
  return new DeliveryError(blame, `exception_${code}`, `${place} ${what}: ${said}`);
}

/** Returns the materialised view that could not take the rows. Its table has them by then. */
export function viewOf({ body }: HttpAnswer): string | undefined {
  return /while pushing to view (\S+?)[.,]?[\s(]/.exec(body.toString())?.[1];
}

export function isOfTables(answer: HttpAnswer): boolean {
  return ofTables.has(exceptionCode(answer)) || isOfTypes(answer);
}

/** Reports whether a column of the table no longer has the type that the block has: the records are not at fault. */
function isOfTypes(answer: HttpAnswer): boolean {
  return (
    exceptionCode(answer) === typeMismatch && /Cannot convert: .*While executing Native/s.test(answer.body.toString())
  );
}

/** The code for an action that the user may not take. */
export const accessDenied = 497;
