import { compareKeys } from "../../ip/index.ts";
import { YamlFault, positionAt } from "../../yaml/index.ts";
import { errorCode } from "../../file/index.ts";
import { itemsATurn, nextTurn } from "../model/next-turn.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import { readUdmYaml, type UdmFileContent } from "../model/read-udm-yaml.ts";
import { emptyFileText, renderEntry } from "../model/render-entry.ts";

/** What the library's reader makes of a whole file. */
export interface LibraryContent extends UdmFileContent {
  /** Whether the file is byte for byte what a save of its entries would write. */
  readonly isOurs: boolean;
}

/** Blocks as long as the library needs: seconds for a big file. @throws YamlFault */
export async function readLibraryContent(bytes: Uint8Array): Promise<LibraryContent> {
  const text = decodeUtf8(bytes);
  const content = await readUdmYaml(text);
  return { ...content, isOurs: await isWritten(text, content.entries) };
}

/** Whether `text` is what is written for these entries. */
async function isWritten(text: string, entries: readonly UdmEntry[]): Promise<boolean> {
  if (entries.length === 0) return text === emptyFileText || text === "";
  let at = 0;
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    const previous = entries[i - 1];
    if (previous !== undefined && compareKeys(previous.key, entry.key) > 0) return false;
    const rendered = renderEntry(entry);
    if (!text.startsWith(rendered, at)) return false;
    at += rendered.length;
  }
  return at === text.length;
}

/** Strict: a byte that is no UTF-8 would otherwise be lost with the first rewrite. */
function decodeUtf8(bytes: Uint8Array): string {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new YamlFault("the file is UTF-16, it must be UTF-8", { line: 1, column: 1 });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (errorCode(error) !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
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
