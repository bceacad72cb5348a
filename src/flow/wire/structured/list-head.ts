import type { ListStructure } from "../../elements/registry/information-element.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";

/** What the head of a basicList or subTemplateList says (RFC 6313 section 4.5), and where its content is. */
export interface ListHead {
  /** Of a basicList. */
  readonly element: FieldSpecifier | undefined;
  /** Of a subTemplateList. */
  readonly template: number;
  readonly at: number;
  readonly length: number;
}

const enterpriseBit = 0x8000;
const none = 0;

/** @returns undefined when the list is shorter than its head, or a subTemplateMultiList, whose parts have heads of their own. */
export function readListHead(
  structure: ListStructure,
  view: DataView,
  at: number,
  length: number,
): ListHead | undefined {
  if (structure === "subTemplateList") {
    if (length < 3) return undefined;
    return { element: undefined, template: view.getUint16(at + 1), at: at + 3, length: length - 3 };
  }
  if (structure !== "basicList" || length < 5) return undefined;
  const id = view.getUint16(at + 1);
  const hasPen = id >= enterpriseBit;
  const head = hasPen ? 9 : 5;
  if (length < head) return undefined;
  const pen = hasPen ? view.getUint32(at + 5) : 0;
  const element = { pen, id: hasPen ? id - enterpriseBit : id, length: view.getUint16(at + 3) };
  return { element, template: none, at: at + head, length: length - head };
}
