import { isMappedSpelling, KeyError, type Key } from "../../base/ip/index.ts";
import { parseStoredKey } from "../model/name-key.ts";
import { decodeUtf8, createPositions, readYaml } from "../../base/yaml/index.ts";
import { KeyScanner, createKeyWords, setKeyWords, type KeyWords } from "../index/key-limbs.ts";

/** The lines on which the entries of a file begin. The file may have any valid form. */
export interface EntryLines {
  readonly size: number;
  /** Finds the line of an entry, from 1 on; returns undefined where there is no such entry. */
  find(key: Key): number | undefined;
}

/**
 * Finds the lines of all entries of a valid file. It scans the bytes where each key begins a line; otherwise it uses the YAML
 * library.
 *
 * @param size the known number of entries of the file.
 * @returns the lines; undefined where not all entries are found.
 */
export function findEntryLines(bytes: Uint8Array, size: number): EntryLines | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = scanLines(buffer, size);
  if (found?.size === size) return found;
  const read = splitLines(buffer, size);
  return read.size === size ? read : undefined;
}

/** Scans the lines. @returns undefined where a line does not start with a plain key. */
function scanLines(bytes: Buffer, expected: number): EntryLines | undefined {
  const keys = new KeyScanner(bytes);
  const table = new LineTable(expected);
  for (let line = 1, at = 0; at < bytes.length; line++) {
    const end = bytes.indexOf(lineFeed, at);
    const next = end < 0 ? bytes.length : end + 1;
    if (!insignificant.has(bytes[at] as number)) {
      const start = bytes[at] === quote ? at + 1 : at;
      const behind = keys.scan(start);
      const colonAt = start === at ? behind : behind + 1;
      if (behind >= 0 && bytes[colonAt] === colon) table.add(keys.family, keys.words, line);
      else {
        const text = oddKey(bytes.toString("utf8", at, next));
        if (text === undefined) return undefined;
        table.addKey(text, line);
      }
    }
    at = next;
  }
  return table;
}

/** Returns the key of a line that the collector did not write. */
function oddKey(line: string): string | undefined {
  const [, double, single, plain] = /^(?:"([^"\\]*)"|'([^']*)'|([\dA-Fa-f:].*?))\s*:(?:\s|$)/.exec(line) ?? [];
  const text = double ?? single ?? plain ?? "";
  try {
    parseStoredKey(text);
    return text;
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

function splitLines(bytes: Buffer, expected: number): EntryLines {
  const text = decodeUtf8(bytes);
  const root = readYaml(text);
  const table = new LineTable(expected);
  const positionOf = createPositions(text);
  for (const { key } of root?.kind === "mapping" ? root.pairs : []) {
    table.addKey(key.text, positionOf(key.at).line);
  }
  return table;
}

/**
 * A table from key to line, in 16 to 32 bytes for each entry. It keeps a 62-bit digest instead of the key. Two of a million keys share a digest
 * with a probability of one in some millions.
 */
class LineTable implements EntryLines {
  readonly #mask: number;
  readonly #slots: Int32Array<ArrayBuffer>;
  #size = 0;
  readonly #words = createKeyWords();

  constructor(expected: number) {
    this.#mask = 2 ** Math.ceil(Math.log2(2 * Math.max(expected, 8))) - 1;
    this.#slots = new Int32Array(2 * (this.#mask + 1));
  }

  get size(): number {
    return this.#size;
  }

  add(family: number, from: KeyWords, line: number): void {
    this.#set(digestOf(family, from), line);
  }

  /** Adds a key. @param text its text. A key spelt with IPv4-mapped addresses counts only where the IPv4 key is missing. */
  addKey(text: string, line: number): void {
    const key = parseStoredKey(text);
    this.#set(digestOf(key.family, setKeyWords(this.#words, key)), line, isMappedSpelling(text, key));
  }

  find(key: Key): number | undefined {
    const line = this.#slots[2 * this.#slotOf(digestOf(key.family, setKeyWords(this.#words, key))) + 1];
    return line === 0 ? undefined : line;
  }

  #slotOf(digest: Digest): number {
    let at = digest.place & this.#mask;
    while (this.#slots[2 * at + 1] !== 0 && this.#slots[2 * at] !== digest.check) at = (at + 1) & this.#mask;
    return at;
  }

  #set(digest: Digest, line: number, givesWay = false): void {
    // More keys than expected mean that the file has changed, so the table is useless.
    if (2 * this.#size > this.#mask) return;
    const at = this.#slotOf(digest);
    if (this.#slots[2 * at + 1] === 0) this.#size++;
    else if (givesWay) return;
    this.#slots[2 * at] = digest.check;
    this.#slots[2 * at + 1] = line;
  }
}

type Digest = Readonly<Record<"place" | "check", number>>;

function digestOf(family: number, { first, last, written, rank }: KeyWords): Digest {
  let [place, check] = [family + 8 * rank, 8 * family + rank];
  const width = family === 4 ? 1 : 4;
  for (const part of [first, last, written]) {
    for (let w = 0; w < width; w++) {
      const word = part[w] as number;
      place = Math.imul(place ^ word, 0x9e37_79b1);
      place ^= place >>> 15;
      check = Math.imul(check + word, 0x85eb_ca6b);
      check ^= check >>> 13;
    }
  }
  return { place, check };
}

const lineFeed = 0x0a;
const quote = 0x22;
const colon = 0x3a;
/** The first characters of lines without a key: indented and empty lines, comments, list items and document markers. */
const insignificant: ReadonlySet<number> = new Set(Array.from(" \t\r\n#-.%", (sign) => sign.charCodeAt(0)));
