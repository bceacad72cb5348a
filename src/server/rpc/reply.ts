import type { ConnectError } from "@connectrpc/connect";
import type { Encoded } from "./encoded.ts";
import type { Terms } from "./terms.ts";

/** How an answer is written, by the framing of the protocol. */
export interface Reply {
  /** What the header of the request says of compression, once it has been read. */
  terms: Terms;
  /** Answers with one message, and ends. */
  unary(encoded: Encoded): void | Promise<void>;
  /** Sends one message of a stream; resolves when there is room for another. */
  message(encoded: Encoded): Promise<void>;
  /** Ends a stream. */
  end(): void;
  /** Ends with an error, whatever has been sent before. */
  refuse(error: ConnectError): void;
}

/** Of a request whose header could not be read. */
export const noTerms: Terms = { isGzip: false, acceptsGzip: false };

/** What is smaller is not worth compressing, in bytes. */
export const compressFrom = 1024;
