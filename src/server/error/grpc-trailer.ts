import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { fitTrailers } from "./api-error.ts";

/** The trailer of a gRPC answer that is an error. */
export function grpcErrorTrailer(error: ConnectError): Record<string, string> {
  return grpcTrailer(setTrailerStatus(new Headers(), fitTrailers(error)));
}

/** A trailer of connect-es with its message as the protocol has it: connect-es escapes more, which grpc-js leaves. */
export function grpcTrailer(trailer: Headers): Record<string, string> {
  const fields = Object.fromEntries(trailer);
  const message = fields["grpc-message"];
  if (message !== undefined) fields["grpc-message"] = percentEncode(decodeURIComponent(message));
  return fields;
}

/** All but printable ASCII, and the percent sign itself. */
function percentEncode(message: string): string {
  return message.replace(/[^ -$&-~]+/g, (part) => {
    const bytes = Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`);
    return bytes.join("");
  });
}
