import type { Value } from "./record-fields.ts";

/** Fields as they stand in a line, each with a comma before it. For those that go into many lines alike. */
export type RenderedFields = Uint8Array;

/** Renders fields by the rules of {@link LineBuffer.append}. */
export function renderFields(fields: readonly (readonly [name: string, value: Value])[]): RenderedFields {
  return Buffer.from(fields.map(([name, value]) => renderField(name, value)).join(""));
}

/** The text of one of them. */
export function renderField(name: string, value: Value): string {
  return fieldStart(name) + renderValue(value);
}

/** What stands before the value of a field: a comma, the name, a colon. */
export function fieldStart(name: string): string {
  return `,${JSON.stringify(name)}:`;
}

export function renderValue(value: Value): string {
  if (typeof value === "object") return `[${value.map(renderValue).join(",")}]`;
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}
