import { LineColumns } from "../../record/index.ts";
import type { Batch } from "../delivery/batch.ts";
import type { MessageEncoder } from "./flow-message.ts";
import { copyBytes, MessageWriter, putVarint, varintLength } from "./message-writer.ts";
import type { BatchLines } from "./record-batch.ts";

/** Rows that are read before they are written: their columns stay in the cache of a core. */
const maxRows = 2048;
/** Bytes before a message for its length, at most. */
const lengthBytes = 5;

/** The records of a batch as messages, some rows of columns at a time. */
export class BatchMessages {
  readonly #encoder: MessageEncoder;
  readonly #isDelimited: boolean;
  readonly #reader: LineColumns;

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
    let leftOut = 0;
    const flush = (): void => {
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
    return { ...lines, ...places, ...memories, leftOut: leftOut + out.leftOut };
  }

  /** Writes the messages of the rows that are read. @returns how many values have no form there. */
  #write(lines: BatchLines, places: Places, out: MessageWriter, first: number): number {
    const batch = this.#reader.batch();
    const { parts, leftOut } = this.#encoder.partsOf(batch);
    out.use(parts, batch.texts);
    const room = this.#isDelimited ? lengthBytes : 0;
    for (let row = 0; row < batch.rows; row++) {
      const index = first + row;
      writeKey(lines, places, out, index);
      out.reserve(room);
      out.at += room;
      const start = out.at;
      out.write(row);
      places.from[index] = this.#isDelimited ? writeLength(out.bytes, start, out.at) : start;
      places.to[index] = out.at;
    }
    return leftOut;
  }
}

/** Messages of the lines of a batch. */
export interface MessageLines extends BatchLines {
  /** Values of the lines that the messages have no form for. */
  readonly leftOut: number;
}

type Places = Pick<BatchLines, "from" | "to" | "keyFrom" | "keyTo">;

function writeKey(lines: BatchLines, places: Places, out: MessageWriter, index: number): void {
  const [from, to] = [lines.keyFrom[index] as number, lines.keyTo[index] as number];
  if (from < 0) return;
  out.reserve(to - from);
  places.keyFrom[index] = out.at;
  out.at = copyBytes(lines.memories[lines.memoryOf[index] as number] as Buffer, from, to, out.bytes, out.at);
  places.keyTo[index] = out.at;
}

/** Writes the length of a message before it. @returns where the length begins. */
function writeLength(bytes: Buffer, from: number, to: number): number {
  const begin = from - varintLength(to - from);
  putVarint(bytes, begin, to - from);
  return begin;
}
