import { positionAt, YamlFault } from "./yaml-fault.ts";

/**
 * Decodes a file that must be UTF-8; a byte order mark stays.
 *
 * @throws YamlFault at the first byte that is none: it would otherwise be lost in silence.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new YamlFault("the file is UTF-16, it must be UTF-8", { line: 1, column: 1 });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    throw new YamlFault("the file is not UTF-8 here", positionAt(text, firstReplacement(bytes, text)));
  }
}

/** Offset in the decoded text of the first character that stands for bytes which are not UTF-8. */
function firstReplacement(bytes: Uint8Array, text: string): number {
  let byte = 0;
  for (let offset = text.indexOf("\uFFFD"); offset >= 0; offset = text.indexOf("\uFFFD", offset + 1)) {
    byte = Buffer.byteLength(text.slice(0, offset));
    if (bytes[byte] !== 0xef || bytes[byte + 1] !== 0xbf || bytes[byte + 2] !== 0xbd) return offset;
  }
  return 0;
}
