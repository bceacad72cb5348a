import { exitCodes } from "./terminal.ts";

/**
 * Why a command cannot do what it is asked to: the code and message that the API answered, `unreachable` or `untrusted` when there was no
 * answer, or what the command found itself (`failed`, `usage`, or a code of the API).
 */
export class CommandError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "CommandError";
    this.code = code;
  }
}

const codes: Readonly<Record<string, number>> = {
  usage: exitCodes.usage,
  not_found: exitCodes.notFound,
  already_exists: exitCodes.conflict,
  aborted: exitCodes.conflict,
  failed_precondition: exitCodes.conflict,
  invalid_argument: exitCodes.refused,
  out_of_range: exitCodes.refused,
  permission_denied: exitCodes.refused,
  unauthenticated: exitCodes.refused,
  resource_exhausted: exitCodes.refused,
  unimplemented: exitCodes.refused,
  unavailable: exitCodes.unreachable,
  unreachable: exitCodes.unreachable,
  untrusted: exitCodes.unreachable,
};

/** The exit code of a command that ends with this error. */
export function exitCodeOf(error: CommandError): number {
  return codes[error.code] ?? exitCodes.failure;
}
