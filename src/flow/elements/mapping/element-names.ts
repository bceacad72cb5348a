import { recordFields } from "../../../record/index.ts";
import { enumerations } from "../registry/enumerations.gen.ts";
import { tcpOptionsFull, convertField, type Conversion } from "./convert-field.ts";
import { formatText, convertType, toHex, toUnsigned, type Convert } from "./convert-type.ts";
import type { DataType, InformationElement } from "../registry/information-element.ts";
import { findElement, reversePen } from "../registry/registry.ts";

/** The names of a counter of a record as it was exported, and of the estimate of what really passed. */
interface CounterName {
  readonly exported: string;
  readonly estimate: string;
}

/** The counters that are multiplied by the sampling rate. */
export interface CounterNames {
  readonly bytes: CounterName;
  readonly packets: CounterName;
  readonly reverseBytes: CounterName;
  readonly reversePackets: CounterName;
}

/** The field that says what the bytes of a flow are the length of. */
export const bytesLayer = "flow.bytes_layer";
/** The layer of bytes that are no counters: of a frame, or of an IP packet. */
export type BytesLayer = "l2" | "l3";

/** The plain names are those of the counters as exported. */
export const plainCounters: CounterNames = {
  bytes: { exported: "flow.bytes", estimate: "flow.scaled.bytes" },
  packets: { exported: "flow.packets", estimate: "flow.scaled.packets" },
  reverseBytes: { exported: "flow.reverse.bytes", estimate: "flow.reverse.scaled.bytes" },
  reversePackets: { exported: "flow.reverse.packets", estimate: "flow.reverse.scaled.packets" },
};

/** The plain names are those of the estimates. */
export const scaledCounters: CounterNames = {
  bytes: { exported: "flow.raw.bytes", estimate: "flow.bytes" },
  packets: { exported: "flow.raw.packets", estimate: "flow.packets" },
  reverseBytes: { exported: "flow.reverse.raw.bytes", estimate: "flow.reverse.bytes" },
  reversePackets: { exported: "flow.reverse.raw.packets", estimate: "flow.reverse.packets" },
};

const keys = ["bytes", "packets", "reverseBytes", "reversePackets"] as const;

/** All counters: those of the flow, then those of the reverse direction of a biflow. */
export function eachCounter(counters: CounterNames): readonly CounterName[] {
  return keys.map((key) => counters[key]);
}

/** A source whose elements have the names of counters as they are exported. */
export function nameCounters(source: ElementSource, counters: CounterNames): ElementSource {
  if (counters === plainCounters) return source;
  const renamed = new Map(keys.map((key) => [plainCounters[key].exported, counters[key].exported]));
  const rename = (of: ElementName): ElementName => ({ ...of, name: renamed.get(of.name) ?? of.name });
  return {
    names(pen, id): ElementNames {
      const found = source.names(pen, id);
      return found.names.some(({ name }) => renamed.has(name)) ? { ...found, names: found.names.map(rename) } : found;
    },
    type: (pen, id) => source.type(pen, id),
  };
}

/** A name for some of an element's values. */
interface TaggedName {
  readonly name: string;
  /** @returns undefined for values that mean something else. */
  readonly convert: Convert;
}

/**
 * An application's value: four bytes of application id (engine, selector), two of what it is, then the text (Cisco, "AVC Metric
 * Definition Guide", appendix "DPI/L7 Extracted Fields").
 */
const subApplications: readonly (readonly [name: string, engine: number, selector: number, part: number])[] = [
  ["flow.url.text", 3, 80, 13_313],
  ["flow.url.host", 3, 80, 13_314],
  ["flow.http.user_agent", 3, 80, 13_315],
  ["flow.http.referer", 3, 80, 13_316],
  ["flow.tls.common_name", 13, 453, 13_313],
  ["flow.rtsp.host", 3, 554, 13_313],
  ["flow.smtp.server", 3, 25, 13_313],
  ["flow.smtp.sender", 3, 25, 13_314],
  ["flow.pop3.server", 3, 110, 13_313],
  ["flow.nntp.group", 3, 119, 13_313],
  ["flow.sip.dst.domain", 3, 5060, 13_313],
  ["flow.sip.src.domain", 3, 5060, 13_314],
];
const subApplicationHead = 6;

const subApplicationNames = subApplications.map(([name, engine, selector, part]): TaggedName => {
  const application = engine * 0x100_0000 + selector;
  return {
    name,
    convert: ({ bytes, view }, at, length) =>
      length > subApplicationHead && view.getUint32(at) === application && view.getUint16(at + 4) === part
        ? formatText(bytes, at + subApplicationHead, length - subApplicationHead)
        : undefined,
  };
});

