import { LineColumns } from "../../record/index.ts";
import type { Batch } from "../delivery/batch.ts";
import type { MessageEncoder } from "./flow-message.ts";
import type { MessageWriter } from "./message-writer.ts";
import * as layout from "./part-layout.ts";
import type { BatchLines } from "./record-batch.ts";

/** The number of rows that are written together: their columns and messages fit into the cache of a core. */
const maxRows = 2048;

/** Turns the records of a batch into messages, some rows of columns at a time. */
export class BatchMessages {
  readonly #encoder: MessageEncoder;
  readonly #isDelimited: boolean;
  readonly #reader: LineColumns;
  #keys = Buffer.alloc(0);
  readonly #keyEnds = new Uint32Array(maxRows + 1);

  /** @param isDelimited true if each message is preceded by its length. */
  constructor(encoder: MessageEncoder, isDelimited: boolean) {
    this.#encoder = encoder;
    this.#isDelimited = isDelimited;
    this.#reader = new LineColumns(encoder.columns, { maxRows, hasRest: encoder.hasRest });
  }

  /**
   * Makes messages with the keys and topics of the lines.
   *
   * @param out holds the messages, so it must stay unchanged as long as the records are in use.
   */
  make({ chunks }: Pick<Batch, "chunks">, lines: BatchLines, out: MessageWriter): MessageLines {
    const { count } = lines;
    const places = {
      from: new Uint32Array(count),
      to: new Uint32Array(count),
      keyFrom: new Int32Array(count).fill(-1),
      keyTo: new Int32Array(count).fill(-1),
    };
    const reader = this.#reader;
    let first = 0;
    let [leftOut, cut] = [0, 0];
    const flush = (): void => {
      cut += reader.batch().cutRows;
      leftOut += this.#write(lines, places, out, first);
      first += reader.rows;
      reader.clear();
    };
    out.begin();
    reader.clear();
    for (const chunk of chunks) {
      for (let at = reader.take(chunk, 0); at < chunk.length; at = reader.take(chunk, at)) flush();
    }
    flush();
    const memories = { memories: [out.bytes], memoryOf: new Uint32Array(count) };
    return { ...lines, ...places, ...memories, leftOut: leftOut + out.leftOut, cut };
  }

  /** Writes the messages of the rows that were read. @returns the number of values that the messages cannot hold. */
  #write(lines: BatchLines, places: Places, out: MessageWriter, first: number): number {
    const batch = this.#reader.batch();
    const { rows, texts } = batch;
    const { parts, leftOut } = this.#encoder.partsOf(batch);
    this.#readKeys(lines, first, rows);
    const written = out.write(parts, texts, rows, { bytes: this.#keys, ends: this.#keyEnds }, this.#isDelimited);
    for (let row = 0, at = 0; row < rows; row++, at += layout.placeBytes >>> 2) {
      const index = first + row;
      places.from[index] = written[at + (layout.placeFrom >>> 2)] as number;
      places.to[index] = written[at + (layout.placeTo >>> 2)] as number;
      if ((lines.keyFrom[index] as number) < 0) continue;
      const key = written[at + (layout.placeKey >>> 2)] as number;
      places.keyFrom[index] = key;
      places.keyTo[index] = key + (this.#keyEnds[row + 1] as number) - (this.#keyEnds[row] as number);
    }
    return leftOut;
  }

  /** Gathers the keys of rows. */
  #readKeys({ keyFrom, keyTo, memories, memoryOf }: BatchLines, first: number, rows: number): void {
    let length = 0;
    for (let index = first; index < first + rows; index++)
      length += (keyTo[index] as number) - (keyFrom[index] as number);
    if (this.#keys.length < length) this.#keys = Buffer.allocUnsafeSlow(2 * length);
    const [keys, ends] = [this.#keys, this.#keyEnds];
    let at = 0;
    for (let row = 0; row < rows; row++) {
      const index = first + row;
      const memory = memories[memoryOf[index] as number] as Buffer;
      const to = keyTo[index] as number;
      for (let i = keyFrom[index] as number; i < to; i++) keys[at++] = memory[i] as number;
      ends[row + 1] = at;
    }
  }
}

/** Messages of the lines of a batch. */
export interface MessageLines extends BatchLines {
  /** The number of values that the messages cannot hold. */
  readonly leftOut: number;
  /** The number of records whose line was truncated. */
  readonly cut: number;
}

type Places = Pick<BatchLines, "from" | "to" | "keyFrom" | "keyTo">;
