import type { BatchColumn, ColumnType, TextTable } from "../../record/index.ts";
import { messageCode } from "./gen/message-code.ts";
import * as layout from "./part-layout.ts";

/** Wire types: how a value follows its tag (Protocol Buffers, Encoding). */
export const wireType = { varint: 0, fixed64: 1, bytes: 2 } as const;

/** Returns the tag of a field. @param number of the field, 1 to 2047. */
export const tagOf = (number: number, type: number): number => (number << 3) | type;

const formOf: Readonly<Record<ColumnType, number>> = {
  text: layout.textForm,
  address: layout.addressForm,
  integer: layout.wholeForm,
  unsigned: layout.wholeForm,
  double: layout.fixedForm,
  boolean: layout.booleanForm,
  time: layout.fixedForm,
};

/** A field of messages, and its values in the rows. */
export interface MessagePart {
  /** A form of the layout. */
  readonly form: number;
  readonly tag: number;
  /** The rows that have a value; undefined: all. */
  readonly presence: Uint8Array | undefined;
  /** Halves of 64-bit numbers, the lower ones first; codes of texts; four words of each address; for entries, the start of each row's. */
  readonly words: Uint32Array | undefined;
  /** Booleans, or bytes of entries. */
  readonly octets: Uint8Array | undefined;
  /** For a list: the start of each row's items, and the end of the last ones. */
  readonly offsets: Uint32Array | undefined;
  /** The bytes for a list without items. */
  readonly empty?: Uint8Array;
  /** The greatest upper half of whole numbers; greater numbers are left out. */
  readonly mostHigh: number;
  /** For whole numbers: if false, zeros are left out. */
  readonly hasZeros: boolean;
}

/** Returns a column as the field of a number. @param options that differ from those of the column. */
export function partOf(
  { column, data, presence, offsets, count }: BatchColumn,
  rows: number,
  number: number,
  options: Partial<MessagePart> = {},
): MessagePart {
  const { type, isArray } = column;
  const form = options.form ?? formOf[type];
  const isBoolean = form === layout.booleanForm;
  return {
    form,
    tag: tagOf(number, wireTypeOf(form, isArray)),
    presence: count === rows ? undefined : presence,
    words: isBoolean ? undefined : new Uint32Array(data.buffer, data.byteOffset, data.byteLength >>> 2),
    octets: isBoolean ? (data as Uint8Array) : undefined,
    offsets: isArray ? offsets : undefined,
    mostHigh: 0xffff_ffff,
    hasZeros: true,
    ...options,
  };
}

/** Returns the wire type of a field. Numbers of a list share one tag. */
function wireTypeOf(form: number, isList: boolean): number {
  if (isList || form === layout.textForm || form === layout.addressForm) return wireType.bytes;
  return form === layout.fixedForm ? wireType.fixed64 : wireType.varint;
}

/** Returns whole numbers of 64 bits as a field without zeros. @param offsets of lists. */
export function numbersPart(
  words: Uint32Array,
  presence: Uint8Array | undefined,
  number: number,
  offsets?: Uint32Array,
): MessagePart {
  const form = layout.wholeForm;
  const tag = tagOf(number, wireTypeOf(form, offsets !== undefined));
  return { form, tag, presence, words, octets: undefined, offsets, mostHigh: 0xffff_ffff, hasZeros: false };
}

/** Returns bytes that have their own tags as a part. @param ends the start of each row's bytes, and the end of the last ones. */
export function entriesPart(octets: Uint8Array, ends: Uint32Array): MessagePart {
  return { ...numbersPart(ends, undefined, 0), form: layout.entriesForm, octets };
}

/** Options for a column whose 64 bits are a whole number in the message, including times. */
export const asWhole: Partial<MessagePart> = { form: layout.wholeForm };

export const has = (presence: Uint8Array, row: number): boolean =>
  (((presence[row >>> 3] as number) >>> (row & 7)) & 1) === 1;

/** Writes a varint. @param value 31 bits. @returns its end. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let place = at;
  for (; rest > 0x7f; rest >>>= 7) bytes[place++] = rest | 0x80;
  bytes[place++] = rest;
  return place;
}

/** Returns the length of a varint. @param value 31 bits. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length++;
  return length;
}

/** The exports of `assembly/index.ts`. Offsets are those of its memory. */
interface Code {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly input: { readonly value: number };
  readonly messages: { readonly value: number };
  readonly end: { readonly value: number };
  readonly leftOut: { readonly value: number };
  begin(): void;
  reserveInput(bytes: number): void;
  useTexts(bytes: number, offsets: number): void;
  writeRows(
    parts: number,
    count: number,
    rows: number,
    isDelimited: number,
    keys: number,
    keyEnds: number,
    places: number,
  ): void;
}

/** The compiled code for all writers of this thread. */
let compiled: WebAssembly.Module | undefined;

