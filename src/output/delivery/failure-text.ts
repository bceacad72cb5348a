import { errorCode, reasonOf } from "../errno.ts";
import { DeliveryError } from "./delivery-error.ts";

const untrusted: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_UNTRUSTED",
]);

/** What somebody must mend; all else may pass by itself. */
const ofOperator: ReadonlySet<string> = new Set(["certificate", "tls"]);

/** Sentences for what the system and TLS say; `%s` is the place. */
const sentences: Readonly<Record<string, readonly [code: string, text: string]>> = {
  ECONNREFUSED: ["refused", "%s refuses connections: nothing listens there"],
  ENOTFOUND: ["name_not_found", "the host name of %s is not known"],
  EAI_AGAIN: ["name_not_found", "the host name of %s cannot be looked up now"],
  ETIMEDOUT: ["timeout", "%s does not answer"],
  EHOSTUNREACH: ["unreachable", "there is no route to %s"],
  ENETUNREACH: ["unreachable", "there is no route to %s"],
  ECONNRESET: [
    "connection_lost",
    "%s closed the connection before it answered: if it always does, is TLS on or off at both ends?",
  ],
  EPIPE: ["connection_lost", "%s closed the connection before it had the batch"],
  CERT_HAS_EXPIRED: ["certificate", "the certificate of %s has expired"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["certificate", "the certificate of %s is for another host name"],
  EPROTO: ["tls", "%s does not speak TLS as expected: is TLS on at both ends?"],
  ERR_SSL_WRONG_VERSION_NUMBER: ["tls", "%s does not speak TLS: is TLS on at both ends?"],
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ["certificate", "%s demands a client certificate"],
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: ["certificate", "%s refuses the client certificate"],
};

/**
 * Says in a sentence why a server could not be used; the failure may pass.
 *
 * @param place host and port, or a URL without credentials.
 */
export function connectionFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const code = errorCode(error);
  if (untrusted.has(code)) {
    return new DeliveryError(
      "operator",
      "certificate",
      `the certificate of ${place} is not trusted (${reasonOf(error)}): name its CA`,
      {
        cause: error,
      },
    );
  }
  const [word, text] = sentences[code] ?? ["unreachable", `%s cannot be reached: ${reasonOf(error)}`];
  return new DeliveryError(ofOperator.has(word) ? "operator" : "store", word, text.replace("%s", place), {
    cause: error,
  });
}

/** An error, and all within it: libraries wrap what the system says. */
export function* causesOf(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const one of error.errors) yield* causesOf(one);
  yield* causesOf(error.cause);
}
