import { isUtf8 } from "node:buffer";
import { KeyError, parseKey, type Key } from "../../ip/index.ts";
import type { PlainEntryScanner } from "./plain-entry-scanner.ts";
import { createKeyOrder, type KeyOrder } from "./key-order.ts";
import { createPlainValues, isScalar, scalarNode, valueNode, type PlainValue } from "./plain-values.ts";
import { createPlainCursor, Unfamiliar, type PlainScalar } from "./plain-yaml-cursor.ts";
import { udmFields, type UdmContext, type UdmEntry, type UdmValues } from "../model/udm-entry.ts";
import { readBool, readContexts, readVlan } from "../model/read-fields.ts";
import { isNullNode, type YamlNode } from "../../yaml/index.ts";
import { renderPair } from "../../yaml/index.ts";
import { emptyFileText } from "../model/render-entry.ts";

/** Where an entry stands in the file. */
export interface PlainEntry {
  readonly entry: UdmEntry;
  /** Offsets of its first byte and behind its last. */
  readonly start: number;
  readonly end: number;
  /** Whether these bytes are what {@link renderEntry} writes for it. */
  readonly isAsWritten: boolean;
}

export interface PlainReader {
  /**
   * The next entries in the order of the file, at most `max`; none at the end.
   *
   * @throws Unfamiliar when the file is to be read by the library: whether it is right and what it says is not known then.
   */
  read(max: number): PlainEntry[];
  /**
   * Has the scanner read the next entry.
   *
   * @returns false when it is to be read here. @throws Unfamiliar
   */
  scan(scanner: PlainEntryScanner): boolean;
  /** As in {@link UdmFileContent}, of what was read so far. */
  readonly unknownFields: ReadonlyMap<string, number>;
  /** At the end: whether the file is byte for byte what a save of its entries would write. */
  isAsWritten(): boolean;
}

/**
 * Reads the YAML that we write and that most people write: block mappings, scalars on one line, lists of tags in block or
 * flow style, comments. It never says anything else than {@link readUdmYaml} does; it gives up instead, at faults too.
 *
 * @param bytes must not change while it is read.
 * @param order looks after keys that come twice.
 */
