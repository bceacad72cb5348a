/** The names of error statuses by number (RFC 3416 section 3). */
export const errorStatusNames = [
  "noError",
  "tooBig",
  "noSuchName",
  "badValue",
  "readOnly",
  "genErr",
  "noAccess",
  "wrongType",
  "wrongLength",
  "wrongEncoding",
  "wrongValue",
  "noCreation",
  "inconsistentValue",
  "resourceUnavailable",
  "commitFailed",
  "undoFailed",
  "authorizationError",
  "notWritable",
  "inconsistentName",
] as const;

export type ErrorStatusName = (typeof errorStatusNames)[number];

/** The numbers of error statuses by name. */
export const errorStatus = Object.fromEntries(errorStatusNames.map((name, number) => [name, number])) as Readonly<
  Record<ErrorStatusName, number>
>;

/** Stands in place of an error status for an answer that cannot be read. */
export const unreadableAnswer = -1;

export function errorStatusName(status: number): string {
  if (status === unreadableAnswer) return "an answer that cannot be read";
  return errorStatusNames[status] ?? `error status ${status}`;
}

/**
 * The reasons why a request failed:
 *
 * - `timeout`: no acceptable answer to any try
 * - `unreachable`: the host refused to send (no route, network down, not permitted)
 * - `auth`: the agent does not accept the user, the passphrases or the security level (RFC 3414 section 3.2)
 * - `not_in_time_window`: the agent keeps finding the time of our messages wrong
 * - `report`: any other Report of the agent
 * - `refused`: the agent answered all requests with an error status, such as authorizationError
 * - `malformed`: an authentic answer that cannot be decoded, or does not answer the request
 * - `too_big`: the request does not fit into a datagram, or exceeds the size that the agent accepts
 * - `unsupported`: the protocol version has no such operation, or this host no such cipher
 * - `invalid`: the caller's arguments
 * - `closed`: the session was closed before an answer came
 */
export const snmpErrorCodes = [
  "timeout",
  "unreachable",
  "auth",
  "not_in_time_window",
  "report",
  "refused",
  "malformed",
  "too_big",
  "unsupported",
  "invalid",
  "closed",
] as const;
export type SnmpErrorCode = (typeof snmpErrorCodes)[number];

/** The only error that leaves a session. Its message never contains a community or a passphrase. */
export class SnmpError extends Error {
  override readonly name = "SnmpError";
  readonly code: SnmpErrorCode;

  constructor(code: SnmpErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
