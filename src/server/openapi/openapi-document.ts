import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { JsonSchema } from "../methods/shape.ts";
import {
  messageSchema,
  reachableMessages,
  schemaName,
  schemaRef,
  anyObject,
  jsonResponse,
  refusals,
  idParameter,
  pageId,
  errorSchema,
  commentOf,
} from "./schemas.ts";
import { type Operation, sourcePath } from "../methods/operations.ts";
import type { StreamDescription } from "../pages.ts";
import { pagePaths } from "./page-paths.ts";
import { applyDefinitionsPath, discoverNetworksPath, rediscoverDevicePath } from "../methods/snmp-endpoints.ts";
import { explorePaths } from "./explore-paths.ts";

function snmpPaths(applyDefinitions: string, rediscoverDevice: string): JsonSchema {
  return {
    [applyDefinitions]: {
      post: {
        tags: ["snmp"],
        operationId: "applySnmpDefinitions",
        summary: "Reads all SNMP definition files again and puts them to use",
        description: "All files are validated first: with any error the set in use stays, and every finding is listed.",
        parameters: [
          {
            name: "force_rediscovery",
            in: "query",
            description: "Whether devices whose definitions have changed are rediscovered.",
            schema: { type: "boolean", default: false },
          },
        ],
        responses: {
          "200": jsonResponse("In use.", anyObject),
          "422": { $ref: "#/components/responses/Error" },
          "503": { $ref: "#/components/responses/Error" },
          ...refusals,
        },
      },
    },
    [rediscoverDevice]: {
      post: {
        tags: ["snmp"],
        operationId: "rediscoverSnmpDevice",
        summary: "Begins the rediscovery of one device, or joins one under way",
        parameters: [
          {
            name: "wait",
            in: "query",
            description: "Seconds to wait for the outcome.",
            schema: { type: "integer", minimum: 0, maximum: 600 },
          },
        ],
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: {
                type: "object",
                required: ["ip", "port"],
                properties: {
                  ip: { type: "string", examples: ["192.0.2.1"] },
                  port: { type: "integer", minimum: 1, maximum: 65535 },
                },
                additionalProperties: false,
              },
            },
          },
        },
        responses: {
          "200": jsonResponse("The outcome, when it was waited for.", anyObject),
          "202": jsonResponse("Under way.", anyObject),
          "404": { $ref: "#/components/responses/Error" },
          "503": { $ref: "#/components/responses/Error" },
          ...refusals,
        },
      },
    },
  };
}

function searchPath(discoverNetworks: string): JsonSchema {
  const parameter = (name: string, description: string, schema: JsonSchema): JsonSchema => ({
    name,
    in: "query",
    description,
    schema,
  });
  return {
    [discoverNetworks]: {
      post: {
        tags: ["snmp"],
        operationId: "discoverSnmpNetworks",
        summary: "Searches networks for SNMP devices",
        description: "What is found is written as device files and polled. One search runs at a time.",
        parameters: [
          parameter("dry_run", "Writes nothing.", { type: "boolean", default: false }),
          parameter("network", "A network by its name; several may be given. Default: all.", {
            type: "array",
            items: { type: "string" },
          }),
          parameter("wait", "Seconds to wait for the report.", { type: "integer", minimum: 0, maximum: 600 }),
        ],
        responses: {
          "200": jsonResponse("The report, when it was waited for.", anyObject),
          "202": jsonResponse("Under way.", anyObject),
          "400": { $ref: "#/components/responses/Error" },
          "503": { $ref: "#/components/responses/Error" },
          ...refusals,
        },
      },
    },
  };
}

/** The operations on sources of metadata: their paths with what they do. */
function sourcePaths(operations: readonly (readonly [path: string, name: string, summary: string])[]): JsonSchema {
  const schema: JsonSchema = {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string", examples: ["netbox"] } },
    additionalProperties: false,
  };
  return Object.fromEntries(
    operations.map(([path, name, summary]) => [
      path,
      {
        post: {
          tags: ["metadata"],
          operationId: name,
          summary,
          requestBody: { required: true, content: { "application/json": { schema } } },
          responses: {
            "200": jsonResponse("The source, or what would change.", anyObject),
            "404": { $ref: "#/components/responses/Error" },
            "503": { $ref: "#/components/responses/Error" },
            ...refusals,
          },
        },
      },
    ]),
  );
}

