import type { JsonSchema } from "../methods/shape.ts";
import { type DescField, type DescFile, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";

/** Field numbers in the path of a source location (google/protobuf/descriptor.proto). */
const messageInFile = 4;
const serviceInFile = 6;
const fieldInMessage = 2;
const methodInService = 2;

/** The comment above a declaration, without markup; empty when there is none. Top-level messages only. */
export function commentOf(desc: DescMessage | DescField | DescMethod): string {
  switch (desc.kind) {
    case "message":
      return lookUp(desc.file, messagePath(desc));
    case "field":
      return lookUp(desc.parent.file, [...messagePath(desc.parent), fieldInMessage, desc.parent.fields.indexOf(desc)]);
    case "rpc":
    default: {
      const { file, methods } = desc.parent;
      const path = [serviceInFile, file.services.indexOf(desc.parent), methodInService, methods.indexOf(desc)];
      return lookUp(file, path);
    }
  }
}

function messagePath(desc: DescMessage): number[] {
  return [messageInFile, desc.file.messages.indexOf(desc)];
}

function lookUp(file: DescFile, path: readonly number[]): string {
  const locations = file.proto.sourceCodeInfo?.location ?? [];
  const found = locations.find((location) => location.path.join() === path.join());
  return (found?.leadingComments ?? "")
    .split("\n")
    .map((line) => line.trim())
    .join("\n")
    .trim();
}

/** The body of every error. */
export const errorSchema: JsonSchema = {
  type: "object",
  required: ["code"],
  properties: {
    code: {
      type: "string",
      enum: [
        "invalid_argument",
        "not_found",
        "already_exists",
        "failed_precondition",
        "unauthenticated",
        "permission_denied",
        "resource_exhausted",
        "unimplemented",
        "unavailable",
        "deadline_exceeded",
        "internal",
      ],
    },
    message: { type: "string", description: "What is wrong, in a sentence." },
    details: {
      type: "array",
      description: "google.rpc.ErrorInfo and, when fields are at fault, google.rpc.BadRequest.",
      items: {
        type: "object",
        required: ["type", "value"],
        properties: {
          type: { type: "string", examples: ["google.rpc.BadRequest"] },
          value: { type: "string", contentEncoding: "base64", description: "The message, serialised." },
          debug: { description: "The same message as JSON." },
        },
      },
    },
  },
};

/** The name of a message among the schemas of the document. */
export function schemaName(desc: DescMessage): string {
  return desc.typeName === FieldMaskSchema.typeName ? "FieldMask" : desc.name;
}

export function schemaRef(desc: DescMessage): JsonSchema {
  return { $ref: `#/components/schemas/${schemaName(desc)}` };
}

/** The JSON form of a message: as requests may carry it and answers do. */
export function messageSchema(desc: DescMessage): JsonSchema {
  if (desc.typeName === FieldMaskSchema.typeName) return fieldMaskSchema;
  return {
    type: "object",
    description: commentOf(desc),
    properties: Object.fromEntries(desc.fields.map((field) => [field.jsonName, fieldSchema(field)])),
    additionalProperties: false,
  };
}

/** The messages reachable from those given, themselves included. */
export function reachableMessages(roots: readonly DescMessage[]): readonly DescMessage[] {
  const found = new Map<string, DescMessage>();
  const add = (desc: DescMessage): void => {
    if (found.has(desc.typeName)) return;
    found.set(desc.typeName, desc);
    if (desc.typeName === FieldMaskSchema.typeName) return;
    for (const field of desc.fields) if (field.message !== undefined) add(field.message);
  };
  roots.forEach(add);
  return [...found.values()];
}

const fieldMaskSchema: JsonSchema = {
  description: 'Names of fields: `"name,tags"` or `{"paths": ["name", "tags"]}`. Empty or `*` stands for all.',
  examples: ["name,tags", { paths: ["name", "tags"] }],
  oneOf: [
    { type: "string" },
    {
      type: "object",
      properties: { paths: { type: "array", items: { type: "string" } } },
      additionalProperties: false,
    },
  ],
};

function fieldSchema(field: DescField): JsonSchema {
  const description = commentOf(field);
  switch (field.fieldKind) {
    case "message":
      return { ...schemaRef(field.message), description };
    case "list":
      return {
        type: "array",
        description,
        items: field.message ? schemaRef(field.message) : scalarSchema(field.scalar),
      };
    case "map":
      return { type: "object", description, additionalProperties: scalarSchema(field.scalar) };
    case "enum":
      return { type: "string", description, enum: field.enum.values.map(({ name }) => name) };
    case "scalar":
    default:
      return { ...scalarSchema(field.scalar), description };
  }
}

function scalarSchema(scalar: ScalarType | undefined): JsonSchema {
  if (scalar === ScalarType.BOOL) return { type: "boolean" };
  if (scalar === ScalarType.INT32) return { type: "integer", format: "int32" };
  if (scalar === ScalarType.UINT32) return { type: "integer", minimum: 0, maximum: 4_294_967_295 };
  if (scalar !== ScalarType.UINT64) return { type: "string" };
  return {
    description: "Up to 18446744073709551615. Answers carry a string.",
    oneOf: [
      { type: "string", pattern: "^[0-9]{1,20}$" },
      { type: "integer", minimum: 0 },
    ],
  };
}
