import { parseKey, type Key } from "../../../ip/index.ts";
import type { UdmIndex } from "../../../udm/index.ts";
import { turn } from "../common/tools-context.ts";

/** What stands in the text of every entry that has the field; quoted or not. */
const field = Buffer.from("contexts");
const lineFeed = 0x0a;
const blank = 0x20;
/** Text looked through before other requests get a turn. */
const portionBytes = 262_144;

/**
 * The keys of all entries that say where they apply, and perhaps of others, in the order of lists. They are found in the text of the file,
 * for few entries do, and looking into all takes long.
 */
export async function contextKeys(index: UdmIndex, check: () => void): Promise<readonly Key[]> {
  const keys = new Map<string, Key>();
  for (const piece of index.render("all", "yaml", "", portionBytes)) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    for (let at = bytes.indexOf(field); at >= 0; at = bytes.indexOf(field, at + field.length)) {
      const key = keyBefore(bytes, at);
      keys.set(key.text, key);
    }
    await turn();
    check();
  }
  return [...keys.values()];
}

/** The key of the entry that has this byte: it stands in the last line that is neither indented nor empty. */
function keyBefore(bytes: Buffer, at: number): Key {
  let end = at;
  let start = bytes.lastIndexOf(lineFeed, end - 1) + 1;
  while (bytes[start] === blank || bytes[start] === lineFeed) {
    end = start - 1;
    start = bytes.lastIndexOf(lineFeed, end - 1) + 1;
  }
  return parseKey(bytes.toString("utf8", start, end).replace(/^"|"?:$/g, ""));
}
