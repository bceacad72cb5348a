/** Throws an error for an offset of the text. */
export type Fail = (message: string, at: number) => never;

/**
 * Returns the pairs of a mapping with its merge key (`<<`, YAML 1.1) resolved. The mapping's own pairs take precedence over merged ones, and an earlier
 * merged mapping over a later one.
 */
export function mergedPairs(mapping: YamlMapping, fail: Fail): readonly YamlPair[] {
  const merge = mapping.pairs.find(isMerge);
  if (merge === undefined) return mapping.pairs;
  const own = mapping.pairs.filter((pair) => pair !== merge);
  const seen = new Set(own.map((pair) => pair.key.text));
  const merged: YamlPair[] = [];
  const sources = merge.value.kind === "sequence" ? merge.value.items : [merge.value];
  for (const source of sources) {
    if (source.kind !== "mapping") return fail("<< must merge a mapping or a list of mappings", merge.key.at);
    for (const pair of mergedPairs(source, fail)) {
      if (seen.has(pair.key.text)) continue;
      seen.add(pair.key.text);
      merged.push(pair);
    }
  }
  return [...own, ...merged];
}

function isMerge({ key }: YamlPair): boolean {
  return key.text === "<<" && (key.tag === "!!merge" || (key.isPlain && key.tag === undefined));
}

/** A position in a text, both counted from 1; columns count code points. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Thrown for a metadata file with unusable content. The message ends without a full stop; a caller that knows the file adds its name. */
export class YamlFault extends Error {
  readonly code = "bad_file";
  readonly position: TextPosition;

  constructor(message: string, position: TextPosition) {
    super(message);
    this.name = "YamlFault";
    this.position = position;
  }
}

/** Finds the line and column of `offset` (UTF-16 units) in the text. Line breaks are LF, CRLF and CR; a byte order mark has no column. */
export function positionAt(text: string, offset: number): TextPosition {
  return createPositions(text)(offset);
}

/** Returns a function like {@link positionAt} for many offsets of one text. */
export function createPositions(text: string): (offset: number) => TextPosition {
  let starts: number[] | undefined;
  // A column is counted from the last one on the same line, because a text may be one long line.
  let last = { start: -1, offset: 0, column: 0 };
  return (offset) => {
    starts ??= lineStarts(text);
    let low = 0;
    for (let high = starts.length - 1; low < high;) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    const start = starts[low] as number;
    if (start !== last.start || offset < last.offset) last = { start, offset: start, column: 1 };
    const column = last.column + Array.from(text.slice(last.offset, offset)).length;
    last = { start, offset, column };
    return { line: low + 1, column };
  };
}

function lineStarts(text: string): number[] {
  const starts = [text.startsWith("\uFEFF") ? 1 : 0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) starts.push(index + end.length);
  return starts;
}

/** Thrown by the fast reader for anything uncertain, including faults. The library then reads the text. */
export class UnsupportedYaml extends Error {}

export function unsupported(): never {
  throw new UnsupportedYaml();
}

/**
 * Decodes a file that must be UTF-8; a byte order mark stays.
 *
 * @throws YamlFault at the first invalid byte, which would otherwise be lost silently.
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

/** Returns the offset in the decoded text of the first character that replaces invalid bytes. */
function firstReplacement(bytes: Uint8Array, text: string): number {
  let byte = 0;
  for (let offset = text.indexOf("\uFFFD"); offset >= 0; offset = text.indexOf("\uFFFD", offset + 1)) {
    byte = Buffer.byteLength(text.slice(0, offset));
    if (bytes[byte] !== 0xef || bytes[byte + 1] !== 0xbf || bytes[byte + 2] !== 0xbd) return offset;
  }
  return 0;
}

/**
 * The content of a YAML document. Aliases are followed: an aliased node appears at each place as one object. Scalars keep their spelling: no value is
 * ever resolved to a number, a bool or a date.
 */
export type YamlNode = YamlScalar | YamlSequence | YamlMapping;

interface YamlNodeBase {
  /** Offset in the text, for error positions. */
  readonly at: number;
  /** The tag as written: `!!str`, `!local`, `!<tag:example.com,2000:x>`. */
  readonly tag: string | undefined;
  /** Size with all aliases expanded: one for each node, and the length of each scalar. */
  readonly weight: number;
  /** Depth of the node including itself, with all aliases expanded. */
  readonly depth: number;
}

export interface YamlScalar extends YamlNodeBase {
  readonly kind: "scalar";
  readonly text: string;
  /** True for an unquoted scalar that is no block scalar. It may stand for null, a bool or a number. */
  readonly isPlain: boolean;
}

export interface YamlSequence extends YamlNodeBase {
  readonly kind: "sequence";
  readonly items: readonly YamlNode[];
}

export interface YamlMapping extends YamlNodeBase {
  readonly kind: "mapping";
  readonly pairs: readonly YamlPair[];
}

export interface YamlPair {
  readonly key: YamlScalar;
  readonly value: YamlNode;
}

const nullTexts: ReadonlySet<string> = new Set(["", "~", "null", "Null", "NULL"]);

/** Reports whether every YAML reader takes the node for null. */
export function isNullNode(node: YamlNode): boolean {
  if (node.kind !== "scalar") return false;
  return node.tag === "!!null" || (node.isPlain && node.tag === undefined && nullTexts.has(node.text));
}
