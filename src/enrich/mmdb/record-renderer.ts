import type { DataReader } from "./data-reader.ts";
import type { FactRenderer, RenderedFacts } from "../address/address-source.ts";

const quote = 0x22;
const backslash = 0x5c;
const [firstPrintable, firstBeyond] = [0x20, 0x80];

/** Writes fields as they stand in a line, one behind the other, into memory of its own. */
export class FieldWriter {
  readonly view: DataView;
  /** The offset of the next byte to write. */
  end = 0;
  readonly #bytes: Buffer;

  /** @param size bytes; no more than that may be written between two calls of `clear`. */
  constructor(size: number) {
    this.#bytes = Buffer.alloc(size);
    this.view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, size);
  }

  /** Begins again at the start of its memory. */
  clear(): void {
    this.end = 0;
  }

  /** @param start a comma, the name in quotes, a colon. */
  start(start: Uint8Array): void {
    for (let i = 0; i < start.length; i++) this.#bytes[this.end++] = start[i] as number;
  }

  /** Writes a text in UTF-8 as JSON has it. */
  text(from: Buffer, start: number, after: number): void {
    if (this.#putPlain(from, start, after)) return;
    this.end += this.#bytes.write(JSON.stringify(from.toString("utf8", start, after)), this.end);
  }

  /** Goes on with the text that was written last: plain ASCII that JSON has as it is. */
  extend(value: string): void {
    this.end--;
    this.plain(value);
    this.#bytes[this.end++] = quote;
  }

  /**
   * Writes what JSON has as it is: a number, or a text in quotes. By letter: for short texts that is many times faster than asking
   * the engine.
   */
  plain(value: string): void {
    for (let i = 0; i < value.length; i++) this.#bytes[this.end++] = value.charCodeAt(i);
  }

  /** Copies what needs no escape. @returns whether that was all of it. */
  #putPlain(from: Buffer, start: number, after: number): boolean {
    const bytes = this.#bytes;
    let to = this.end;
    bytes[to++] = quote;
    for (let i = start; i < after; i++) {
      const byte = from[i] as number;
      if (byte < firstPrintable || byte >= firstBeyond || byte === quote || byte === backslash) return false;
      bytes[to++] = byte;
    }
    bytes[to++] = quote;
    this.end = to;
    return true;
  }
}

/** Longer texts are no names of places or organisations. */
const maxText = 255;
/** A byte of a text is at most six in JSON (`\u0001`), and UTF-8 has at most three bytes for a unit of a text. */
export const maxNameBytes = 6 * 3 * maxText + 2;
/** The name of a field is no longer, with its quotes, comma and colon. */
export const maxStart = 64;

/** Tells whether the text in a slot is a name. */
export function isName(found: DataReader, slot: number): boolean {
  const length = found.length(slot);
  if (length === 0 || length > 3 * maxText) return false;
  const start = found.start(slot);
  return length <= maxText || found.bytes.toString("utf8", start, start + length).length <= maxText;
}

export function writeText(found: DataReader, slot: number, into: FieldWriter): void {
  const start = found.start(slot);
  into.text(found.bytes, start, start + found.length(slot));
}

