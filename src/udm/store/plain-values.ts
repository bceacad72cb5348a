import { Unfamiliar, type PlainCursor, type PlainScalar } from "./plain-yaml-cursor.ts";
import type { YamlNode, YamlScalar } from "../../yaml/index.ts";

/** A scalar, a list of scalars, or nothing. */
export type PlainValue = PlainScalar | readonly PlainScalar[] | undefined;

/** Reads the values of fields, which are scalars and lists of them. */
export interface PlainValues {
  /** Behind the last line that said something. */
  end: number;
  /** From the end of a value to the next line that says something. */
  readonly endLine: () => void;
  /** A scalar on this line, where a string is written. */
  readonly stringHere: () => PlainScalar;
  /** What follows the colon of a field that is indented so far. */
  readonly value: (indent: number, isString?: boolean) => PlainValue;
}

export function createPlainValues(bytes: Buffer, cursor: PlainCursor): PlainValues {
  const endLine = (): void => {
    cursor.endLine();
    values.end = cursor.at;
    cursor.nextLine();
  };

  const stringHere = (): PlainScalar => {
    const scalar = cursor.scalar(false);
    if (scalar.isPlain && !cursor.isSafe) cursor.judgePlain(scalar.text);
    return scalar;
  };

  const blockList = (): PlainScalar[] => {
    const { indent } = cursor;
    if (indent !== 4) cursor.differs();
    const items: PlainScalar[] = [];
    while (cursor.indent === indent && bytes[cursor.at] === dash) {
      cursor.at++;
      if (!cursor.toValue()) throw new Unfamiliar();
      items.push(stringHere());
      endLine();
    }
    return items;
  };

  const flowList = (): PlainScalar[] => {
    cursor.differs();
    const items: PlainScalar[] = [];
    do {
      cursor.at++;
      cursor.skipBlanks();
      if (items.length === 0 && bytes[cursor.at] === closingBracket) break;
      items.push(cursor.scalar(true));
      cursor.skipBlanks();
    } while (bytes[cursor.at] === comma);
    if (bytes[cursor.at] !== closingBracket) throw new Unfamiliar();
    cursor.at++;
    endLine();
    return items;
  };

  const value = (indent: number, isString = false): PlainValue => {
    if (cursor.toValue()) {
      if (bytes[cursor.at] === openingBracket) return flowList();
      const scalar = isString ? stringHere() : cursor.scalar(false);
      endLine();
      return scalar;
    }
    endLine();
    return cursor.indent >= indent && bytes[cursor.at] === dash ? blockList() : undefined;
  };

  const values: PlainValues = { end: 0, endLine, stringHere, value };
  return values;
}

const dash = 0x2d;
const comma = 0x2c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;

export function isScalar(value: PlainScalar | readonly PlainScalar[]): value is PlainScalar {
  return !Array.isArray(value);
}

export function scalarNode({ text, isPlain }: PlainScalar): YamlScalar {
  return { kind: "scalar", at: 0, tag: undefined, text, isPlain, weight: 1, depth: 1 };
}

export function valueNode(value: PlainValue): YamlNode {
  if (value === undefined) return scalarNode({ text: "", isPlain: true });
  if (isScalar(value)) return scalarNode(value);
  return { kind: "sequence", at: 0, tag: undefined, items: value.map(scalarNode), weight: 1, depth: 2 };
}
