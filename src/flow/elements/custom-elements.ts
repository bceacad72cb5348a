import type { DataType } from "./registry/information-element.ts";
import { convertType } from "./mapping/convert-type.ts";
import {
  registeredElements,
  reverseNames,
  type ElementNames,
  type ElementSource,
  fieldNames,
} from "./mapping/element-names.ts";
import { elementKey, reversePen, findElement, knownElements } from "./registry/registry.ts";
import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type TextPosition,
  type YamlMapping,
  type YamlNode,
  type YamlScalar,
} from "../../base/yaml/index.ts";
import { quote } from "../../base/text/index.ts";
import { decodedSegments } from "../../record/index.ts";

/** An information element that the user defines. Plain data: it crosses threads. */
export interface CustomElement {
  /** Private enterprise number; 0 for IANA and for everything of NetFlow v9. */
  readonly pen: number;
  readonly id: number;
  /** A word, for `flow.ie.<name>`, or dotted: the name in records. */
  readonly name: string;
  readonly type: DataType;
}

/** The registries with elements of the user's before them. */
export function createElementSource(custom: readonly CustomElement[]): ElementSource {
  if (custom.length === 0) return registeredElements;
  const known = new Map(
    custom.map((element, i) => [
      elementKey(element.pen, element.id),
      { names: namesOf(element, fieldNames.length + i), type: element.type },
    ]),
  );
  const names = (pen: number, id: number): ElementNames => {
    if (pen === reversePen) return reverseNames(names(0, id));
    return known.get(elementKey(pen, id))?.names ?? registeredElements.names(pen, id);
  };
  return { names, type: (pen, id) => known.get(elementKey(pen, id))?.type ?? registeredElements.type(pen, id) };
}

/** Returns the names of an element. Where a name of ours is wanted, elements of ours have it first. */
function namesOf({ pen, id, name, type }: CustomElement, preference: number): ElementNames {
  const convert = convertType[type];
  const { fallback } = registeredElements.names(pen, id);
  const takesEmpty = type === "string";
  if (name.includes("."))
    return { names: [{ name, convert, preference }], fallback: { ...fallback, convert }, takesEmpty };
  const own = { name: `flow.ie.${name}`, convert };
  return { names: [{ ...own, preference }], fallback: { ...own, hexName: `flow.hex.${name}` }, takesEmpty };
}

/** Elements come from the network, so the number of those that are remembered is limited. */
const maxRemembered = 16_384;

/** A source that gives the same object for an element again: plans share it, which is most of what they take. */
export function rememberNames(source: ElementSource): ElementSource {
  const known = new Map<number, ElementNames>();
  return {
    names(pen, id) {
      const key = elementKey(pen, id);
      let names = known.get(key);
      if (names === undefined) {
        names = source.names(pen, id);
        if (known.size >= maxRemembered) known.clear();
        known.set(key, names);
      }
      return names;
    },
    type: (pen, id) => source.type(pen, id),
  };
}

/** An element and where a file has it: `file:line:column`. */
interface PlacedElement extends CustomElement {
  readonly place: string;
}

interface ElementsParsed {
  readonly elements: readonly PlacedElement[];
  /** Problems, each beginning with its location. */
  readonly problems: readonly string[];
}

/** More problems than this say nothing new. */
const maxProblems = 100;

/**
 * Reads the text of a file of elements: one YAML mapping from `<enterprise number>/<element id>` to `{name, type}` or to
 * `name, type`. Whatever the text is, this does not throw.
 */
