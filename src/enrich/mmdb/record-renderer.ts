import type { FoundValues, ReadData } from "./data-reader.ts";
import type { FactRenderer, RenderedFacts } from "../address/address-source.ts";

/** Writes fields as they stand in a line, one behind the other, into memory of its own. */
export interface FieldWriter {
  readonly view: DataView;
  /** Where the next byte goes. */
  readonly end: number;
  /** Begins again at the start of its memory. */
  clear(): void;
  /** @param start a comma, the name in quotes, a colon. */
  start(start: Uint8Array): void;
  /** A text in UTF-8 as JSON has it. */
  text(from: Buffer, start: number, end: number): void;
  /** Goes on with the text that was written last: plain ASCII that JSON has as it is. */
  extend(value: string): void;
  /** What JSON has as it is: a number, or a text in quotes. */
  plain(value: string): void;
}

const quote = 0x22;
const backslash = 0x5c;
const [firstPrintable, firstBeyond] = [0x20, 0x80];

/** @param size bytes; no more than that may be written between two calls of `clear`. */
export function createFieldWriter(size: number): FieldWriter {
  const bytes = Buffer.alloc(size);
  let end = 0;

  /** Copies what needs no escape. @returns whether that was all of it. */
  const putPlain = (from: Buffer, start: number, after: number): boolean => {
    let to = end;
    bytes[to++] = quote;
    for (let i = start; i < after; i++) {
      const byte = from[i] as number;
      if (byte < firstPrintable || byte >= firstBeyond || byte === quote || byte === backslash) return false;
      bytes[to++] = byte;
    }
    bytes[to++] = quote;
    end = to;
    return true;
  };

  /** By letter: for short texts that is many times faster than asking the engine. */
  const putLetters = (value: string): void => {
    for (let i = 0; i < value.length; i++) bytes[end++] = value.charCodeAt(i);
  };

  return {
    view: new DataView(bytes.buffer, bytes.byteOffset, size),
    get end() {
      return end;
    },
    clear() {
      end = 0;
    },
    start(start) {
      for (let i = 0; i < start.length; i++) bytes[end++] = start[i] as number;
    },
    text(from, start, after) {
      if (!putPlain(from, start, after)) end += bytes.write(JSON.stringify(from.toString("utf8", start, after)), end);
    },
    extend(value) {
      end--;
      putLetters(value);
      bytes[end++] = quote;
    },
    plain: putLetters,
  };
}

/** Longer texts are no names of places or organisations. */
const maxText = 255;
/** A byte of a text is at most six in JSON (`\u0001`), and UTF-8 has at most three bytes for a unit of a text. */
export const maxNameBytes = 6 * 3 * maxText + 2;
/** The name of a field is no longer, with its quotes, comma and colon. */
export const maxStart = 64;

/** Whether the text in a slot is a name. */
export function isName(found: FoundValues, slot: number): boolean {
  const length = found.length(slot);
  if (length === 0 || length > 3 * maxText) return false;
  const start = found.start(slot);
  return length <= maxText || found.bytes.toString("utf8", start, start + length).length <= maxText;
}

export function writeText(found: FoundValues, slot: number, into: FieldWriter): void {
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
  fields(found: FoundValues, position: number, into: FieldWriter): void;
  /** The number of the autonomous system; 0 for none. Its field is written, and where `organisation` follows, that one too. */
  number(found: FoundValues, position: number, into: FieldWriter): number;
  organisation(found: FoundValues, position: number, into: FieldWriter): void;
}

interface RecordRendererOptions {
  readonly generation: number;
  readonly read: ReadData;
  readonly write: WriteFacts;
  /** Called when data says nothing of what is asked for. */
  readonly missed: () => void;
  /** Called for data that is damaged; nothing is known of its addresses then. */
  readonly failed: (error: unknown) => void;
}

const places = 65_536;
/** A fact is at the place of its hash or at one of those behind it. */
const maxProbes = 4;
const memoryBytes = 8 * 1024 * 1024;
// Of a place: the data, the position + 1, where its fields begin and end, then the ends of the number and the organisation, the system.
const placeWords = 8;

/**
 * Renders the data of a database by where it lies there. What was rendered lately is kept, because few data stand for many networks, and
 * an address that has metadata of its own has a text of its own.
 */
export function createRecordRenderer(options: RecordRendererOptions): FactRenderer {
  const { generation, read, write, missed, failed } = options;
  const kept = new Int32Array(places * placeWords);
  const writer = createFieldWriter(memoryBytes);
  const rendered = { from: writer.view, start: 0, fieldsEnd: 0, numberEnd: 0, end: 0, system: 0 };

  /** @returns whether the data can be read. */
  const make = (fact: number, position: number): boolean => {
    const start = writer.end;
    rendered.start = start;
    rendered.fieldsEnd = start;
    rendered.numberEnd = start;
    rendered.end = start;
    rendered.system = 0;
    try {
      const found = read(fact);
      write.fields(found, position, writer);
      rendered.fieldsEnd = writer.end;
      rendered.system = write.number(found, position, writer);
      rendered.numberEnd = writer.end;
      if (rendered.system !== 0) write.organisation(found, position, writer);
      rendered.end = writer.end;
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  };

  /** Where a fact is kept or is to be kept. */
  const placeOf = (fact: number, position: number): number => {
    const hash = Math.imul(fact ^ position, 0x9e3779b1);
    const home = hash ^ (hash >>> 15);
    for (let probe = 0; probe < maxProbes; probe++) {
      const at = ((home + probe) & (places - 1)) * placeWords;
      const owner = kept[at + 1] as number;
      if (owner === 0 || (owner === position + 1 && kept[at] === (fact | 0))) return at;
    }
    return (home & (places - 1)) * placeWords;
  };

  const keep = (at: number, fact: number, position: number): void => {
    kept[at] = fact;
    kept[at + 1] = position + 1;
    kept[at + 2] = rendered.start;
    kept[at + 3] = rendered.fieldsEnd;
    kept[at + 4] = rendered.numberEnd;
    kept[at + 5] = rendered.end;
    kept[at + 6] = rendered.system;
  };

  const useKept = (at: number): void => {
    rendered.start = kept[at + 2] as number;
    rendered.fieldsEnd = kept[at + 3] as number;
    rendered.numberEnd = kept[at + 4] as number;
    rendered.end = kept[at + 5] as number;
    rendered.system = (kept[at + 6] as number) >>> 0;
  };

  return {
    generation,
    render(fact, position): RenderedFacts {
      let at = placeOf(fact, position);
      if (kept[at] === (fact | 0) && kept[at + 1] === position + 1) {
        useKept(at);
        if (rendered.end === rendered.start) missed();
        return rendered;
      }
      if (writer.end + write.maxLength > memoryBytes) {
        writer.clear();
        kept.fill(0);
        at = placeOf(fact, position);
      }
      if (make(fact, position)) {
        keep(at, fact, position);
        if (rendered.end === rendered.start) missed();
      }
      return rendered;
    },
  };
}
