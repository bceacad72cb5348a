/** A place in a text, both counted from 1; columns count code points. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * Thrown for a metadata file whose content cannot be used. The message says what is wrong and ends without a full stop;
 * the file's name is added by who knows it.
 */
export class YamlFault extends Error {
  readonly code = "bad_file";
  readonly position: TextPosition;

  constructor(message: string, position: TextPosition) {
    super(message);
    this.name = "YamlFault";
    this.position = position;
  }
}

/** Where `offset` (UTF-16 units) lies in the text. Line breaks are LF, CRLF and CR; a byte order mark has no column. */
export function positionAt(text: string, offset: number): TextPosition {
  return createPositions(text)(offset);
}

/** {@link positionAt} for many offsets of one text. */
export function createPositions(text: string): (offset: number) => TextPosition {
  let starts: number[] | undefined;
  // A column is counted from the one before it on its line, for a text may be one long line.
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
