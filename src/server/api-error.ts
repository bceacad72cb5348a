import { toUSVString } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { BadRequestSchema, ErrorInfoSchema } from "./gen/google/rpc/details_pb.ts";

/** The codes of this server's errors, in the spelling of Connect. */
export type ApiErrorCode =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "unauthenticated"
  | "permission_denied"
  | "resource_exhausted"
  | "unimplemented"
  | "unavailable"
  | "deadline_exceeded"
  | "internal";

/** One fault of a request. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

interface ErrorDetails {
  readonly violations?: readonly FieldViolation[];
  /** The values that belong to the reason. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Returns an error for every transport: code and message, a google.rpc.ErrorInfo with the reason (a constant in
 * capitals, domain `netgloss`) and, for faulty fields, a google.rpc.BadRequest.
 */
export function apiError(
  code: ApiErrorCode,
  reason: string,
  message: string,
  details: ErrorDetails = {},
): ConnectError {
  const info = { reason, domain: "netgloss", metadata: { ...details.metadata } };
  const violations = (details.violations ?? []).map(({ field, description }) => ({
    field: toUSVString(field),
    description: toUSVString(description),
  }));
  return new ConnectError(toUSVString(message), codeFromString(code) ?? Code.Unknown, undefined, [
    { desc: ErrorInfoSchema, value: info },
    ...(violations.length > 0 ? [{ desc: BadRequestSchema, value: { fieldViolations: violations } }] : []),
  ]);
}

/**
 * Returns an error for faults in the fields of a request. Its message is the first fault, after its path where a batch or plain text needs
 * one, and the number of further faults.
 *
 * @param violations at least one.
 */
export function violationsError(
  code: ApiErrorCode,
  reason: string,
  violations: readonly FieldViolation[],
  needsPath: (field: string) => boolean = (field) => field.startsWith("requests["),
): ConnectError {
  const [{ field, description }, ...others] = violations as [FieldViolation, ...FieldViolation[]];
  const path = needsPath(field) ? `${field}: ` : "";
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return apiError(code, reason, `${path}${description}${more}`, { violations });
}

/** Returns the error that ends a call for which nobody waits any more. */
export function clientGone(): ConnectError {
  return new ConnectError("the client has gone", Code.Canceled);
}

/** The most bytes of a gRPC error's details. They are sent in a header, and clients refuse long headers. */
const maxTrailerBytes = 4096;

/** Returns the error with as many violations as fit into the trailers of a gRPC answer, and a message of limited length. */
function fitTrailers(error: ConnectError): ConnectError {
  const details = error.details.map((detail) => {
    if (!("desc" in detail) || detail.desc.typeName !== BadRequestSchema.typeName) return detail;
    const { fieldViolations } = create(BadRequestSchema, detail.value as object);
    let size = 0;
    const fitting = fieldViolations.filter((violation) => {
      size += toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [violation] })).length;
      return size <= maxTrailerBytes;
    });
    return { desc: BadRequestSchema, value: { fieldViolations: fitting } };
  });
  const message = error.rawMessage.length > 1024 ? `${error.rawMessage.slice(0, 1024)}…` : error.rawMessage;
  return new ConnectError(toUSVString(message), error.code, error.metadata, details as never, error.cause);
}

/** Returns the trailer of a gRPC error. */
export function grpcErrorTrailer(error: ConnectError): Record<string, string> {
  return grpcTrailer(setTrailerStatus(new Headers(), fitTrailers(error)));
}

/** Returns a trailer of connect-es with its message escaped by the protocol. connect-es escapes more, which grpc-js does not unescape. */
function grpcTrailer(trailer: Headers): Record<string, string> {
  const fields = Object.fromEntries(trailer);
  const message = fields["grpc-message"];
  if (message !== undefined) fields["grpc-message"] = percentEncode(decodeURIComponent(message));
  return fields;
}

/** Escapes the percent sign and all characters outside printable ASCII. */
function percentEncode(message: string): string {
  return message.replace(/[^ -$&-~]+/g, (part) => {
    const bytes = Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`);
    return bytes.join("");
  });
}
