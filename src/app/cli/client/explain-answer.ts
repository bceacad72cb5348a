import { CommandError } from "../command-error.ts";

/** What OpenSSL says of a certificate that is not trusted. */
const untrusted = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/;

/** Why there was no answer from an origin, and what to do. */
export function noAnswerError(origin: string, error: NodeJS.ErrnoException): CommandError {
  const { code = "", message } = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
  if (untrusted.test(code)) {
    const hint = code === "ERR_TLS_CERT_ALTNAME_INVALID" ? "use a name of the certificate" : "give its CA with --ca";
    return new CommandError("untrusted", `the certificate of ${origin} is not trusted: ${message}; ${hint}`);
  }
  if (/^ERR_SSL_TLSV1\d?_ALERT|CERTIFICATE_REQUIRED|^ERR_OSSL/.test(code)) {
    return new CommandError("untrusted", `the TLS connection to ${origin} was refused: ${message}; see --cert, --key`);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return new CommandError("unreachable", `${origin} does not speak TLS: is http:// meant?`);
  }
  if (code === "HPE_INVALID_CONSTANT" || code === "ECONNRESET") {
    return new CommandError("unreachable", `no answer from ${origin}: ${message}. Is https:// meant?`);
  }
  return new CommandError("unreachable", `no answer from ${origin}: ${message}. Is netgloss running there?`);
}

interface ErrorJson {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly {
    readonly debug?: {
      readonly fieldViolations?: readonly { readonly field?: string; readonly description?: string }[];
    };
  }[];
}

/** What an answer with the status of an error says. */
export function answerError(status: number, text: string, hasCredentials: boolean): CommandError {
  try {
    const { code, message, details = [] } = JSON.parse(text) as ErrorJson;
    if (typeof code === "string") {
      const violations = details.flatMap(({ debug }) => debug?.fieldViolations ?? []);
      // One is in the message already.
      const lines = violations.length < 2 && status !== 422 ? [] : violations;
      const more = lines.map(({ field = "", description = "" }) => `\n  ${field}: ${description}`);
      const hint = code === "unauthenticated" && !hasCredentials ? "; see --user, NETGLOSS_TOKEN" : "";
      return new CommandError(code, `${code}: ${message ?? ""}${hint}${more.join("")}`);
    }
  } catch {
    // Not the API's answer: a proxy's, perhaps. Its status says more than its text.
  }
  return new CommandError("unknown", `HTTP status ${status}: ${text.slice(0, 200)}`);
}