/** Juniper's common properties that are an exception of forwarding: two bytes, the upper six bits are 2, the others the code. */
const exceptionType = 2;
const exceptionCode: Convert = ({ view }, at, length) => {
  const value = length === 2 ? view.getUint16(at) : 0;
  return value >>> 10 === exceptionType ? value & 0x3ff : undefined;
};
/** Forwarded and dropped of forwardingStatus (RFC 7270), for a code of 0 and any other. */
const forwarded = 64;
const dropped = 128;
const statusOf: Convert = (source, at, length) => {
  const code = exceptionCode(source, at, length);
  return code === undefined ? undefined : code === 0 ? forwarded : dropped;
};

/** Juniper, "Juniper Resiliency Interface": Common Properties ID. */
const commonPropertyNames: readonly TaggedName[] = [
  { name: "flow.forwarding.status.id", convert: statusOf },
  {
    name: "flow.forwarding.status.name",
    convert: (source, at, length) => {
      const status = statusOf(source, at, length);
      return typeof status === "number" ? enumerations.forwardingStatus.get(status >>> 6) : undefined;
    },
  },
  { name: "flow.forwarding.exception.id", convert: exceptionCode },
];

/** layer2SegmentId (IANA): the first byte is the kind of the segment, the last three its number. */
const layer2Segments: ReadonlyMap<number, string> = new Map([
  [1, "vxlan"],
  [2, "nvgre"],
]);
const segmentNames: readonly TaggedName[] = [
  {
    name: "flow.tunnel.type.name",
    convert: ({ view }, at, length) => (length === 8 ? layer2Segments.get(view.getUint8(at)) : undefined),
  },
  {
    name: "flow.tunnel.id",
    convert: ({ view }, at, length) =>
      length === 8 && layer2Segments.has(view.getUint8(at)) ? view.getUint32(at + 4) & 0xff_ffff : undefined,
  },
];

const optionNames: readonly TaggedName[] = [{ name: "tcp.options.tags", convert: tcpOptionsFull }];

/**
 * Elements whose values say themselves what they are, so that a template may have one several times: subApplicationValue of Cisco
 * (9/12235, in NetFlow v9 45003), commonPropertiesId of Juniper (2636/137), layer2SegmentId (351); or that are too wide for a number:
 * tcpOptionsFull (520).
 */
function taggedNames(pen: number, id: number): readonly TaggedName[] | undefined {
  if ((pen === 9 && id === 12_235) || (pen === 0 && id === 45_003)) return subApplicationNames;
  if (pen === 0 && id === 351) return segmentNames;
  if (pen === 0 && id === 520) return optionNames;
  return pen === 2636 && id === 137 ? commonPropertyNames : undefined;
}

/** A name that an element may have in a record. */
interface ElementName {
  readonly name: string;
  readonly convert: Convert;
  /** Lower is better, where several elements claim the name. */
  readonly preference: number;
}

/** The field for a value that cannot go under a name of ours, so that it is not lost. */
export interface Fallback {
  /** `flow.ie.…`, for the element's plain value. */
  readonly name: string;
  readonly convert: Convert;
  /** `flow.hex.…`, for bytes that are no value of the element's type: a name never changes its JSON type. */
  readonly hexName: string;
}

/** Says how an element appears in records. */
export interface ElementNames {
  /** At least one. The first has the value, the others are derived from it. */
  readonly names: readonly ElementName[];
  readonly fallback: Fallback;
  /** True if zero bytes are a value: the empty string is, an integer of no bytes is absent. */
  readonly takesEmpty: boolean;
  /** Further names for some of the values, of each field that is this element. */
  readonly tagged?: readonly TaggedName[] | undefined;
}

/** Tells plans the names and types of elements: the registries, with what the user adds. */
export interface ElementSource {
  names(pen: number, id: number): ElementNames;
  /** Undefined for an element that is not known. */
  type(pen: number, id: number): DataType | undefined;
}

/** The registries alone. */
export const registeredElements: ElementSource = {
  names: (pen, id) => elementNames(pen, id),
  type: (pen, id) => findElement(pen, id)?.type,
};

/** One element under one of our names. */
type FieldName = readonly [element: number, name: string, conversion: Conversion];

/**
 * Our names for IANA's elements (and for those of NetFlow v9 alone, from 32768 on), as the table of fields has them. An element that is not
 * here comes out as `flow.ie.<IANA name>`.
 *
 * The order of preference where several elements of a template claim one name is their order here. An element with several names gives
 * the first to its value; the others are derived from it.
 */
