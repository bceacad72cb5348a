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
  formatShapeFinding,
  mapping,
  mappingOr,
  oneOf,
  pairsOf,
  readShape,
  required,
  scalar,
  textLine,
} from "../../base/yaml/index.ts";
import { nearName, quote } from "../../base/text/index.ts";
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

const dataTypes = Object.keys(convertType) as DataType[];

/** The key of an element. */
const elementId = scalar("an enterprise number and an element id as in 9/12235", (given, at) => {
  const match = /^([0-9]{1,10})\/([0-9]{1,5})$/.exec(given);
  const pen = Number(match?.[1]);
  const id = Number(match?.[2]);
  if (match === null || pen > 0xffff_ffff) return undefined;
  if (id === 0 || id > (pen === 0 ? 0xffff : 0x7fff)) {
    const most = pen === 0 ? "65535 (NetFlow v9; IPFIX: 32767)" : "32767";
    return at.error(`an element id is from 1 to ${most}, not ${id}`, undefined, "key");
  }
  if (pen !== reversePen) return { pen, id };
  return at.error(`${reversePen} stands for the reverse direction of IANA's elements`, undefined, "key");
});

const nameAndType = mapping({
  name: required(textLine, "A word for `flow.ie.<name>`, or words with dots: the name in records."),
  type: required(oneOf(dataTypes), "The type of IPFIX that its bytes are read by."),
});

/** Both as one text. */
const nameCommaType = scalar('a text "name, type"', (given, at) => {
  const [, name, type] = /^([^,]*?) *, *([^,]*)$/.exec(given) ?? [];
  if (name === undefined || type === undefined) return undefined;
  const known = dataTypes.find((one) => one === type);
  if (known !== undefined) return { name, type: known };
  return at.error(`expected one of ${dataTypes.join(", ")}; found ${quote(type)}`, nearName(type, dataTypes));
});

/** The file of information elements: `9/12235: {name: flow.user.name, type: string}`. Names are judged by {@link readElements}. */
export const elementsShape = pairsOf(
  elementId,
  mappingOr(nameAndType, nameCommaType).to((named, at) => ({ ...named, at })),
  { each: "element", name: "<enterprise number>/<element id>" },
);

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

/** An element and where a file has it: `file:line:column`. */
type LocatedElement = CustomElement & { readonly location: string };

/**
 * Reads files of elements that the user defines, and judges them together. They win over vendors' elements of the
 * registries. An element that has a name of ours keeps it. Whatever the texts are, this does not throw.
 *
 * @returns why the files cannot be used, and entries that have no effect, too: each begins with `file:line:column`.
 */
export function readElements(files: readonly { readonly path: string; readonly text: string }[]): {
  readonly elements: readonly CustomElement[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
} {
  const elements: CustomElement[] = [];
  const locations = new Map<number, string>();
  const byName = new Map<string, LocatedElement>();
  const findings = files.flatMap(({ path, text }) => {
    const positionOf = createPositions(text);
    const judged = elementsShape.to((pairs) => {
      for (const [{ pen, id }, { name, type, at }] of pairs) {
        const { line, column } = positionOf(at.offset("key"));
        const element = { pen, id, name, type, location: `${path}:${line}:${column}` };
        const key = elementKey(pen, id);
        const earlier = locations.get(key);
        locations.set(key, earlier ?? element.location);
        const why = earlier === undefined ? judgeName(element, byName) : `is there twice, first at ${earlier}`;
        if (why !== undefined) at.error(why, undefined, "key");
        else if (pen === 0 && (ownElements.has(id) || special(id))) {
          at.warn("has no effect: that element has names of ours", undefined, "key");
        } else {
          byName.set(name, element);
          elements.push({ pen, id, name, type });
        }
      }
      return pairs;
    });
    return readShape(text, judged).findings.map((one) => [one.severity, `${path}:${formatShapeFinding(one)}`] as const);
  });
  const linesOf = (wanted: string): string[] =>
    findings.flatMap(([severity, line]) => (severity === wanted ? [line] : []));
  return { elements, problems: linesOf("error"), warnings: linesOf("warning") };
}

/** @returns why an element cannot have its name; undefined when it can. */
function judgeName(
  { pen, id, name, type }: LocatedElement,
  others: ReadonlyMap<string, LocatedElement>,
): string | undefined {
  if (name.length > maxName) return `a name has at most ${maxName} characters`;
  const same = others.get(name);
  if (same !== undefined && kindOf(same.type) !== kindOf(type)) return `${name} has another type at ${same.location}`;
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
