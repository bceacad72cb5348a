import type { FoundValues } from "./data-reader.ts";
import type { FieldWriter } from "./field-writer.ts";

/** Longer texts are no names of places or organisations. */
const maxText = 255;
/** A byte of a text is at most six in JSON (`\u0001`), and UTF-8 has at most three bytes for a unit of a text. */
export const maxNameBytes = 6 * 3 * maxText + 2;
/** The name of a field is no longer, with its quotes, comma and colon. */
export const maxStart = 64;

/** Whether the text in a slot is a name. */
export function isName(found: FoundValues, slot: number): boolean {
  const length = found.length(slot);
  if (length === 0 || length > 3 * maxText) return false;
  const start = found.start(slot);
  return length <= maxText || found.bytes.toString("utf8", start, start + length).length <= maxText;
}

export function writeText(found: FoundValues, slot: number, into: FieldWriter): void {
  const start = found.start(slot);
  into.text(found.bytes, start, start + found.length(slot));
}

/** The starts of fields below an object, as they stand in a line. */
export function starts<Name extends string>(
  object: string,
  suffixes: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Uint8Array>> {
  const entries = Object.entries<string>(suffixes);
  return Object.fromEntries(
    entries.map(([name, suffix]) => [name, Buffer.from(`,${JSON.stringify(object + suffix)}:`)]),
  ) as unknown as Record<Name, Uint8Array>;
}
