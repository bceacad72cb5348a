import type { Clock } from "../../report/index.ts";
import { DeliveryError } from "./delivery-error.ts";
import type { HttpAnswer } from "./http-client.ts";

/** Statuses after which the same request may work: time, load, and settings that the operator fixes. */
const explanations: Readonly<Record<number, string>> = {
  401: "refuses the credentials",
  403: "refuses the credentials: they lack permission",
  404: "has nothing at the path",
  405: "does not take this kind of request at the path",
  407: "cannot be reached: the proxy wants credentials",
  408: "did not get the request in time",
  429: "asks to wait",
};

/**
 * What an answer other than success means for a batch.
 *
 * - 413: it is too large. 400, 422 and other faults of the content: the server will never take it.
 * - All others: it is tried again; what an operator can fix (401, 403, 404) must not lose records.
 */
export function httpFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const { status, url } = answer;
  const place = new URL(url).host;
  const said = saidBy(answer);
  const code = `http_${status}`;
  if (status === 413) return new DeliveryError("split", code, `${place} finds the request too large${said}`);
  if (status === 400 || status === 415 || status === 422) {
    return new DeliveryError("refuse", code, `${place} refuses the content with ${status}${said}`);
  }
  const explanation = explanations[status] ?? (status >= 500 ? "has a fault" : "answers unexpectedly");
  return new DeliveryError("retry", code, `${place} ${explanation}: ${status}${said}`, {
    retryAfterMs: retryAfterMs(answer, clock),
  });
}

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3); undefined without it. */
export function retryAfterMs({ headers }: Pick<HttpAnswer, "headers">, clock: Clock): number | undefined {
  const text = headers["retry-after"];
  if (text === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(text)) return 1000 * Number(text);
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, time - clock.now());
}

/** The begin of an answer's text, on one line. */
function saidBy({ body }: HttpAnswer): string {
  const text = body.subarray(0, 300).toString().replaceAll(/\s+/g, " ").trim();
  return text === "" ? "" : ` (${text})`;
}
