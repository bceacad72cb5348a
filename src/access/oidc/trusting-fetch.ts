import { Agent as ClearAgent, request as requestOverHttp, type IncomingMessage } from "node:http";
import { Agent, request as requestOverHttps } from "node:https";
import { rootCertificates } from "node:tls";
import { Readable } from "node:stream";
import type { CustomFetch } from "openid-client";

/** Answers longer than this are none of an issuer, bytes. */
const maxAnswer = 1024 * 1024;

/**
 * Requests as `fetch` makes them, which also trust these authorities and bound the answer: the `fetch` of Node.js does neither. Redirections
 * are not followed.
 *
 * @param authorities certificates in PEM; undefined: the known ones alone.
 */
export function createTrustingFetch(authorities: Buffer | undefined): CustomFetch {
  const ca = authorities && [...rootCertificates, authorities.toString()];
  const [agent, clearAgent] = [
    new Agent({ ...(ca && { ca }), keepAlive: false }),
    new ClearAgent({ keepAlive: false }),
  ];
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const isClear = new URL(url).protocol === "http:";
      const begin = isClear ? requestOverHttp : requestOverHttps;
      const request = begin(url, { method, headers, signal, agent: isClear ? clearAgent : agent }, (message) =>
        resolve(responseOf(message)),
      );
      request.on("error", reject);
      request.end(body instanceof URLSearchParams ? body.toString() : (body as string | Uint8Array | undefined));
    });
}

function responseOf(message: IncomingMessage): Response {
  const { statusCode = 500, headersDistinct } = message;
  let length = 0;
  message.on("data", (piece: Buffer) => {
    length += piece.length;
    if (length > maxAnswer) message.destroy(new Error(`the answer is longer than ${maxAnswer} bytes`));
  });
  message.pause();
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = ![101, 204, 205, 304].includes(statusCode);
  if (!hasBody) message.resume();
  const body = hasBody ? (Readable.toWeb(message) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status: statusCode, headers });
}
