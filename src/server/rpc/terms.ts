import { apiError } from "../error/api-error.ts";
import { quote } from "../../base/text/index.ts";
import type { Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import { isGzipped } from "../http/read-body.ts";
import type { Protocol } from "./protocol.ts";

/**
 * Milliseconds that a `Connect-Timeout-Ms` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to ten digits.
 */
function connectTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw badTimeout(`Connect-Timeout-Ms ${quote(value)} is not a number of milliseconds`);
}

const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 };

/**
 * Milliseconds that a `grpc-timeout` header gives; Infinity without one.
 *
 * @throws ConnectError `invalid_argument` for what is not a number of up to eight digits with a unit.
 */
function grpcTimeout(value: string | undefined): number {
  if (value === undefined) return Infinity;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  if (digits !== undefined) return Number(digits) * (grpcUnits[unit] ?? 1);
  throw badTimeout(`grpc-timeout ${quote(value)} is not a number of up to eight digits with a unit`);
}

function badTimeout(message: string): Error {
  return apiError("invalid_argument", "INVALID_TIMEOUT", message);
}

/** What the header of a request says of compression. */
export interface Terms {
  /** Whether messages of the request are, or may be, compressed by gzip. */
  readonly isGzip: boolean;
  readonly acceptsGzip: boolean;
}

/**
 * Reads what the header asks for; a deadline is noted in the call.
 *
 * @throws ConnectError `unimplemented` for an unknown compression, `invalid_argument` for a bad time-out or version.
 */
export function readTerms(call: Call, { framing, encodingName, acceptsName }: Protocol): Terms {
  const { headers } = call;
  const acceptsGzip = takesGzip(headerOf(headers, acceptsName));
  if (framing === "grpc" || framing === "grpc-web") {
    call.timeout = grpcTimeout(headerOf(headers, "grpc-timeout"));
  } else {
    const version = headerOf(headers, "connect-protocol-version");
    if (version !== undefined && version !== "1") throw unknownVersion(version);
    call.timeout = connectTimeout(headerOf(headers, "connect-timeout-ms"));
  }
  return { isGzip: isGzipped(headerOf(headers, encodingName)), acceptsGzip };
}

/** Most calls say what the one before said. */
let last = { accepted: "", takes: false };

/** Whether a client takes what is compressed by gzip. */
export function takesGzip(accepted: string | undefined): boolean {
  if (accepted === undefined) return false;
  if (accepted !== last.accepted) last = { accepted, takes: namesGzip(accepted) };
  return last.takes;
}

function namesGzip(accepted: string): boolean {
  return accepted
    .toLowerCase()
    .split(",")
    .some((coding) => /^\s*((?:x-)?gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(coding));
}

function unknownVersion(version: string): Error {
  const message = `Connect-Protocol-Version must be "1", not ${quote(version)}`;
  return apiError("invalid_argument", "UNKNOWN_PROTOCOL", message);
}
