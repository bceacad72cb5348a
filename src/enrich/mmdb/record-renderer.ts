import type { DataReader } from "./data-reader.ts";
import type { FactRenderer, RenderedFacts } from "../address/address-source.ts";

const quote = 0x22;
const backslash = 0x5c;
const [firstPrintable, firstBeyond] = [0x20, 0x80];

/** Writes fields one behind the other, in the form that lines have, into memory of its own. */
export class FieldWriter {
  readonly view: DataView;
  /** The offset of the next byte to write. */
  end = 0;
  readonly #bytes: Buffer;

  /** @param size in bytes: no more may be written between two calls of `clear`. */
  constructor(size: number) {
    this.#bytes = Buffer.alloc(size);
    this.view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, size);
  }

  /** Starts again at the beginning of the memory. */
  clear(): void {
    this.end = 0;
  }

  /**
   * Begins a field.
   *
   * @param start a comma, the name in quotes, and a colon.
   */
  start(start: Uint8Array): void {
    for (let i = 0; i < start.length; i++) this.#bytes[this.end++] = start[i] as number;
  }

  /** Writes a text in UTF-8 as a JSON string. */
  text(from: Buffer, start: number, after: number): void {
    if (this.#putPlain(from, start, after)) return;
    this.end += this.#bytes.write(JSON.stringify(from.toString("utf8", start, after)), this.end);
  }

  /** Appends plain ASCII, which JSON does not escape, to the text that was written last. */
  extend(value: string): void {
    this.end--;
    this.plain(value);
    this.#bytes[this.end++] = quote;
  }

  /**
   * Writes a value that is JSON already: a number, or a text in quotes. It copies letter by letter, which for short texts is many times
   * faster than a call into the engine.
   */
  plain(value: string): void {
    for (let i = 0; i < value.length; i++) this.#bytes[this.end++] = value.charCodeAt(i);
  }

  /** Copies the bytes that need no escape. @returns true if that was the whole text. */
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

/** The longest name of a place or organisation, in bytes; longer texts are no names. */
const maxText = 255;
/** The most bytes of a name. JSON needs up to six bytes for a byte of a text (`\u0001`), and UTF-8 up to three for a unit of a text. */
export const maxNameBytes = 6 * 3 * maxText + 2;
/** The most bytes of a field's name with its quotes, comma and colon. */
export const maxStart = 64;

/** Reports whether the text in a slot is a name. */
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

/** Returns the starts of the fields below an object, in the form that lines have. */
export function starts<Name extends string>(
  object: string,
  suffixes: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Uint8Array>> {
  const entries = Object.entries<string>(suffixes);
  return Object.fromEntries(
    entries.map(([name, suffix]) => [name, Buffer.from(`,${JSON.stringify(object + suffix)}:`)]),
  ) as unknown as Record<Name, Uint8Array>;
}

/** Writes the data of a database as fields below the object at a position. */
export interface WriteFacts {
  /** The most bytes that it writes. */
  readonly maxLength: number;
  /** Writes all fields except the autonomous system. */
  fields(found: DataReader, position: number, into: FieldWriter): void;
  /**
   * Writes the number of the autonomous system. `organisation` may then add the fields that follow it.
   *
   * @returns the number; 0 if there is none.
   */
  number(found: DataReader, position: number, into: FieldWriter): number;
  organisation(found: DataReader, position: number, into: FieldWriter): void;
}

const slots = 65_536;
/** The number of slots to search for a fact: the slot of its hash and those behind it. */
const maxProbes = 4;
const memoryBytes = 8 * 1024 * 1024;
// The words of a slot: the data, the position + 1, the start and end of the fields, the end of the number, the end of the organisation,
// and the system.
const slotWords = 8;

/**
 * Renders the data of a database, identified by its place there. Recent results are kept, because many networks share few data. An
 * address with metadata of its own has a text of its own.
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
   * @param base the number at which the data begins, among the numbers of facts.
   * @param missed called when the data has nothing that is wanted.
   * @param failed called for damaged data; its addresses then get no facts.
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

  /** @returns true if the data can be read. */
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

  /** Returns the slot that holds a fact, or that is to hold it. */
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
