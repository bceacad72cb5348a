import type { DataType, InformationElement } from "../registry/information-element.ts";
import { findElement, reversePen } from "../registry/registry.ts";
import { convertField } from "./convert-field.ts";
import { convertType, toHex, toUnsigned } from "./convert-type.ts";
import { fieldNames, type Conversion } from "./field-names.ts";
import type { Convert } from "./field-source.ts";
import { taggedNames, type TaggedName } from "./tagged-elements.ts";

/** A name that an element may have in a record. */
export interface ElementName {
  readonly name: string;
  readonly convert: Convert;
  /** Lower is better, where several elements claim the name. */
  readonly preference: number;
}

/** Where a value goes that cannot go under a name of ours, so that it is not lost. */
export interface Fallback {
  /** `flow.ie.…`, for the element's plain value. */
  readonly name: string;
  readonly convert: Convert;
  /** `flow.hex.…`, for bytes that are no value of the element's type: a name never changes its JSON type. */
  readonly hexName: string;
}

/** How an element appears in records. */
export interface ElementNames {
  /** At least one. The first has the value, the others are derived from it. */
  readonly names: readonly ElementName[];
  readonly fallback: Fallback;
  /** Whether zero bytes are a value: the empty string is, an integer of no bytes is absent. */
  readonly takesEmpty: boolean;
  /** Further names for some of the values, of each field that is this element. */
  readonly tagged?: readonly TaggedName[] | undefined;
}

/** Where plans find what elements are called and what type they have: the registries, with what the user adds. */
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

/** Which of several headers around one another: the outermost, or the second of three. */
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
