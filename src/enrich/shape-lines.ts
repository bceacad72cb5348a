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

/** Fields that a line gets. */
export interface GivenFields {
  readonly fields: ReadonlyMap<string, Value>;
  /** As they stand in lines. */
  readonly text: RenderedFields;
  /** How the names begin in a line that has them, or names below them. */
  readonly names: readonly Buffer[];
  /** The names above them, as they stand in a line that has a value there. */
  readonly above: readonly Buffer[];
}

export function givenFields(fields: ReadonlyMap<string, Value>): GivenFields {
  const above = new Set<string>();
  for (const name of fields.keys()) {
    for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) above.add(name.slice(0, dot));
  }
  return {
    fields,
    text: renderFields([...fields]),
    names: Array.from(fields.keys(), (name) => Buffer.from(`"${name}`)),
    above: Array.from(above, (name) => Buffer.from(`"${name}":`)),
  };
}

/** The values of a line, each read once. */
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

/** Gives fields to lines. Those that get none stay where they are. */
export class LineShaper {
  readonly #values = new RememberedValues();
  readonly #given: (values: FieldValues) => GivenFields | undefined;
  readonly #place: (record: RecordFields, fields: ReadonlyMap<string, Value>) => void;

  /**
   * @param given the fields of a line by its values; undefined: none.
   * @param place puts the fields into the record of a line that has names in their way.
   */
  constructor(
    given: (values: FieldValues) => GivenFields | undefined,
    place: (record: RecordFields, fields: ReadonlyMap<string, Value>) => void,
  ) {
    this.#given = given;
    this.#place = place;
  }

  /** @param lines whole lines. @returns lines in memory of their own, or the same where nothing is changed. */
  shape(lines: Uint8Array): Uint8Array {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Uint8Array[] = [];
    let copied = 0;
    for (let at = 0, end = 0; at < from.length; at = end) {
      end = from.indexOf(lineFeed, at) + 1 || from.length;
      this.#values.use(from, at, end);
      const given = this.#given(this.#values);
      if (given === undefined) continue;
      // Up to the brace at the end.
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
const colon = 0x3a;
const comma = 0x2c;

/**
 * Finds the fields of a line whose names it is to get anew, each with the comma before it.
 *
 * @returns undefined where that is not enough: names below those, values above them, or texts that look alike.
 */
function findInTheWay(line: Buffer, { names, above }: GivenFields): Fields | undefined {
  let found: [number, number][] | undefined;
  for (const name of names) {
    const at = line.indexOf(name);
    if (at < 0) continue;
    const end = at + name.length;
    if (line[at - 1] !== comma || line[end] !== quote || line[end + 1] !== colon) return undefined;
    if (line.includes(name, end)) return undefined;
    (found ??= []).push([at - 1, endOfValue(line, end + 2, line.length)]);
  }
  for (const name of above) if (line.includes(name)) return undefined;
  return found?.sort(([a], [b]) => a - b) ?? noFields;
}
