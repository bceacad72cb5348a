/** Why a call gave no answer: nobody answered, it took too long, the proof of who asks is missing, or the server refused. */
export type FailureKind = "offline" | "timeout" | "unauthenticated" | "forbidden" | "refused";

/** What went wrong with a field of the request. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** A call of the API that failed; the message is the server's where there is one. */
export class ApiFailure extends Error {
  readonly kind: FailureKind;
  /** Of HTTP; 0 without an answer. */
  readonly status: number;
  /** The server's word for it: `not_found`. */
  readonly code: string;
  /** Its reason in the server's words, narrower than the code: `CSRF_TOKEN`. */
  readonly reason: string;
  readonly violations: readonly FieldViolation[];

  constructor(
    kind: FailureKind,
    message: string,
    { status = 0, code = "", reason = "", violations = [] as readonly FieldViolation[] } = {},
  ) {
    super(message);
    this.name = "ApiFailure";
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.violations = violations;
  }
}

interface ErrorBody {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** The failure that an answer with an error status stands for. */
export function failureOf(status: number, body: unknown): ApiFailure {
  const { code, message, details }: ErrorBody = typeof body === "object" && body !== null ? body : {};
  // Other answers come from a proxy whose server is gone.
  const isOurs = typeof code === "string";
  const kind: FailureKind =
    status === 401
      ? "unauthenticated"
      : status === 403
        ? "forbidden"
        : !isOurs && (status === 502 || status === 503 || status === 504)
          ? "offline"
          : "refused";
  const text =
    typeof message === "string" && message !== "" ? message : `the server answered with status ${String(status)}`;
  return new ApiFailure(kind, text, {
    status,
    code: isOurs ? code : "",
    reason: reasonOf(details),
    violations: violationsOf(details),
  });
}

function reasonOf(details: unknown): string {
  if (!Array.isArray(details)) return "";
  const reasons = details.map((detail: { debug?: { reason?: unknown } } | null) => detail?.debug?.reason);
  return reasons.find((reason) => typeof reason === "string") ?? "";
}

function violationsOf(details: unknown): readonly FieldViolation[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: { debug?: { fieldViolations?: unknown } } | null) => {
    const list = detail?.debug?.fieldViolations;
    return Array.isArray(list) ? (list as FieldViolation[]) : [];
  });
}
