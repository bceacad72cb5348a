import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema, type FieldMask } from "@bufbuild/protobuf/wkt";
import { fieldError } from "./json-field-error.ts";
import { quote } from "../../text/index.ts";
import type { JsonNode } from "./json-node.ts";

/**
 * Reads a field mask in either form: `"name,tags"`, blanks around commas allowed, or `{"paths": ["name", "tags"]}`.
 * Whether the paths name fields is for the service to say.
 *
 * @throws JsonFieldError
 */
export function readFieldMask(node: JsonNode, field: string): FieldMask {
  if (typeof node === "string") {
    const paths = node.trim() === "" ? [] : node.split(",").map((path) => path.trim());
    return create(FieldMaskSchema, { paths });
  }
  if (!(node instanceof Map)) {
    throw fieldError(field, 'must be a string "name,tags" or an object {"paths": ["name", "tags"]}');
  }
  for (const name of node.keys()) {
    if (name !== "paths") throw fieldError(field, `unknown field ${quote(String(name))}: expected "paths"`);
  }
  const paths = (node as ReadonlyMap<string, JsonNode>).get("paths") ?? [];
  if (!Array.isArray(paths)) throw fieldError(`${field}.paths`, "must be an array of strings");
  return create(FieldMaskSchema, {
    paths: paths.map((path: JsonNode, i) => {
      if (typeof path !== "string") throw fieldError(`${field}.paths[${i}]`, "must be a string");
      return path;
    }),
  });
}
