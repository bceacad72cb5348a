import {
  endOfValue,
  LineValues,
  readLine,
  renderFields,
  type FieldValues,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../record/index.ts";

/** Names in the form that lines have, by the hash of their bytes. */
class NameTable {
  readonly #byHash = new Map<number, Buffer[]>();
  /** A bit for the upper bits of each hash: most names are in no table, and one test shows it. */
  #bits = 0;

  constructor(names: Iterable<string>) {
    for (const name of names) {
      const bytes = Buffer.from(JSON.stringify(name).slice(1, -1));
      let hash = 0;
      for (const byte of bytes) hash = hashWith(hash, byte);
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), bytes]);
      this.#bits |= 1 << (hash >>> 27);
    }
  }

  has(hash: number, line: Buffer, start: number, end: number): boolean {
    if ((this.#bits & (1 << (hash >>> 27))) === 0) return false;
    const names = this.#byHash.get(hash);
    return names !== undefined && names.some((name) => name.compare(line, start, end) === 0);
  }
}

function hashWith(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x9e3779b1);
}

/** The fields to add to a line. */
export interface GivenFields {
  readonly fields: ReadonlyMap<string, Value>;
  /** The fields in the form that lines have. */
  readonly text: RenderedFields;
  readonly names: NameTable;
  /** The names that these fields lie below. */
  readonly above: NameTable;
}

export function givenFields(fields: ReadonlyMap<string, Value>): GivenFields {
  const above = new Set<string>();
  for (const name of fields.keys()) {
    for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) above.add(name.slice(0, dot));
  }
  return {
    fields,
    text: renderFields([...fields]),
    names: new NameTable(fields.keys()),
    above: new NameTable(above),
  };
}

/** The values of a line; each is read once. */
class RememberedValues implements FieldValues {
  readonly #line = new LineValues();
  readonly #read = new Map<string, Value | undefined>();

  use(bytes: Buffer, start: number, end: number): void {
    this.#line.use(bytes, start, end);
    this.#read.clear();
  }

  get(name: string): Value | undefined {
    const known = this.#read.get(name);
    if (known !== undefined || this.#read.has(name)) return known;
    const value = this.#line.get(name);
    this.#read.set(name, value);
    return value;
  }
}

/** Adds fields to lines. Lines that get none are not copied. */
export class LineShaper {
  readonly #values = new RememberedValues();
  readonly #given: (values: FieldValues) => GivenFields | undefined;
  readonly #place: (record: RecordFields, fields: ReadonlyMap<string, Value>) => void;

  /**
   * @param given returns the fields to add to a line with these values; undefined for none.
   * @param place adds the fields to the record of a line whose names are in their way.
   */
  constructor(
    given: (values: FieldValues) => GivenFields | undefined,
    place: (record: RecordFields, fields: ReadonlyMap<string, Value>) => void,
  ) {
    this.#given = given;
    this.#place = place;
  }

  /** @param lines whole lines. @returns lines in memory of their own, or the same bytes if nothing changes. */
  shape(lines: Uint8Array): Uint8Array {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Uint8Array[] = [];
    let copied = 0;
    for (let at = 0, end = 0; at < from.length; at = end) {
      end = from.indexOf(lineFeed, at) + 1 || from.length;
      this.#values.use(from, at, end);
      const given = this.#given(this.#values);
      if (given === undefined) continue;
      // The position of the brace at the end.
      const brace = end - (from[end - 1] === lineFeed ? 2 : 1);
      const inTheWay = findInTheWay(from.subarray(at, brace), given);
      if (inTheWay !== undefined) {
        for (const [start, stop] of inTheWay) {
          parts.push(from.subarray(copied, at + start));
          copied = at + stop;
        }
        parts.push(from.subarray(copied, brace), given.text);
      } else {
        const record = readLine(from, at, brace);
        this.#place(record, given.fields);
        const text = renderFields([...record]);
        parts.push(from.subarray(copied, at), openBrace, text.subarray(1));
      }
      copied = brace;
    }
    return parts.length === 0 ? lines : Buffer.concat([...parts, from.subarray(copied)]);
  }
}

const lineFeed = 0x0a;
const openBrace = Buffer.from("{");

type Fields = readonly (readonly [start: number, end: number])[];

const noFields: Fields = [];
const quote = 0x22;
const backslash = 0x5c;
const dot = 0x2e;

/**
 * Finds the fields of a line whose names the given fields replace, each with the comma before it. It reads the line once: a search for
 * each name took half of the time of records with many names.
 *
 * @param line without the brace at its end.
 * @returns undefined if removal is not enough: for names below the given ones, values above them, or such a name at the beginning of
 *   the line.
 */
function findInTheWay(line: Buffer, { names, above }: GivenFields): Fields | undefined {
  let found: [number, number][] | undefined;
  for (let at = 1, next = 1; at < line.length; at = next) {
    const start = at + 1;
    let hash = 0;
    let end = start;
    for (let byte = line[end] as number; byte !== quote; byte = line[++end] as number) {
      if (byte === dot && names.has(hash, line, start, end)) return undefined;
      hash = hashWith(hash, byte);
      if (byte === backslash) hash = hashWith(hash, line[++end] as number);
    }
    const valueEnd = endOfValue(line, end + 2, line.length);
    if (names.has(hash, line, start, end)) {
      if (at === 1) return undefined;
      (found ??= []).push([at - 1, valueEnd]);
    } else if (above.has(hash, line, start, end)) return undefined;
    next = valueEnd + 1;
  }
  return found ?? noFields;
}
