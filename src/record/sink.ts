/** Where rendered records go. */
export interface Sink {
  /**
   * Takes whole NDJSON lines (each ends in a line feed) holding `count` records; the bytes are the sink's from then
   * on. Never waits and never throws: what a slow or broken output cannot take is dropped and counted by the sink.
   */
  write(lines: Uint8Array, count: number): void;
  /**
   * The same for bytes that are lent: they stay as they are until `done` is called, once. A sink without it is given a copy.
   */
  lend?(lines: Uint8Array, count: number, done: () => void): void;
}

/** Lends lines to a sink, whether it can be lent to or not. */
export function lendLines(sink: Sink, lines: Uint8Array, count: number, done: () => void): void {
  if (sink.lend !== undefined) sink.lend(lines, count, done);
  else {
    sink.write(lines.slice(), count);
    done();
  }
}
