/** Thrown for a text that is not JSON (RFC 8259), or not acceptable JSON. The message says where. */
export class JsonSyntaxError extends Error {
  constructor(text: string, offset: number, what: string) {
    const before = text.slice(0, offset);
    const line = before.split("\n").length;
    const column = offset - before.lastIndexOf("\n");
    super(`malformed JSON at line ${line}, column ${column}: ${what}`);
    this.name = "JsonSyntaxError";
  }
}