export function createPlainReader(bytes: Buffer, order: KeyOrder = createKeyOrder()): PlainReader {
  const cursor = createPlainCursor(bytes);
  const values = createPlainValues(bytes, cursor);
  const { endLine, stringHere, value } = values;
  const unknownFields = new Map<string, number>();
  /** Those that recur need not be read again. */
  const vlans = new Map<string, bigint>();
  let isBegun = false;
  let isEmptyFile = false;

  const begin = (): void => {
    isBegun = true;
    if (!isUtf8(bytes)) throw new Unfamiliar();
    cursor.nextLine();
    if (cursor.indent === 0 && bytes.toString("latin1", cursor.at, cursor.at + 4) === "---\n") {
      cursor.differs();
      cursor.at += 4;
      cursor.nextLine();
    }
    if (bytes.toString("latin1", cursor.at, cursor.at + emptyFileText.length + 1) === emptyFileText) {
      isEmptyFile = cursor.at === 0;
      cursor.at = bytes.length;
      cursor.nextLine();
    }
  };

  const emptyMapping = (): boolean => {
    if (bytes[cursor.at] !== openingBrace || bytes[cursor.at + 1] !== closingBrace) return false;
    cursor.at += 2;
    endLine();
    return true;
  };

  /** Whether the last field is spelt as we write it. @param start of its line. */
  const judge = (start: number, written: string): void => {
    if (bytes.toString("utf8", start, values.end) !== written) cursor.differs();
  };

  const text = (given: PlainValue): string => {
    if (given === undefined) return "";
    if (!isScalar(given)) throw new Unfamiliar();
    return given.isPlain && isNullNode(scalarNode(given)) ? "" : given.text;
  };

  const tags = (given: PlainValue): readonly string[] => {
    if (given === undefined) return nothing.tags;
    if (!isScalar(given)) return given.map(text);
    cursor.differs();
    return isNullNode(scalarNode(given)) ? nothing.tags : [given.text];
  };

  const metadata = (outer: number): ReadonlyMap<string, string> => {
    if (cursor.toValue()) {
      if (!emptyMapping()) throw new Unfamiliar();
      return nothing.metadata;
    }
    endLine();
    const { indent } = cursor;
    if (indent <= outer) return nothing.metadata;
    if (indent !== 4) cursor.differs();
    const pairs = new Map<string, string>();
    while (cursor.indent === indent) {
      const key = cursor.key();
      if (key.isPlain) cursor.judgePlain(key.text);
      if (pairs.has(key.text)) throw new Unfamiliar();
      let found = "";
      if (cursor.toValue()) found = text(stringHere());
      else cursor.differs();
      pairs.set(key.text, found);
      endLine();
    }
    return pairs;
  };

  /** Whether a field is its name, a colon, a blank and a plain scalar. @param start of its line. */
  const isSpelt = (given: PlainValue, start: number, name: string): given is PlainScalar =>
    given !== undefined &&
    isScalar(given) &&
    given.isPlain &&
    values.end - start === name.length + given.text.length + 5;

  const vlanOf = (given: PlainValue, start: number): bigint => {
    const spelt = given !== undefined && isScalar(given) && given.isPlain ? given.text : undefined;
    const known = spelt === undefined ? undefined : vlans.get(spelt);
    const vlan = known ?? readVlan(valueNode(given), giveUp);
    if (spelt !== undefined && known === undefined && vlans.size < maxVlans) vlans.set(spelt, vlan);
    if (vlan === 0n || !isSpelt(given, start, "vlan")) cursor.differs();
    return vlan;
  };

  /** A field that is kept as it is: its value, and its text as it is written back. */
  const otherField = (field: PlainScalar, indent: number, start: number): { node: YamlNode; yaml: string } => {
    const { isAsWritten, isAllAsWritten } = cursor;
    const node = valueNode(value(indent));
    const yaml = renderPair({ key: scalarNode(field), value: node }, "  ");
    cursor.isAsWritten = isAsWritten;
    cursor.isAllAsWritten = isAllAsWritten;
    judge(start, yaml);
    // A comment or an empty line before the next field was one of the differences.
    if (cursor.at - Math.max(0, cursor.indent) !== values.end) cursor.differs();
    return { node, yaml };
  };

  const fields = (key: Key): UdmEntry => {
    let { name, tags: tagTexts, vlan, internal, metadata: pairs } = nothing;
    let contexts: readonly UdmContext[] | undefined;
    let yaml = "";
    let seen = 0;
    let others: string[] | undefined;
    const { indent } = cursor;
    if (indent !== 2) cursor.differs();
    const isField = (): boolean => indent > 0 && cursor.indent === indent;
    while (isField()) {
      const start = cursor.at - indent;
      const field = cursor.key();
      if (!field.isPlain) throw new Unfamiliar();
      const bit = fieldBits.get(field.text) ?? otherBit;
      if ((seen & bit & ~otherBit) !== 0 || others?.includes(field.text)) throw new Unfamiliar();
      // Fields have an order, and those that are not set are not written.
      if (seen > bit * 2 - 1) cursor.differs();
      seen |= bit;
      switch (field.text) {
        case "name":
          name = text(value(indent, true));
          if (name === "") cursor.differs();
          break;
        case "tags":
          tagTexts = tags(value(indent));
          if (tagTexts.length === 0) cursor.differs();
          break;
        case "vlan":
          vlan = vlanOf(value(indent), start);
          break;
        case "internal": {
          const given = value(indent);
          internal = readBool(valueNode(given), "internal", giveUp);
          if (!isSpelt(given, start, "internal") || given.text !== "true") cursor.differs();
          break;
        }
        case "metadata":
          pairs = metadata(indent);
          if (pairs.size === 0) cursor.differs();
          break;
        default: {
          (others ??= []).push(field.text);
          const other = otherField(field, indent, start);
          yaml += other.yaml;
          if (field.text === "contexts") contexts = readContexts(other.node, giveUp);
          else unknownFields.set(field.text, (unknownFields.get(field.text) ?? 0) + 1);
        }
      }
    }
    if (seen === 0) cursor.differs();
    if (yaml === "") return { key, name, tags: tagTexts, vlan, internal, metadata: pairs };
    const fileOnly = contexts === undefined ? { yaml } : { yaml, contexts };
    return { key, name, tags: tagTexts, vlan, internal, metadata: pairs, fileOnly };
  };

  const nextEntry = (): PlainEntry => {
    const start = cursor.at;
    cursor.isAsWritten = true;
    const keyText = cursor.key();
    const key = readKey(keyText.text);
    if (keyText.text !== key.text || keyText.isPlain !== (key.family === 4)) cursor.differs();
    if (!order.add(key)) cursor.isAllAsWritten = false;
    let entry: UdmEntry;
    if (cursor.toValue()) {
      if (!emptyMapping()) throw new Unfamiliar();
      entry = { key, ...nothing };
    } else {
      endLine();
      entry = fields(key);
    }
    // A line that is deeper than what it could belong to.
    if (cursor.indent > 0) throw new Unfamiliar();
    return { entry, start, end: values.end, isAsWritten: cursor.isAsWritten };
  };

  return {
    unknownFields,
    read(max) {
      if (!isBegun) begin();
      const entries: PlainEntry[] = [];
      while (entries.length < max && cursor.indent === 0) entries.push(nextEntry());
      if (cursor.indent > 0) throw new Unfamiliar();
      return entries;
    },
    scan(scanner) {
      if (!isBegun) begin();
      if (cursor.indent !== 0) return false;
      const next = scanner.scan(cursor.at);
      if (next < 0) return false;
      if (!scanner.isAsWritten) cursor.isAllAsWritten = false;
      values.end = next;
      cursor.at = next;
      cursor.nextLine();
      return true;
    },
    isAsWritten: () => cursor.isAllAsWritten && (bytes.length === 0 || order.count() > 0 || isEmptyFile),
  };
}

const openingBrace = 0x7b;
const closingBrace = 0x7d;

const nothing: UdmValues = { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() };

/** In the order in which fields are written. */
const fieldBits: ReadonlyMap<string, number> = new Map(udmFields.map((field, i) => [field, 1 << i]));
/** Of all fields that are not ours, which stand behind those that are. */
const otherBit = 1 << udmFields.length;

const maxVlans = 4096;

const giveUp = (): never => {
  throw new Unfamiliar();
};

function readKey(text: string): Key {
  try {
    return parseKey(text);
  } catch (error) {
    if (error instanceof KeyError) throw new Unfamiliar();
    throw error;
  }
}
