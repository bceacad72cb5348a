import { create, ScalarType, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { JsonFieldError } from "./json-field-error.ts";
import { quote, type JsonNode, type TakeItem } from "./parse-json.ts";
import { readFieldMask } from "./read-field-mask.ts";
import { readUint64 } from "./read-uint64.ts";

/** What to do with a name that is not a field of the message. */
export type UnknownFields = "reject" | "ignore";

/**
 * Reads a request message from JSON by the rules of proto3 JSON, with two additions: a field mask may be an object of
 * paths, and 64-bit numbers are exact. Names are lowerCamelCase or as in the schema; null is the zero value.
 *
 * @throws JsonFieldError at the first thing that does not fit.
 */
export function readMessage<Desc extends DescMessage>(
  desc: Desc,
  node: JsonNode,
  unknownFields: UnknownFields,
): MessageShape<Desc> {
  return readObject(desc, node, "", unknownFields) as MessageShape<Desc>;
}

/** Reads a message whose lists of messages, right below the top, come item by item while the text is parsed. */
export interface MessageReader<Desc extends DescMessage> {
  /** Who takes the items of an array of this name; undefined when it is no list of messages. */
  takerOf(name: string): TakeItem | undefined;
  /**
   * @param node the rest, with empty arrays in the place of what was taken.
   * @throws JsonFieldError for what is wrong in the rest, else for the first wrong item.
   */
  finish(node: JsonNode): MessageShape<Desc>;
}

export function createMessageReader<Desc extends DescMessage>(
  desc: Desc,
  unknownFields: UnknownFields,
): MessageReader<Desc> {
  const lists: { readonly field: DescField; readonly items: unknown[]; error?: unknown }[] = [];
  return {
    takerOf(name) {
      const field = fieldsByJsonName(desc).get(name);
      if (field?.fieldKind !== "list" || field.message === undefined) return undefined;
      const list: (typeof lists)[number] = { field, items: [] };
      lists.push(list);
      return (item, index) => {
        if ("error" in list) return;
        try {
          list.items.push(readSingle(field.message, undefined, item, `${name}[${index}]`, unknownFields));
        } catch (error) {
          list.error = error;
        }
      };
    },
    finish(node) {
      const message = readMessage(desc, node, unknownFields);
      for (const list of lists) {
        if ("error" in list) throw list.error;
        (message as unknown as Record<string, unknown>)[list.field.localName] = list.items;
      }
      return message;
    },
  };
}

function readObject(desc: DescMessage, node: JsonNode, path: string, unknownFields: UnknownFields): object {
  if (!(node instanceof Map)) throw new JsonFieldError(path, "must be an object");
  const message = create(desc) as unknown as Record<string, unknown>;
  const seen = new Map<DescField, string>();
  for (const [name, value] of node as ReadonlyMap<string, JsonNode>) {
    const field = fieldsByJsonName(desc).get(name);
    if (field === undefined) {
      if (unknownFields === "ignore") continue;
      throw new JsonFieldError(path, `unknown field ${quote(name)}: expected one of ${expectedNames(desc)}`);
    }
    const other = seen.get(field);
    if (other !== undefined) throw new JsonFieldError(path, `${quote(other)} and ${quote(name)} are the same field`);
    seen.set(field, name);
    // Masks inside a batch mean nothing, by contract: whatever they hold must not fail the batch.
    if (value === null || (path !== "" && field.message?.typeName === FieldMaskSchema.typeName)) continue;
    message[field.localName] = readField(field, value, path === "" ? name : `${path}.${name}`, unknownFields);
  }
  return message;
}

function readField(field: DescField, node: JsonNode, path: string, unknownFields: UnknownFields): unknown {
  switch (field.fieldKind) {
    case "message":
      return readSingle(field.message, undefined, node, path, unknownFields);
    case "scalar":
      return readSingle(undefined, field.scalar, node, path, unknownFields);
    case "list": {
      if (!Array.isArray(node)) throw new JsonFieldError(path, "must be an array");
      return node.map((item: JsonNode, i) =>
        readSingle(field.message, field.scalar, item, `${path}[${i}]`, unknownFields),
      );
    }
    case "enum":
      throw unsupported(path);
    case "map":
    default:
      return readStringMap(node, path);
  }
}

function readSingle(
  message: DescMessage | undefined,
  scalar: ScalarType | undefined,
  node: JsonNode,
  path: string,
  unknownFields: UnknownFields,
): unknown {
  if (message?.typeName === FieldMaskSchema.typeName) return readFieldMask(node, path);
  if (message !== undefined) return readObject(message, node, path, unknownFields);
  if (scalar === ScalarType.UINT64) return readUint64(node, path);
  if (scalar === ScalarType.STRING) {
    if (typeof node !== "string") throw new JsonFieldError(path, "must be a string");
    return node;
  }
  if (scalar === ScalarType.BOOL) {
    if (typeof node !== "boolean") throw new JsonFieldError(path, "must be true or false");
    return node;
  }
  throw unsupported(path);
}

function readStringMap(node: JsonNode, path: string): Record<string, string> {
  if (!(node instanceof Map)) throw new JsonFieldError(path, "must be an object of strings");
  // Without a prototype `__proto__` is a key like any other.
  const values = Object.create(null) as Record<string, string>;
  for (const [key, value] of node as ReadonlyMap<string, JsonNode>) {
    if (typeof value !== "string") throw new JsonFieldError(`${path}[${quote(key)}]`, "must be a string");
    values[key] = value;
  }
  return values;
}

function unsupported(path: string): Error {
  return new Error(`the JSON reader has no rule for the type of field ${path}`);
}

const fieldMaps = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

function fieldsByJsonName(desc: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldMaps.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])));
    fieldMaps.set(desc, fields);
  }
  return fields;
}

function expectedNames(desc: DescMessage): string {
  const names = desc.fields.map((field) => JSON.stringify(field.name));
  return names.length === 0 ? "none" : names.join(", ");
}
