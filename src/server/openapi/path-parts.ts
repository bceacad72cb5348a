import type { JsonSchema } from "./message-schema.ts";

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

/** What any method may answer with. */
export const refusals: JsonSchema = {
  "401": { $ref: "#/components/responses/Unauthenticated" },
  default: { $ref: "#/components/responses/Error" },
};

export function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { "application/json": { schema } } };
}

export const anyObject: JsonSchema = { type: "object", additionalProperties: true };

/** The parameter of paths like `/things/{id}`. */
export const idParameter: JsonSchema = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** The id of an operation by its path: `viewSnmpDevices`. */
export function pageId(kind: string, path: string): string {
  return kind + path.replace(/[^A-Za-z0-9]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
}