/** The starts of fields below an object, as they stand in a line. */
export function starts<Name extends string>(
  object: string,
  suffixes: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Uint8Array>> {
  const entries = Object.entries<string>(suffixes);
  return Object.fromEntries(
    entries.map(([name, suffix]) => [name, Buffer.from(`,${JSON.stringify(object + suffix)}:`)]),
  ) as unknown as Record<Name, Uint8Array>;
}

/** Writes what the data of a database says, below the object at a position. */
export interface WriteFacts {
  /** Bytes that it writes at most. */
  readonly maxLength: number;
  /** The fields but for the autonomous system. */
  fields(found: DataReader, position: number, into: FieldWriter): void;
  /** The number of the autonomous system; 0 for none. Its field is written, and where `organisation` follows, that one too. */
  number(found: DataReader, position: number, into: FieldWriter): number;
  organisation(found: DataReader, position: number, into: FieldWriter): void;
}

const slots = 65_536;
/** A fact is in the slot of its hash or in one of those behind it. */
const maxProbes = 4;
const memoryBytes = 8 * 1024 * 1024;
// The words of a slot: the data, the position + 1, start and end of its fields, then the ends of the number and the organisation, the
// system.
const slotWords = 8;

/**
 * Renders the data of a database by where it lies there. What was rendered lately is kept, because few data stand for many networks, and
 * an address that has metadata of its own has a text of its own.
 */
export class RecordRenderer implements FactRenderer {
  readonly generation: number;
  readonly #reader: DataReader;
  readonly #base: number;
  readonly #write: WriteFacts;
  readonly #missed: () => void;
  readonly #failed: (error: unknown) => void;
  readonly #kept = new Int32Array(slots * slotWords);
  readonly #writer = new FieldWriter(memoryBytes);
  readonly #rendered = { from: this.#writer.view, start: 0, fieldsEnd: 0, numberEnd: 0, end: 0, system: 0 };

  /**
   * @param base where the data begins, among the numbers of facts.
   * @param missed called when data says nothing of what is asked for.
   * @param failed called for data that is damaged; nothing is known of its addresses then.
   */
  constructor(
    generation: number,
    reader: DataReader,
    base: number,
    write: WriteFacts,
    missed: () => void,
    failed: (error: unknown) => void,
  ) {
    this.generation = generation;
    this.#reader = reader;
    this.#base = base;
    this.#write = write;
    this.#missed = missed;
    this.#failed = failed;
  }

  render(fact: number, position: number): RenderedFacts {
    const kept = this.#kept;
    const rendered = this.#rendered;
    let at = this.#slotOf(fact, position);
    if (kept[at] === (fact | 0) && kept[at + 1] === position + 1) {
      this.#useKept(at);
      if (rendered.end === rendered.start) this.#missed();
      return rendered;
    }
    if (this.#writer.end + this.#write.maxLength > memoryBytes) {
      this.#writer.clear();
      kept.fill(0);
      at = this.#slotOf(fact, position);
    }
    if (this.#make(fact, position)) {
      this.#keep(at, fact, position);
      if (rendered.end === rendered.start) this.#missed();
    }
    return rendered;
  }

  /** @returns whether the data can be read. */
  #make(fact: number, position: number): boolean {
    const rendered = this.#rendered;
    const writer = this.#writer;
    const write = this.#write;
    const start = writer.end;
    rendered.start = start;
    rendered.fieldsEnd = start;
    rendered.numberEnd = start;
    rendered.end = start;
    rendered.system = 0;
    try {
      const reader = this.#reader;
      reader.read(fact - this.#base);
      write.fields(reader, position, writer);
      rendered.fieldsEnd = writer.end;
      rendered.system = write.number(reader, position, writer);
      rendered.numberEnd = writer.end;
      if (rendered.system !== 0) write.organisation(reader, position, writer);
      rendered.end = writer.end;
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** Returns where a fact is kept or is to be kept. */
  #slotOf(fact: number, position: number): number {
    const kept = this.#kept;
    const hash = Math.imul(fact ^ position, 0x9e3779b1);
    const home = hash ^ (hash >>> 15);
    for (let probe = 0; probe < maxProbes; probe++) {
      const at = ((home + probe) & (slots - 1)) * slotWords;
      const owner = kept[at + 1] as number;
      if (owner === 0 || (owner === position + 1 && kept[at] === (fact | 0))) return at;
    }
    return (home & (slots - 1)) * slotWords;
  }

  #keep(at: number, fact: number, position: number): void {
    const kept = this.#kept;
    const rendered = this.#rendered;
    kept[at] = fact;
    kept[at + 1] = position + 1;
    kept[at + 2] = rendered.start;
    kept[at + 3] = rendered.fieldsEnd;
    kept[at + 4] = rendered.numberEnd;
    kept[at + 5] = rendered.end;
    kept[at + 6] = rendered.system;
  }

  #useKept(at: number): void {
    const kept = this.#kept;
    const rendered = this.#rendered;
    rendered.start = kept[at + 2] as number;
    rendered.fieldsEnd = kept[at + 3] as number;
    rendered.numberEnd = kept[at + 4] as number;
    rendered.end = kept[at + 5] as number;
    rendered.system = (kept[at + 6] as number) >>> 0;
  }
}
