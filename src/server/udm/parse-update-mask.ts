import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { maxItems, udmFields, type UdmField } from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import type { FieldViolation } from "../error/api-error.ts";

/**
 * The fields that an update changes: undefined for all of them (no mask, an empty one, or `*`), else those named,
 * without `key`, which does nothing in a mask. A mask of `key` alone is a list of none.
 *
 * @param more names that the method takes besides, for the message.
 * @returns violations, their field ending in the given path, for what names no field.
 */
export function parseUpdateMask(
  mask: FieldMask | undefined,
  path: string,
  more: readonly string[] = [],
): { fields: readonly UdmField[] | undefined } | { violations: FieldViolation[] } {
  const paths = mask?.paths ?? [];
  if (paths.length === 0 || (paths.length === 1 && paths[0] === "*")) return { fields: undefined };
  if (paths.length > maxItems) {
    return { violations: [{ field: path, description: `${path} has ${paths.length} names, more than ${maxItems}` }] };
  }
  const known = new Set<string>(udmFields);
  const bad = [...new Set(paths)].filter((name) => name !== "key" && !known.has(name));
  if (bad.length > 0) {
    return { violations: bad.map((name) => ({ field: path, description: describe(name, more) })) };
  }
  return { fields: udmFields.filter((field) => paths.includes(field)) };
}

function describe(name: string, more: readonly string[]): string {
  if (name === "*") return '"*" must stand alone';
  const root = name.split(".")[0] ?? "";
  if (name.includes(".") && (udmFields as readonly string[]).includes(root)) {
    return `${quote(name)} is a path below a field: name the field ${root} itself`;
  }
  return `${quote(name)} is not a field: expected ${[...udmFields, ...more].join(", ")}`;
}