function instantiate(): Code {
  compiled ??= new WebAssembly.Module(Buffer.from(messageCode, "base64"));
  return new WebAssembly.Instance(compiled, {}).exports as unknown as Code;
}

/** Keys of rows, one after the other. */
export interface RowKeys {
  readonly bytes: Uint8Array;
  /** The start of each row's key, and the end of the last one. */
  readonly ends: Uint32Array;
}

/** Writes keys and messages one after the other, some rows at a time, by WebAssembly in a memory that grows and is reused. */
export class MessageWriter {
  #code = instantiate();
  #inputAt = 0;

  /** The messages, valid until more are written. */
  get bytes(): Buffer {
    const { memory, messages, end } = this.#code;
    const from = messages.value >>> 0;
    return Buffer.from(memory.buffer, from, (end.value >>> 0) - from);
  }

  /** The number of numbers left out because they are too large, since the last `begin`. */
  get leftOut(): number {
    return this.#code.leftOut.value;
  }

  /** Discards what was written. */
  begin(): void {
    this.#code.begin();
  }

  /**
   * Writes rows.
   *
   * @param isDelimited true if each message is preceded by its length.
   * @returns places of the rows in the layout's form, valid until the next call.
   * @throws WebAssembly.RuntimeError when it cannot write, as for lack of memory: then all is discarded.
   */
  write(
    parts: readonly MessagePart[],
    texts: TextTable,
    rows: number,
    keys: RowKeys,
    isDelimited: boolean,
  ): Uint32Array {
    try {
      return this.#write(parts, texts, rows, keys, isDelimited);
    } catch (error) {
      // Its memory may be in any state.
      this.#code = instantiate();
      throw error;
    }
  }

  #write(
    parts: readonly MessagePart[],
    texts: TextTable,
    rows: number,
    keys: RowKeys,
    isDelimited: boolean,
  ): Uint32Array {
    const code = this.#code;
    const placesBytes = layout.placeBytes * rows;
    const own = [texts.bytes, texts.offsets, keys.bytes, keys.ends];
    const given = parts.flatMap(({ presence, words, octets, offsets, empty }) => [
      presence,
      words,
      octets,
      offsets,
      empty,
    ]);
    let room = roomOf(layout.partBytes * parts.length) + roomOf(placesBytes);
    for (const array of own) room += roomOf(array.byteLength);
    for (const array of given) room += roomOf(array?.byteLength ?? 0);
    code.reserveInput(room);
    this.#inputAt = code.input.value >>> 0;
    const { buffer } = code.memory;
    const partsAt = this.#take(layout.partBytes * parts.length);
    const placesAt = this.#take(placesBytes);
    const [textsAt = 0, offsetsAt = 0, keysAt = 0, endsAt = 0] = own.map((array) => this.#put(buffer, array));
    for (const [i, part] of parts.entries())
      this.#describe(new Uint32Array(buffer, partsAt + layout.partBytes * i, layout.partBytes >>> 2), buffer, part);
    code.useTexts(textsAt, offsetsAt);
    code.writeRows(partsAt, parts.length, rows, Number(isDelimited), keysAt, endsAt, placesAt);
    return new Uint32Array(code.memory.buffer, placesAt, placesBytes >>> 2);
  }

  #describe(descriptor: Uint32Array, buffer: ArrayBuffer, part: MessagePart): void {
    const { tag } = part;
    const set = (field: number, value: number): void => void (descriptor[field >>> 2] = value);
    set(layout.partForm, part.form);
    set(layout.partTag, tag < 0x80 ? tag : (tag & 0x7f) | 0x80 | ((tag >>> 7) << 8));
    set(layout.partTagLength, varintLength(tag));
    set(layout.partPresence, this.#put(buffer, part.presence));
    set(layout.partWords, this.#put(buffer, part.words));
    set(layout.partOctets, this.#put(buffer, part.octets));
    set(layout.partOffsets, this.#put(buffer, part.offsets));
    set(layout.partEmpty, this.#put(buffer, part.empty));
    set(layout.partEmptyLength, part.empty?.length ?? 0);
    set(layout.partMostHigh, part.mostHigh);
    set(layout.partHasZeros, Number(part.hasZeros));
  }

  /** Copies an array into the input. @returns its offset; 0: there is no array. */
  #put(buffer: ArrayBuffer, array: Uint8Array | Uint32Array | undefined): number {
    if (array === undefined) return 0;
    const at = this.#take(array.byteLength);
    new Uint8Array(buffer, at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return at;
  }

  #take(bytes: number): number {
    const at = this.#inputAt;
    this.#inputAt += roomOf(bytes);
    return at;
  }
}

/** Returns a multiple of sixteen, after which sixteen more bytes may be read. */
const roomOf = (bytes: number): number => (bytes + 31) & ~15;
