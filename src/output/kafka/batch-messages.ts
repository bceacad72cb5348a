import { copyLines, LineColumns, type ColumnBatch } from "../../record/index.ts";
import type { Batch } from "../delivery/batch.ts";
import { putVarint, varintLength, wordBytes } from "./column-writer.ts";
import type { MessageEncoder } from "./flow-message.ts";
import type { BatchLines } from "./record-batch.ts";

/** Rows that are written together: their columns and messages stay in the cache of a core. */
const maxRows = 2048;
/** Bytes before a message for its length, at most. */
const lengthBytes = 5;

/** Memory for the messages of a batch, used again. */
export class MessageMemory {
  bytes = Buffer.allocUnsafeSlow(64 * 1024);
  view = new DataView(this.bytes.buffer);

  /** @param used bytes that stay as they are. */
  reserve(used: number, more: number): void {
    const wanted = used + more;
    if (wanted <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * wanted);
    copyLines(this.bytes, 0, used, larger, 0);
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }
}

/** The records of a batch as messages, some rows of columns at a time. Each message has a place of its own, with room behind it. */
export class BatchMessages {
  readonly #encoder: MessageEncoder;
  readonly #isDelimited: boolean;
  readonly #reader: LineColumns;
  /** By row: the most bytes of its message, then where it begins. */
  readonly #sizes = new Uint32Array(maxRows);
  readonly #starts = new Uint32Array(maxRows);
  readonly #at = new Uint32Array(maxRows);

  /** @param isDelimited each message has its length before it. */
  constructor(encoder: MessageEncoder, isDelimited: boolean) {
    this.#encoder = encoder;
    this.#isDelimited = isDelimited;
    this.#reader = new LineColumns(encoder.columns, { maxRows, hasRest: encoder.hasRest });
  }

  /**
   * Makes messages with the keys and topics that the lines have.
   *
   * @param out has the messages, so it must stay as it is as long as the records are of use.
   */
  make({ chunks }: Pick<Batch, "chunks">, lines: BatchLines, out: MessageMemory): BatchLines {
    const { count } = lines;
    const places = {
      from: new Uint32Array(count),
      to: new Uint32Array(count),
      keyFrom: new Int32Array(count).fill(-1),
      keyTo: new Int32Array(count).fill(-1),
    };
    const reader = this.#reader;
    let first = 0;
    let used = 0;
    let cut = 0;
    const flush = (): void => {
      const rows = reader.batch();
      cut += rows.cutRows;
      used = this.#write(rows, lines, places, out, first, used);
      first += reader.rows;
      reader.clear();
    };
    reader.clear();
    for (const chunk of chunks) {
      for (let at = reader.take(chunk, 0); at < chunk.length; at = reader.take(chunk, at)) flush();
    }
    flush();
    return { ...lines, ...places, cut, memories: [out.bytes], memoryOf: new Uint32Array(count) };
  }

  /** Writes the messages of the rows that are read. @returns where the memory is free. */
  #write(
    batch: ColumnBatch,
    lines: BatchLines,
    places: Places,
    out: MessageMemory,
    first: number,
    begin: number,
  ): number {
    const { rows } = batch;
    const [sizes, starts, at] = [this.#sizes, this.#starts, this.#at];
    sizes.fill(wordBytes, 0, rows);
    this.#encoder.measure(batch, sizes);
    let total = 0;
    for (let row = 0; row < rows; row++) {
      const index = first + row;
      total += (sizes[row] as number) + (lines.keyTo[index] as number) - (lines.keyFrom[index] as number) + lengthBytes;
    }
    out.reserve(begin, total);
    let end = begin;
    for (let row = 0; row < rows; row++) {
      const start = writeKey(lines, places, out, first + row, end) + (this.#isDelimited ? lengthBytes : 0);
      starts[row] = start;
      at[row] = start;
      end = start + (sizes[row] as number);
    }
    this.#encoder.write(batch, { bytes: out.bytes, view: out.view, at });
    for (let row = 0; row < rows; row++) {
      const [start, behind] = [starts[row] as number, at[row] as number];
      places.from[first + row] = this.#isDelimited ? writeLength(out.bytes, start, behind) : start;
      places.to[first + row] = behind;
    }
    return end;
  }
}

type Places = Pick<BatchLines, "from" | "to" | "keyFrom" | "keyTo">;

/** @returns where it ends. */
function writeKey(lines: BatchLines, places: Places, out: MessageMemory, index: number, at: number): number {
  const [from, to] = [lines.keyFrom[index] as number, lines.keyTo[index] as number];
  if (from < 0) return at;
  const memory = lines.memories[lines.memoryOf[index] as number] as Buffer;
  for (let i = from, place = at; i < to; i++, place++) out.bytes[place] = memory[i] as number;
  places.keyFrom[index] = at;
  places.keyTo[index] = at + to - from;
  return at + to - from;
}

/** Writes the length of a message before it. @returns where the length begins. */
function writeLength(bytes: Buffer, from: number, to: number): number {
  const begin = from - varintLength(to - from);
  putVarint(bytes, begin, to - from);
  return begin;
}
