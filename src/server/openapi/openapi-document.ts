import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { JsonSchema } from "../methods/shape.ts";
import { messageSchema, reachableMessages, schemaName, schemaRef, errorSchema, commentOf } from "./schemas.ts";
import { describe, jsonBody, jsonResponse, refusals, type Endpoint } from "../methods/endpoint.ts";

/**
 * The OpenAPI 3.1 document of everything that the port answers over HTTP with JSON.
 *
 * @param services with the comments of the schema; they are below `prefix`.
 * @param schemes of what proves who asks, one of which is enough; none: nobody has to.
 */
export function openApiDocument(
  version: string,
  services: readonly DescService[],
  prefix: string,
  endpoints: readonly Endpoint[],
  schemes: JsonSchema,
): JsonSchema {
  const isGuarded = Object.keys(schemes).length > 0;
  // A stream has no form as a JSON body.
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
        methods.map((method) => [`${prefix}/${method.parent.typeName}/${method.name}`, { post: methodPath(method) }]),
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

function methodPath(method: DescMethod): JsonSchema {
  const comment = commentOf(method);
  return describe(
    "metadata",
    method.name,
    comment.split(/[;.:](?:\s|$)/)[0] ?? "",
    { "200": jsonResponse("Done.", schemaRef(method.output)), ...refusals },
    { description: comment, ...jsonBody(schemaRef(method.input)) },
  );
}
