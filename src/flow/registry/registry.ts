import { ianaElements } from "./iana-elements.gen.ts";
import type { ElementRow, InformationElement } from "./information-element.ts";
import { netflow9Elements } from "./netflow9-elements.ts";
import { vendorElements } from "./vendor-elements.gen.ts";

/** The private enterprise number under which an IANA element speaks of the reverse direction (RFC 5103 section 6.1). */
export const reversePen = 29_305;

const elements = new Map<number, InformationElement>();
addAll(0, ianaElements);
addAll(0, netflow9Elements);
for (const [pen, rows] of vendorElements) addAll(pen, rows);

/**
 * The element of this number; undefined when no registry here has it.
 *
 * @param pen private enterprise number, 0 for IANA and for everything of NetFlow v9.
 */
export function findElement(pen: number, id: number): InformationElement | undefined {
  return elements.get(elementKey(pen, id));
}

/** All known elements, IANA's first. */
export function knownElements(): Iterable<InformationElement> {
  return elements.values();
}

/** One number for both, exact: 32 bits of enterprise and 16 of id. */
export function elementKey(pen: number, id: number): number {
  return pen * 0x10000 + id;
}

function addAll(pen: number, rows: readonly ElementRow[]): void {
  for (const [id, name, type, semantics, units] of rows) {
    elements.set(elementKey(pen, id), { pen, id, name, type, semantics, units });
  }
}
