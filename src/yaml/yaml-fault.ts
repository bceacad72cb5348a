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
  const breaks = /\r\n|\r|\n/g;
  let line = 1;
  let lineStart = text.startsWith("\uFEFF") ? 1 : 0;
  for (let found = breaks.exec(text); found !== null && breaks.lastIndex <= offset; found = breaks.exec(text)) {
    line++;
    lineStart = breaks.lastIndex;
  }
  return { line, column: Array.from(text.slice(lineStart, offset)).length + 1 };
}
