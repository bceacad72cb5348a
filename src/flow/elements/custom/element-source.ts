import { convertType } from "../mapping/convert-type.ts";
import {
  registeredElements,
  reverseNames,
  type ElementNames,
  type ElementSource,
  fieldNames,
} from "../mapping/element-names.ts";
import { elementKey, reversePen } from "../registry/registry.ts";
import type { CustomElement } from "./custom-element.ts";

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

/** Where a name of ours is wanted, elements of ours have it first. */
function namesOf({ pen, id, name, type }: CustomElement, preference: number): ElementNames {
  const convert = convertType[type];
  const { fallback } = registeredElements.names(pen, id);
  const takesEmpty = type === "string";
  if (name.includes("."))
    return { names: [{ name, convert, preference }], fallback: { ...fallback, convert }, takesEmpty };
  const own = { name: `flow.ie.${name}`, convert };
  return { names: [{ ...own, preference }], fallback: { ...own, hexName: `flow.hex.${name}` }, takesEmpty };
}
