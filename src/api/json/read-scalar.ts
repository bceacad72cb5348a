import { ScalarType, type DescEnum } from "@bufbuild/protobuf";
import { fieldError } from "./json-field-error.ts";
import { quote } from "../../text/index.ts";
import { JsonNumber, type JsonNode } from "./json-node.ts";
import { readInteger } from "./read-integer.ts";

const int32 = { min: -(1n << 31n), max: (1n << 31n) - 1n };
const uint32 = { min: 0n, max: (1n << 32n) - 1n };
const int64 = { min: -(1n << 63n), max: (1n << 63n) - 1n };
const uint64 = { min: 0n, max: (1n << 64n) - 1n };

/**
 * Reads a value that is no message, as proto3 JSON has it.
 *
 * @throws JsonFieldError
 */
export function readScalar(type: DescEnum | ScalarType | undefined, node: JsonNode, path: string): unknown {
  if (typeof type === "object") return readEnum(type, node, path);
  switch (type) {
    case ScalarType.STRING:
      if (typeof node !== "string") throw fieldError(path, "must be a string");
      return node;
    case ScalarType.BOOL:
      if (typeof node !== "boolean") throw fieldError(path, "must be true or false");
      return node;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return readInteger(node, path, uint64);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return readInteger(node, path, int64);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return Number(readInteger(node, path, uint32));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return Number(readInteger(node, path, int32));
    case ScalarType.BYTES:
      return readBytes(node, path);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
    case undefined:
    default:
      return readDouble(node, path);
  }
}

function readEnum(desc: DescEnum, node: JsonNode, path: string): number {
  if (node instanceof JsonNumber) return Number(readInteger(node, path, int32));
  const value = desc.values.find(({ name }) => name === node);
  if (value !== undefined) return value.number;
  throw fieldError(path, `must be one of ${desc.values.map(({ name }) => JSON.stringify(name)).join(", ")}`);
}

function readBytes(node: JsonNode, path: string): Uint8Array {
  if (typeof node === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(node)) return Buffer.from(node, "base64");
  throw fieldError(path, "must be bytes in base64");
}

function readDouble(node: JsonNode, path: string): number {
  if (!(node instanceof JsonNumber) && typeof node !== "string") throw fieldError(path, "must be a number");
  const text = typeof node === "string" ? node : node.text;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(value) && text !== "NaN") throw fieldError(path, `${quote(text)} is not a number`);
  return value;
}
