import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type TextPosition,
  type YamlMapping,
  type YamlNode,
  type YamlScalar,
} from "../../../yaml/index.ts";
import { convertType } from "../mapping/convert-type.ts";
import type { DataType } from "../registry/information-element.ts";
import { reversePen } from "../registry/registry.ts";
import type { CustomElement } from "./custom-element.ts";
import { quote } from "../../../text/index.ts";

/** An element and where a file has it: `file:line:column`. */
export interface PlacedElement extends CustomElement {
  readonly place: string;
}

export interface ElementsParsed {
  readonly elements: readonly PlacedElement[];
  /** What is wrong, each beginning with its place. */
  readonly problems: readonly string[];
}

/** More problems than this say nothing new. */
const maxProblems = 100;

/**
 * Reads the text of a file of elements: one YAML mapping from `<enterprise number>/<element id>` to `{name, type}` or to
 * `name, type`. Whatever the text is, this does not throw.
 */
export function parseElements(file: string, text: string): ElementsParsed {
  const elements: PlacedElement[] = [];
  const problems: string[] = [];
  const positionOf = createPositions(text);
  const placeOf = ({ line, column }: TextPosition): string => `${file}:${line}:${column}`;
  const problem = ({ at }: YamlNode, why: string): void => {
    if (problems.length < maxProblems) problems.push(`${placeOf(positionOf(at))}: ${why}`);
  };

  let root: YamlNode | undefined;
  try {
    root = readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return { elements, problems: [`${placeOf(error.position)}: ${error.message}`] };
  }
  if (root === undefined || isNullNode(root)) return { elements, problems };
  if (root.kind !== "mapping") {
    problem(root, "expected a mapping from <enterprise number>/<element id> to a name and a type");
    return { elements, problems };
  }
  for (const { key, value } of root.pairs) {
    const said = value.kind === "mapping" ? readMapping(key, value) : readPair(key, value);
    const number = said && readKey(key);
    if (said === undefined || number === undefined) continue;
    const type = readType(said.type);
    if (type !== undefined) {
      elements.push({ ...number, name: said.name.text, type, place: placeOf(positionOf(key.at)) });
    }
  }
  return { elements, problems };

  function readMapping(key: YamlScalar, { pairs }: YamlMapping): { name: YamlScalar; type: YamlScalar } | undefined {
    const found: { name?: YamlScalar; type?: YamlScalar } = {};
    const wrong = problems.length;
    for (const { key: field, value } of pairs) {
      if (value.kind !== "scalar") problem(value, `${field.text} must be a text`);
      else if (field.text === "name" || field.text === "type") found[field.text] = value;
      else problem(field, `expected name or type, not ${quote(field.text)}`);
    }
    const { name, type } = found;
    if (name !== undefined && type !== undefined) return { name, type };
    if (problems.length === wrong) problem(key, `${key.text} has no ${name === undefined ? "name" : "type"}`);
    return undefined;
  }

  function readPair(key: YamlScalar, value: YamlNode): { name: YamlScalar; type: YamlScalar } | undefined {
    const match = value.kind === "scalar" ? /^([^,]*?) *, *([^,]*)$/.exec(value.text) : null;
    if (value.kind === "scalar" && match !== null) {
      return { name: { ...value, text: match[1] ?? "" }, type: { ...value, text: match[2] ?? "" } };
    }
    problem(value, `${key.text} must be {name, type} or "name, type"`);
    return undefined;
  }

  function readKey(node: YamlScalar): { pen: number; id: number } | undefined {
    const key = node.text;
    const match = /^([0-9]{1,10})\/([0-9]{1,5})$/.exec(key);
    const pen = Number(match?.[1]);
    const id = Number(match?.[2]);
    if (match === null || pen > 0xffff_ffff) {
      problem(node, `expected <enterprise number>/<element id>, not ${quote(key)}`);
    } else if (id === 0 || id > (pen === 0 ? 0xffff : 0x7fff)) {
      problem(
        node,
        `an element id is from 1 to ${pen === 0 ? "65535 (NetFlow v9; IPFIX: 32767)" : "32767"}, not ${id}`,
      );
    } else if (pen === reversePen) {
      problem(node, `${reversePen} stands for the reverse direction of IANA's elements`);
    } else return { pen, id };
    return undefined;
  }

  function readType(node: YamlScalar): DataType | undefined {
    const type = node.text;
    if (Object.hasOwn(convertType, type)) return type as DataType;
    problem(node, `expected one of ${Object.keys(convertType).join(", ")}, not ${quote(type)}`);
    return undefined;
  }
}
