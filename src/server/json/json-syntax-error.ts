/** Thrown for a text that is not JSON (RFC 8259), or not acceptable JSON. The message says where. */
export class JsonSyntaxError extends Error {
  /**
   * @param linesBefore line ends before the text.
   * @param columnsBefore characters between the last of them and the text.
   */
  constructor(text: string, offset: number, what: string, linesBefore = 0, columnsBefore = 0) {
    let line = linesBefore + 1;
    let lineStart = -columnsBefore;
    for (let end = text.indexOf("\n"); end >= 0 && end < offset; end = text.indexOf("\n", end + 1)) {
      line++;
      lineStart = end + 1;
    }
    super(`malformed JSON at line ${line}, column ${offset - lineStart + 1}: ${what}`);
    this.name = "JsonSyntaxError";
  }
}
