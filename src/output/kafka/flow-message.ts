import {
  columnOf,
  copyLines,
  fieldNumbers,
  LineWalker,
  protoRest,
  type BatchColumn,
  type Column,
  type ColumnBatch,
  type TextTable,
} from "../../record/index.ts";
import {
  entriesPart,
  has,
  partOf,
  putVarint,
  tagOf,
  varintLength,
  wireType,
  type MessagePart,
} from "./message-writer.ts";

/** Makes Protocol Buffers messages of rows. */
export interface MessageEncoder {
  /** The columns that it reads. */
  readonly columns: readonly Column[];
  readonly hasRest: boolean;
  /** Returns the parts of the rows' messages, valid as long as the batch is, and the number of values that the messages cannot hold. */
  partsOf(batch: ColumnBatch): { readonly parts: readonly MessagePart[]; readonly leftOut: number };
}

const quote = 0x22;
const backslash = 0x5c;
const textsTag = tagOf(protoRest.texts, wireType.bytes);
const valuesTag = tagOf(protoRest.values, wireType.bytes);
const emptyArray = Buffer.from("[]");

interface NumberedField {
  readonly number: number;
  /** The entry that marks the field as an empty array, because a message has the same bytes for an empty array and for none. */
  readonly empty: Uint8Array;
}

/**
 * Makes messages of `proto/flow/v1/flow.proto`. A field without a number, or a value of another type than its field, goes into
 * the maps by its name, so the message says the same as the line.
 */
export class FlowEncoder implements MessageEncoder {
  readonly columns: readonly Column[];
  readonly hasRest = true;
  readonly #fields: readonly NumberedField[];
  readonly #entries = new RestEntries();

  constructor() {
    const fields = [...fieldNumbers].flatMap(([name, { number }]) => {
      const column = columnOf(name);
      const empty = new Entries();
      empty.add(valuesTag, Buffer.from(name), emptyArray, 0, emptyArray.length);
      return column === undefined ? [] : [{ column, number, empty: empty.bytes.subarray(0, empty.length) }];
    });
    this.columns = fields.map(({ column }) => column);
    this.#fields = fields;
  }

  partsOf({ rows, columns, rest, texts }: ColumnBatch): ReturnType<MessageEncoder["partsOf"]> {
    const parts: MessagePart[] = [];
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index] as BatchColumn;
      if (column.count === 0) continue;
      const { number, empty } = this.#fields[index] as NumberedField;
      parts.push(partOf(column, rows, number, column.column.isArray ? { empty } : {}));
    }
    if (rest !== undefined && rest.count > 0) {
      const { bytes, ends } = this.#entries.read(rest, texts, rows);
      parts.push(entriesPart(bytes.subarray(0, ends[rows]), ends.subarray(0, rows + 1)));
    }
    return { parts, leftOut: 0 };
  }
}

/** Entries of the maps of a message, in memory that is reused. */
class Entries {
  bytes = Buffer.allocUnsafeSlow(4096);
  length = 0;

  /** @param key as UTF-8. @param tag of the map. */
  add(tag: number, key: Uint8Array, value: Uint8Array, from: number, to: number): void {
    const ofKey = 1 + varintLength(key.length) + key.length;
    const size = ofKey + 1 + varintLength(to - from) + to - from;
    this.#reserve(size + 10);
    const { bytes } = this;
    let at = putVarint(bytes, putVarint(bytes, this.length, tag), size);
    bytes[at++] = tagOf(1, wireType.bytes);
    at = copyBytes(key, 0, key.length, bytes, putVarint(bytes, at, key.length));
    bytes[at++] = tagOf(2, wireType.bytes);
    this.length = copyBytes(value, from, to, bytes, putVarint(bytes, at, to - from));
  }

  #reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + size));
    copyLines(this.bytes, 0, this.length, larger, 0);
    this.bytes = larger;
  }
}

/** Makes entries of the fields that have no column. */
class RestEntries {
  readonly #entries = new Entries();
  readonly #walker = new LineWalker((name): Uint8Array => Buffer.from(name));
  #texts: Uint8Array = new Uint8Array(0);
  /** The end of each row's entries, at the index of the row plus one. */
  ends = new Uint32Array(1);

  get bytes(): Uint8Array {
    return this.#entries.bytes;
  }

  read({ data, presence }: BatchColumn<"text">, { offsets, bytes }: TextTable, rows: number): this {
    if (this.ends.length <= rows) this.ends = new Uint32Array(rows + 1);
    this.#texts = bytes;
    this.#entries.length = 0;
    for (let row = 0; row < rows; row++) {
      const code = data[row] as number;
      if (has(presence, row)) this.#walker.walk(bytes, offsets[code] as number, offsets[code + 1] as number, this.#add);
      this.ends[row + 1] = this.#entries.length;
    }
    return this;
  }

  readonly #add = (name: Uint8Array, _: number, from: number, to: number): void => {
    const texts = this.#texts;
    if (texts[from] !== quote) this.#entries.add(valuesTag, name, texts, from, to);
    else if (!texts.subarray(from, to).includes(backslash)) this.#entries.add(textsTag, name, texts, from + 1, to - 1);
    else {
      const text = Buffer.from(JSON.parse(Buffer.from(texts.subarray(from, to)).toString()) as string);
      this.#entries.add(textsTag, name, text, 0, text.length);
    }
  };
}

/** Copies bytes. @returns the end of the copy. */
function copyBytes(source: Uint8Array, from: number, to: number, target: Buffer, at: number): number {
  if (to - from >= 32) return copyLines(source, from, to, target, at);
  for (let i = from, place = at; i < to; i++, place++) target[place] = source[i] as number;
  return at + to - from;
}