function parseElements(file: string, text: string): ElementsParsed {
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

interface ElementsRead {
  readonly elements: readonly CustomElement[];
  /** Why the files cannot be used, each beginning with `file:line:column`. */
  readonly problems: readonly string[];
  /** Entries that have no effect, in the same form. */
  readonly warnings: readonly string[];
}

const maxName = 128;

/** Names that others than elements give to values. Nothing may be the same, above or below them. */
const taken = [
  "flow.client",
  "flow.clisrv",
  "flow.community",
  "flow.conversation",
  "flow.dst.as.label",
  "flow.dst.ip.subnet",
  "flow.dst.isInternal",
  "flow.export",
  "flow.hex",
  "flow.http",
  "flow.ie",
  "flow.in.netif.descr",
  "flow.in.ip",
  "flow.in.vlan",
  "flow.in.netif.name",
  "flow.in.vrf.name",
  "flow.in.vrf.rd",
  "flow.inner",
  "flow.list",
  "flow.middle",
  "flow.nntp",
  "flow.out.netif.descr",
  "flow.out.vlan",
  "flow.out.netif.name",
  "flow.out.vrf.name",
  "flow.out.vrf.rd",
  "flow.outer",
  "flow.pop3",
  "flow.bytes_layer",
  "flow.raw",
  "flow.record",
  "flow.reverse",
  "flow.sample_rate",
  "flow.scaled",
  "flow.server",
  "flow.session",
  "flow.rollup",
  "flow.rtsp",
  "flow.scope",
  "flow.sip",
  "flow.smtp",
  "flow.src.as.label",
  "flow.src.ip.subnet",
  "flow.src.isInternal",
  "flow.tls",
  "flow.tunnel",
  "icmp.code.name",
  "icmp.type.name",
  "ip.version.name",
  "l4.session",
  "mpls.label",
  "mpls.top_label",
  "snmp",
  "system",
  "vlan",
];

/** Elements that are decoded in a way of their own: padding, MPLS labels, lists, packets. */
const special = (id: number): boolean =>
  (id >= 70 && id <= 79) || (id >= 291 && id <= 293) || [104, 210, 313, 315, 316, 317].includes(id);

const ownElements = new Set(fieldNames.map(([id]) => id));
const ianaNames = new Map(
  [...knownElements()].filter(({ pen }) => pen === 0).map(({ name, id }): [string, number] => [name, id]),
);
/** Names of ours that are an element's plain value, and the JSON type that they have. */
const ownKinds = new Map(
  fieldNames.flatMap(([id, name, conversion]): [string, string][] => {
    const type = findElement(0, id)?.type;
    return conversion === "value" && type !== undefined ? [[name, kindOf(type)]] : [];
  }),
);
const ownNames = new Set(fieldNames.map(([, name]) => name));

/**
 * Reads files of elements that the user defines, and judges them together. They win over vendors' elements of the
 * registries. An element that has a name of ours keeps it.
 */
export function readElements(files: readonly { readonly path: string; readonly text: string }[]): ElementsRead {
  const parsed = files.map(({ path, text }) => parseElements(path, text));
  const problems = parsed.flatMap((each) => each.problems);
  const warnings: string[] = [];
  const elements: PlacedElement[] = [];
  const places = new Map<number, string>();
  const byName = new Map<string, PlacedElement>();
  for (const element of parsed.flatMap((each) => each.elements)) {
    const { pen, id, name, place } = element;
    const key = elementKey(pen, id);
    const earlier = places.get(key);
    places.set(key, earlier ?? place);
    const why = earlier === undefined ? judgeName(element, byName) : `${pen}/${id} is there twice, first at ${earlier}`;
    if (why !== undefined) problems.push(`${place}: ${why}`);
    else if (pen === 0 && (ownElements.has(id) || special(id))) {
      warnings.push(`${place}: ${pen}/${id} has no effect: that element has names of ours`);
    } else {
      byName.set(name, element);
      elements.push(element);
    }
  }
  return { elements: elements.map(({ pen, id, name, type }) => ({ pen, id, name, type })), problems, warnings };
}

/** @returns why an element cannot have its name; undefined when it can. */
function judgeName(
  { pen, id, name, type }: PlacedElement,
  others: ReadonlyMap<string, PlacedElement>,
): string | undefined {
  if (name.length > maxName) return `a name has at most ${maxName} characters`;
  const same = others.get(name);
  if (same !== undefined && kindOf(same.type) !== kindOf(type)) return `${name} has another type at ${same.place}`;
  if (!name.includes(".")) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name))
      return `a name is letters, digits and _, or such words with dots, not ${quote(name)}`;
    const iana = ianaNames.get(name);
    return iana === undefined || (pen === 0 && iana === id)
      ? undefined
      : `${name} is the name of IANA's element ${iana}`;
  }
  if (!/^[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+$/.test(name))
    return `a dotted name is words of letters, digits and _, not ${quote(name)}`;
  const [first, object, segment = ""] = name.split(".");
  if (first === "flow" && (object === "src" || object === "dst") && !decodedSegments.has(segment)) {
    return `${name}: below flow.${object} only these are for elements: ${[...decodedSegments].join(", ")}`;
  }
  const clash = taken.find((each) => each === name || isNested(each, name));
  if (clash !== undefined) return `${name}: ${clash} is kept for other values`;
  const nested = [...ownNames, ...others.keys()].find((each) => isNested(each, name));
  if (nested !== undefined) return `${name} and ${nested}: no name may be the beginning of another`;
  if (!ownNames.has(name)) return undefined;
  const kind = ownKinds.get(name);
  if (kind === undefined) return `${name} follows from another value and cannot be given`;
  return kind === kindOf(type) ? undefined : `${name} is a ${kind}, so ${type} cannot have that name`;
}

/** Tells whether one name is the group of the other. */
function isNested(a: string, b: string): boolean {
  return a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

/** Returns what values of a type are in JSON. Lists are what their elements are. */
function kindOf(type: DataType): string {
  if (/^(un)?signed|^float/.test(type)) return "number";
  return type === "boolean" || type.endsWith("List") ? type : "text";
}