export const fieldNames: readonly FieldName[] = recordFields.flatMap(({ name, elements }) =>
  elements.map(([id, conversion]): FieldName => [id, name, conversionOf(conversion)]),
);

function conversionOf(name: string): Conversion {
  if (name === "value" || Object.hasOwn(convertField, name)) return name as Conversion;
  throw new TypeError(`no conversion of a field: ${name}`);
}

const namesByElement = new Map<number, ElementName[]>();
fieldNames.forEach(([id, name, conversion], preference) => {
  const entry = { name, convert: converter(findElement(0, id), conversion), preference };
  const names = namesByElement.get(id);
  if (names === undefined) namesByElement.set(id, [entry]);
  else names.push(entry);
});

/**
 * Names for an element: ours, else `flow.ie.<IANA name>`, else `flow.ie.<vendor>.<name>` or `flow.ie.<pen>.<id>` (a vendor's, or
 * unknown: bytes in hex). An element of the reverse direction (RFC 5103) has `flow.reverse.` before what remains of the forward name
 * without its `flow.`.
 *
 * @param pen private enterprise number, 0 for IANA and for everything of NetFlow v9.
 */
export function elementNames(pen: number, id: number): ElementNames {
  if (pen === reversePen) return reverseNames(elementNames(0, id));
  const element = findElement(pen, id);
  const convert = converter(element, "value");
  const label = labelOf(pen, id, element);
  const fallback = { name: `flow.ie.${label}`, convert, hexName: `flow.hex.${label}` };
  const own = pen === 0 ? namesByElement.get(id) : undefined;
  return {
    names: own ?? [{ name: fallback.name, convert, preference: 0 }],
    fallback,
    takesEmpty: element?.type === "string",
    tagged: taggedNames(pen, id),
  };
}

/** Vendors whose elements have their names: others have numbers, because their names may mean something else elsewhere. */
const vendors: ReadonlyMap<number, string> = new Map([
  [637, "nokia"],
  [2011, "huawei"],
  [2636, "juniper"],
  [6876, "vmware"],
  [41_916, "viptela"],
]);

function labelOf(pen: number, id: number, element: InformationElement | undefined): string {
  const vendor = vendors.get(pen);
  if (element === undefined || (pen === 0 ? id >= 0x8000 : vendor === undefined)) return `${pen}.${id}`;
  return vendor === undefined ? element.name : `${vendor}.${element.name}`;
}

const netflow9Scopes = [undefined, "system", "interface", "line_card", "cache", "template"];

/** Names for a scope field of NetFlow v9, whose numbers are not those of elements (RFC 3954 section 6.1). */
export function netflow9ScopeNames(type: number): ElementNames {
  const label = netflow9Scopes[type] ?? `type.${type}`;
  const fallback = { name: `flow.scope.${label}`, convert: toUnsigned, hexName: `flow.hex.scope.${label}` };
  return { names: [{ name: fallback.name, convert: toUnsigned, preference: 0 }], fallback, takesEmpty: false };
}

/** The names of an element in the reverse direction. */
export function reverseNames(forward: ElementNames): ElementNames {
  return namesBelow("flow.reverse.", forward);
}

/** Selects one of several headers around one another: the outermost, or the second of three. */
export type OuterHeader = "outer" | "middle";

const protocolIdentifier = 4;

/**
 * The names of an element of a header around that of the flow: `flow.outer.` or `flow.middle.` before what remains of the
 * name without its `flow.`. The protocol of the outermost one names the kind of tunnel, too.
 */
export function outerNames(inner: ElementNames, id: number, header: OuterHeader): ElementNames {
  const outer = namesBelow(`flow.${header}.`, inner);
  if (id !== protocolIdentifier || header !== "outer") return outer;
  const tunnel = { name: "flow.tunnel.type.name", convert: convertField.tunnelTypeName, preference: 0 };
  return { ...outer, names: [...outer.names, tunnel] };
}

function namesBelow(prefix: string, { names, fallback, takesEmpty }: ElementNames): ElementNames {
  const below = (name: string): string => prefix + name.replace(/^flow\./, "");
  return {
    names: names.map(({ name, convert, preference }) => ({ name: below(name), convert, preference })),
    fallback: { ...fallback, name: below(fallback.name), hexName: below(fallback.hexName) },
    takesEmpty,
  };
}

function converter(element: InformationElement | undefined, conversion: Conversion): Convert {
  if (conversion !== "value") return convertField[conversion];
  return element === undefined ? toHex : convertType[element.type];
}