/** Operations without a body, by path. */
function operationPaths(operations: ReadonlyMap<string, Operation>): JsonSchema {
  return Object.fromEntries(
    Array.from(operations, ([path, { summary, area, schema }]) => {
      const hasId = path.split("/").includes("{id}");
      const responses = {
        "200": jsonResponse("The outcome.", schema),
        ...(hasId && { "404": { $ref: "#/components/responses/Error" } }),
        ...refusals,
      };
      const operation = { tags: [area], operationId: pageId("run", path), summary, responses };
      return [path, { post: { ...operation, ...(hasId && { parameters: [idParameter] }) } }];
    }),
  );
}

export interface OpenApiParts {
  readonly version: string;
  /** With the comments of the schema. */
  readonly services: readonly DescService[];
  /** Where the services are: `/api/v1/enrich/ipaddr`. */
  readonly prefix: string;
  /** Whether anybody has to prove who they are. */
  readonly isGuarded: boolean;
  readonly proofs: readonly ("password" | "token")[];
  /** The name of the cookie of who signed in at an issuer; undefined: nobody can. */
  readonly sessionCookie: string | undefined;
  /** Whether /metrics asks for credentials too. */
  readonly authMetrics: boolean;
  /** Paths of further read-only views. */
  readonly views: readonly string[];
  readonly streams: ReadonlyMap<string, StreamDescription>;
  readonly operations: ReadonlyMap<string, Operation>;
  /** Whether changes of the metadata can be followed. */
  readonly hasEvents: boolean;
}

/** The OpenAPI 3.1 document of everything that the port answers over HTTP with JSON. */
export function openApiDocument(parts: OpenApiParts): JsonSchema {
  const { prefix } = parts;
  const schemes = securitySchemes(parts);
  // A stream has no form as a JSON body.
  const methods = parts.services.flatMap((service) =>
    service.methods.filter(({ methodKind }) => methodKind === "unary"),
  );
  const messages = reachableMessages(methods.flatMap(({ input, output }) => [input, output]));
  return {
    openapi: "3.1.0",
    info: {
      title: "netgloss",
      version: parts.version,
      summary: "Metadata on IP addresses, and SNMP operations.",
      description:
        "The methods of UdmService and UdmToolsService are also served at the root, and by Connect, gRPC-Web and gRPC on the same port.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    ...(parts.isGuarded ? { security: Object.keys(schemes).map((name) => ({ [name]: [] })) } : {}),
    tags: [
      { name: "metadata", description: "User-defined metadata on addresses, prefixes and ranges." },
      { name: "snmp", description: "Operations on SNMP definitions and devices." },
      { name: "collector", description: "The state of the collector." },
    ],
    paths: {
      ...Object.fromEntries(
        methods.map((method) => [`${prefix}/${method.parent.typeName}/${method.name}`, { post: methodPath(method) }]),
      ),
      ...snmpPaths(applyDefinitionsPath, rediscoverDevicePath),
      ...searchPath(discoverNetworksPath),
      ...sourcePaths([
        [sourcePath("run"), "runSource", "Reads a source of metadata now"],
        [sourcePath("diff"), "diffSource", "Says what a source of metadata would change now"],
        [sourcePath("accept"), "acceptSource", "Takes what is held of a source of metadata"],
      ]),
      ...operationPaths(parts.operations),
      ...explorePaths(),
      ...pagePaths(parts),
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
      ...(parts.isGuarded ? { securitySchemes: schemes } : {}),
    },
  };
}

/** What proves who asks, one of which is enough. */
function securitySchemes({ proofs, sessionCookie }: OpenApiParts): JsonSchema {
  return {
    ...(proofs.includes("password") && { basic: { type: "http", scheme: "basic" } }),
    ...(proofs.includes("token") && { token: { type: "http", scheme: "bearer" } }),
    ...(sessionCookie !== undefined && { session: { type: "apiKey", in: "cookie", name: sessionCookie } }),
  };
}

function methodPath(method: DescMethod): JsonSchema {
  const comment = commentOf(method);
  return {
    tags: ["metadata"],
    operationId: method.name,
    summary: comment.split(/[;.:](?:\s|$)/)[0],
    description: comment,
    requestBody: { required: true, content: { "application/json": { schema: schemaRef(method.input) } } },
    responses: {
      "200": { description: "Done.", content: { "application/json": { schema: schemaRef(method.output) } } },
      "401": { $ref: "#/components/responses/Unauthenticated" },
      default: { $ref: "#/components/responses/Error" },
    },
  };
}
