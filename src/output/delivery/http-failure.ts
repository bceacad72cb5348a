import type { Clock } from "../../base/report/index.ts";
import { DeliveryError, type Blame } from "./delivery-error.ts";
import type { HttpAnswer } from "./http-client.ts";

/** Who is at fault by the status of a request, and what the status says. Others: the store from 500 on, the operator below. */
const statuses: Readonly<Record<number, readonly [Blame, string]>> = {
  400: ["record", "refuses the content"],
  401: ["operator", "refuses the credentials"],
  403: ["operator", "refuses the credentials: they lack permission"],
  404: ["operator", "has nothing at the path"],
  405: ["operator", "does not take this kind of request at the path"],
  407: ["operator", "cannot be reached: the proxy wants credentials"],
  408: ["store", "did not get the request in time"],
  413: ["record", "finds the request too large"],
  415: ["operator", "does not take the format or the compression"],
  422: ["record", "refuses the content"],
  425: ["store", "asks to send it again"],
  429: ["store", "asks to wait"],
  500: ["unclear", "has a fault"],
};

/** What web servers say to plain HTTP at a port of TLS, with status 400. */
const wantsTls =
  /\bHTTP request\b.*\bHTTPS (port|server)\b|\bspeaking plain HTTP to an SSL-enabled\b|\brequires TLS\b/i;

/** Who is at fault by a status, of a request or of a record. */
export function blameOfStatus(status: number): Blame {
  return statuses[status]?.[0] ?? (status >= 500 ? "store" : "operator");
}

/** What an answer other than success means for a batch. */
export function httpFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const { status, url } = answer;
  const place = new URL(url).host;
  const said = saidBy(answer);
  const code = `http_${status}`;
  if (status === 400 && wantsTls.test(said)) {
    return new DeliveryError("operator", "tls", `${place} speaks TLS only: turn TLS on${said}`);
  }
  const explanation = statuses[status]?.[1] ?? (status >= 500 ? "has a fault" : "answers unexpectedly");
  return new DeliveryError(blameOfStatus(status), code, `${place} ${explanation}: ${status}${said}`, {
    retryAfterMs: retryAfterMs(answer, clock),
  });
}

/** Whether an answer is a page for people: that of a proxy, a sign-in, a web server at a wrong path. */
export function isPage({ headers }: Pick<HttpAnswer, "headers">): boolean {
  return headers["content-type"]?.startsWith("text/html") === true;
}

/** A success that is none of the protocol: it acknowledges nothing. */
export function notAcknowledged(answer: HttpAnswer, protocol: string): DeliveryError {
  const text = `${new URL(answer.url).host} does not answer as ${protocol} does: ${answer.status}${saidBy(answer)}`;
  return new DeliveryError("operator", "protocol", `${text}: is the address right?`);
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
