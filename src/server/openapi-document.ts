import {
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  ScalarType,
  type DescService,
} from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import type { JsonSchema } from "./methods/shape.ts";
import { describe, jsonBody, jsonResponse, refusals, scopeParameter, type Endpoint } from "./methods/endpoint.ts";

/** Field numbers in the path of a source location (google/protobuf/descriptor.proto). */
const messageInFile = 4;
const serviceInFile = 6;
const fieldInMessage = 2;
const methodInService = 2;

/** Returns the comment above a declaration, without markup; empty where there is none. It supports only top-level messages. */
function commentOf(desc: DescMessage | DescField | DescMethod): string {
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
const errorSchema: JsonSchema = {
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

/** Returns the name of a message among the schemas of the document. */
function schemaName(desc: DescMessage): string {
  return desc.typeName === FieldMaskSchema.typeName ? "FieldMask" : desc.name;
}

function schemaRef(desc: DescMessage): JsonSchema {
  return { $ref: `#/components/schemas/${schemaName(desc)}` };
}

/** Returns the JSON Schema of a message, for requests and answers. */
function messageSchema(desc: DescMessage): JsonSchema {
  if (desc.typeName === FieldMaskSchema.typeName) return fieldMaskSchema;
  return {
    type: "object",
    description: commentOf(desc),
    properties: Object.fromEntries(desc.fields.map((field) => [field.jsonName, fieldSchema(field)])),
    additionalProperties: false,
  };
}

/** Returns the messages reachable from the given ones, including these. */
function reachableMessages(roots: readonly DescMessage[]): readonly DescMessage[] {
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

/**
 * Returns the OpenAPI 3.1 document of all JSON over HTTP that the port serves.
 *
 * @param services the services with the comments of the schema. Their paths are below `prefix`.
 * @param scoped names of the services that also exist in each scope.
 * @param schemes the security schemes, one of which is enough; empty where no authentication is needed.
 */
export function openApiDocument(
  version: string,
  services: readonly DescService[],
  scoped: ReadonlySet<string>,
  prefix: string,
  endpoints: readonly Endpoint[],
  schemes: JsonSchema,
): JsonSchema {
  const isGuarded = Object.keys(schemes).length > 0;
  // A JSON body cannot represent a stream.
  const methods = services.flatMap((service) => service.methods.filter(({ methodKind }) => methodKind === "unary"));
  const messages = reachableMessages(methods.flatMap(({ input, output }) => [input, output]));
  return {
    openapi: "3.1.0",
    info: {
      title: "netgloss",
      version,
      summary: "Metadata on IP addresses, and SNMP operations.",
      description:
        "The methods of UdmService and UdmToolsService are also served at the root, and by Connect, gRPC-Web and gRPC on the same port.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    ...(isGuarded && { security: Object.keys(schemes).map((name) => ({ [name]: [] })) }),
    tags: [
      { name: "metadata", description: "User-defined metadata on addresses, prefixes and ranges." },
      { name: "snmp", description: "Operations on SNMP definitions and devices." },
      { name: "collector", description: "The state of the collector." },
    ],
    paths: {
      ...Object.fromEntries(
        methods.map((method) => [
          `${prefix}/${method.parent.typeName}/${method.name}`,
          { post: methodPath(method, scoped) },
        ]),
      ),
      ...Object.fromEntries(
        endpoints.flatMap((endpoint) =>
          endpoint.described === undefined
            ? []
            : [[endpoint.path, endpointPath(endpoint, endpoint.described, isGuarded)]],
        ),
      ),
    },
    components: {
      schemas: {
        ...Object.fromEntries(messages.map((message) => [schemaName(message), messageSchema(message)])),
        Error: errorSchema,
      },
      responses: {
        Error: {
          description: "The request was refused or failed; the code says why.",
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
        Unauthenticated: {
          description: "Credentials are missing or wrong.",
          headers: { "WWW-Authenticate": { schema: { type: "string" } } },
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      },
      ...(isGuarded && { securitySchemes: schemes }),
    },
  };
}

function endpointPath({ kind, access }: Endpoint, described: JsonSchema, isGuarded: boolean): JsonSchema {
  const verb = kind === "page" ? "get" : "post";
  if (!isGuarded) return { [verb]: described };
  if (access.role === undefined) return { [verb]: { ...described, security: [] } };
  const responses = described["responses"] as JsonSchema;
  return { [verb]: { ...described, responses: { ...responses, "401": refusals["401"] } } };
}

function methodPath(method: DescMethod, scoped: ReadonlySet<string>): JsonSchema {
  const comment = commentOf(method);
  const parameters = scoped.has(method.parent.typeName) ? { parameters: [scopeParameter] } : {};
  return describe(
    "metadata",
    // Two services may have methods of the same name.
    method.parent.file.proto.package === "udm.v1" ? method.name : `${method.parent.name}${method.name}`,
    comment.split(/[;.:](?:\s|$)/)[0] ?? "",
    { "200": jsonResponse("Done.", schemaRef(method.output)), ...refusals },
    { description: comment, ...parameters, ...jsonBody(schemaRef(method.input)) },
  );
}
