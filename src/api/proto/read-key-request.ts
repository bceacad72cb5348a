import type { ListSelector } from "../rpc/udm-service.ts";

const keyTag = 0x0a;
const exactTag = 0x10;
/** Above it a length takes more than one byte. */
const maxShort = 127;

/**
 * Reads a ListUdmsRequest, ListUdmKeysRequest or DeleteUdmRequest as encoders write it: the key (field 1, ASCII, up to 127
 * bytes), then `exact` (field 2), each at most once.
 *
 * @returns undefined for any other bytes, valid or not: the protobuf library says what they are.
 */
export function readKeyRequest(bytes: Uint8Array): ListSelector | undefined {
  let at = 0;
  let key = "";
  if (bytes[at] === keyTag) {
    const length = bytes[at + 1];
    if (length === undefined || length > maxShort || at + 2 + length > bytes.length) return undefined;
    at += 2;
    for (const end = at + length; at < end; at++) {
      const code = bytes[at] as number;
      if (code > 0x7f) return undefined;
      key += String.fromCharCode(code);
    }
  }
  if (at === bytes.length) return { key, exact: false };
  const isExact = bytes[at] === exactTag && at + 2 === bytes.length && (bytes[at + 1] as number) <= 1;
  return isExact ? { key, exact: bytes[at + 1] === 1 } : undefined;
}
