/** Where rendered records go. */
export interface Sink {
  /**
   * Takes whole NDJSON lines (each ends in a line feed) holding `count` records; the bytes are the sink's from then
   * on. Never waits and never throws: what a slow or broken output cannot take is dropped and counted by the sink.
   */
  write(lines: Uint8Array, count: number): void;
}
