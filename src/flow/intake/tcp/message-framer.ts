/** Why a stream cannot be cut into messages any more. */
export type FramingFault = "bad_version" | "bad_length";

/** Cuts a stream of bytes into IPFIX messages by the length in their headers (RFC 7011 section 3.1). */
export interface MessageFramer {
  /** Adds what was received. The bytes are kept, not copied, while nothing else is held. */
  push(chunk: Buffer): void;
  /**
   * The next message whole; it is valid until the next push. Undefined while it is not complete.
   * A fault when the next header is none of IPFIX: nothing behind it can be found.
   */
  peek(): Buffer | FramingFault | undefined;
  /** Leaves the message that {@link peek} showed. */
  skip(): void;
  /** Bytes received and not left yet: less than a message when all messages have been left. */
  readonly held: number;
}

const headerLength = 16;
const version = 10;
const nothing = Buffer.alloc(0);

export function createMessageFramer(): MessageFramer {
  let bytes: Buffer = nothing;
  let start = 0;
  let end = 0;

  return {
    push(chunk) {
      const rest = end - start;
      if (rest === 0) {
        bytes = chunk;
        start = 0;
        end = chunk.length;
        return;
      }
      if (end + chunk.length > bytes.length) {
        // Powers of two: a sender of single bytes costs no copy for each of them.
        const room = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(2 * rest + chunk.length)));
        bytes.copy(room, 0, start, end);
        bytes = room;
        start = 0;
        end = rest;
      }
      chunk.copy(bytes, end);
      end += chunk.length;
    },
    peek() {
      const rest = end - start;
      if (rest < 2) return rest === 1 && bytes[start] !== 0 ? "bad_version" : undefined;
      if (bytes.readUInt16BE(start) !== version) return "bad_version";
      if (rest < 4) return undefined;
      const length = bytes.readUInt16BE(start + 2);
      if (length < headerLength) return "bad_length";
      return rest < length ? undefined : bytes.subarray(start, start + length);
    },
    skip() {
      start += bytes.readUInt16BE(start + 2);
      if (start < end) return;
      // A connection that is idle holds nothing.
      bytes = nothing;
      start = end = 0;
    },
    get held() {
      return end - start;
    },
  };
}
