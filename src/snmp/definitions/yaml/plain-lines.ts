/** Beyond it a key cannot be told from a value (YAML 1.2 section 7.4.2). */
const maxLineLength = 1000;

/** What the library takes for the end of a line, or refuses even in a comment. */
const strangeCharacter = /[^\t -~\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

/** The lines of a text that have content, without indentation, comments and trailing blanks. */
export class PlainLines {
  readonly #text: string;
  #offset = 0;
  indent = -1;
  content = "";
  /** Turns false for good at a line outside the plain subset. */
  isPlain = true;
  atEnd = false;

  constructor(text: string) {
    this.#text = text;
  }

  get isSequenceItem(): boolean {
    return this.content.charCodeAt(0) === 0x2d && this.content.charCodeAt(1) === 0x20;
  }

  /** Goes to the next line with content; false at the end, and at a line outside the subset. */
  next(): boolean {
    const text = this.#text;
    while (this.#offset < text.length) {
      const lineStart = this.#offset;
      let end = text.indexOf("\n", lineStart);
      if (end < 0) end = text.length;
      this.#offset = end + 1;
      if (end > lineStart && text.charCodeAt(end - 1) === 0x0d) end--;
      let start = lineStart;
      while (start < end && text.charCodeAt(start) === 0x20) start++;
      const contentEnd = this.#findContentEnd(start, end);
      if (contentEnd === undefined) return this.#stop();
      if (contentEnd === start) continue;
      this.indent = start - lineStart;
      this.content = text.slice(start, contentEnd);
      if (this.indent === 0 && (this.content.startsWith("---") || this.content.startsWith("..."))) return this.#stop();
      return true;
    }
    this.atEnd = true;
    this.content = "";
    return false;
  }

  /** Makes the rest of a line, `indent` columns in, the current line. */
  enter(indent: number, content: string): void {
    this.indent = indent;
    this.content = content;
  }

  giveUp(): undefined {
    this.isPlain = false;
    return undefined;
  }

  #stop(): false {
    this.isPlain = false;
    return false;
  }

  /**
   * Where the content of a line ends, before blanks and a comment. Tabs and what is beyond ASCII are for the library, and
   * so is a comment sign that quotes before it may make part of a text.
   */
  #findContentEnd(start: number, end: number): number | undefined {
    const text = this.#text;
    if (end - start > maxLineLength) return undefined;
    let quotes = 0;
    let last = start;
    for (let i = start; i < end; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x20) continue;
      if (code === 0x23 && (i === start || text.charCodeAt(i - 1) === 0x20)) {
        if (strangeCharacter.test(text.slice(i, end))) return undefined;
        return quotes === 0 || isQuotedAtEnd(text.slice(start, last)) ? last : undefined;
      }
      if (code < 0x20 || code > 0x7e) return undefined;
      if (code === 0x22 || code === 0x27) quotes++;
      last = i + 1;
    }
    return last;
  }
}

/** One pair of one kind around the value is plain. */
function isQuotedAtEnd(content: string): boolean {
  return /^[^'"]*(?:'[^'"]*'|"[^'"]*")$/.test(content);
}
