import { callbackPath } from "../guard/session-cookie.ts";
import { loginPath, logoutPath, sessionPath, signInWaysPath } from "../services/sign-in-endpoints.ts";
import type { ViewDescription } from "../pages.ts";
import type { Operation } from "../services/operation-endpoint.ts";
import { eventsPath } from "../tools/changes/event-stream.ts";
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

const refusals: JsonSchema = {
  "401": { $ref: "#/components/responses/Unauthenticated" },
  default: { $ref: "#/components/responses/Error" },
};

function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { "application/json": { schema } } };
}

const anyObject: JsonSchema = { type: "object", additionalProperties: true };

export function snmpPaths(applyDefinitions: string, rediscoverDevice: string): JsonSchema {
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

export function searchPath(discoverNetworks: string): JsonSchema {
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
export function sourcePaths(
  operations: readonly (readonly [path: string, name: string, summary: string])[],
): JsonSchema {
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
export function operationPaths(operations: ReadonlyMap<string, Operation>): JsonSchema {
  return Object.fromEntries(
    Array.from(operations, ([path, { summary, area, schema }]) => {
      const hasId = path.split("/").includes("{id}");
      const responses = {
        "200": jsonResponse("What came of it.", schema),
        ...(hasId && { "404": { $ref: "#/components/responses/Error" } }),
        ...refusals,
      };
      const operation = { tags: [area], operationId: pageId("run", path), summary, responses };
      return [path, { post: { ...operation, ...(hasId && { parameters: [idParameter] }) } }];
    }),
  );
}

const idParameter: JsonSchema = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** What the document says of a page whose answer goes on. */
export interface StreamDescription {
  readonly summary: string;
  /** What may stand in the query, with what it means. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface PageParts {
  /** Whether anybody has to prove who they are. */
  readonly isGuarded: boolean;
  /** Undefined: nobody can sign in at an issuer. */
  readonly sessionCookie: string | undefined;
  readonly authMetrics: boolean;
  /** Paths of views. */
  readonly views: readonly string[];
  readonly streams: ReadonlyMap<string, StreamDescription>;
  readonly viewDescriptions: ReadonlyMap<string, ViewDescription>;
  /** Whether changes can be followed. */
  readonly hasEvents: boolean;
}

function pageId(kind: string, path: string): string {
  return kind + path.replace(/[^A-Za-z0-9]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
}

export function pagePaths({
  isGuarded,
  sessionCookie,
  authMetrics,
  views,
  viewDescriptions,
  streams,
  hasEvents,
}: PageParts): JsonSchema {
  const open = isGuarded ? { security: [] } : {};
  const guarded: JsonSchema = isGuarded ? { "401": refusals["401"] } : {};
  const readiness: JsonSchema = {
    type: "object",
    required: ["ready", "degraded", "checks"],
    properties: {
      ready: { type: "boolean" },
      degraded: { type: "boolean", description: "It is ready, but not all of it works: the checks say what." },
      checks: {
        type: "array",
        items: {
          type: "object",
          required: ["name", "ready"],
          properties: {
            name: { type: "string" },
            ready: { type: "boolean" },
            degraded: { type: "boolean" },
            detail: { type: "string" },
          },
        },
      },
    },
  };
  const page = (operationId: string, summary: string, responses: JsonSchema, rest: JsonSchema = {}): JsonSchema => ({
    get: { tags: ["collector"], operationId, summary, responses, ...rest },
  });
  const metricsAuth = authMetrics ? guarded : {};
  const viewPaths = views.map((path) => {
    const hasId = path.split("/").includes("{id}");
    const missing: JsonSchema = hasId ? { "404": { $ref: "#/components/responses/Error" } } : {};
    const parameters = [idParameter];
    const { summary = `The state at ${path}`, schema = {} } = viewDescriptions.get(path) ?? {};
    const responses = { "200": jsonResponse("The state.", schema), ...missing, ...guarded };
    return [path, page(pageId("view", path), summary, responses, hasId ? { parameters } : {})];
  });
  return {
    "/livez": page("livez", "Whether the process runs", { "200": jsonResponse("It does.", anyObject) }, open),
    "/readyz": page(
      "readyz",
      "Whether the collector is ready, check by check",
      { "200": jsonResponse("Ready.", readiness), "503": jsonResponse("Not ready.", readiness) },
      open,
    ),
    "/metrics": page(
      "metrics",
      "Metrics in the Prometheus text format",
      {
        "200": { description: "The metrics.", content: { "text/plain": { schema: { type: "string" } } } },
        ...metricsAuth,
      },
      authMetrics ? {} : open,
    ),
    ...(hasEvents ? { [eventsPath]: page("watchUdms", ...eventsDescription(guarded)) } : {}),
    "/": page(
      "index",
      "For programs a list of paths, for browsers the pages",
      { "200": jsonResponse("The list.", anyObject) },
      open,
    ),
    ...(sessionCookie === undefined ? {} : signInPaths(page)),
    [sessionPath]: page("session", "Who asks, and what they may do", {
      "200": jsonResponse("The user.", anyObject),
      ...guarded,
    }),
    [signInWaysPath]: page(
      "signInWays",
      "How people prove who they are",
      { "200": jsonResponse("The ways.", signInWaysSchema) },
      open,
    ),
    "/openapi.json": page("openapi", "This document", { "200": jsonResponse("OpenAPI 3.1.", anyObject), ...guarded }),
    ...(Object.fromEntries(viewPaths) as JsonSchema),
    ...Object.fromEntries(
      Array.from(streams, ([path, { summary, parameters }]) => {
        const named = Object.entries(parameters).map(([name, description]) => ({
          name,
          in: "query",
          description,
          schema: { type: "string" },
        }));
        const content = { "application/x-ndjson": { schema: anyObject }, "text/event-stream": { schema: anyObject } };
        const responses = { "200": { description: "A line for each.", content }, ...refusals };
        return [path, page(pageId("stream", path), summary, responses, { parameters: named })];
      }),
    ),
  };
}

/** What a browser needs to sign in at the issuer. */
function signInPaths(
  page: (id: string, summary: string, responses: JsonSchema, rest: JsonSchema) => JsonSchema,
): JsonSchema {
  const failure = { $ref: "#/components/responses/Error" };
  const moved = (description: string): JsonSchema => ({
    "302": {
      description,
      headers: { Location: { schema: { type: "string" } }, "Set-Cookie": { schema: { type: "string" } } },
    },
  });
  const parameter = (name: string, description: string): JsonSchema => ({
    name,
    in: "query",
    description,
    schema: { type: "string" },
  });
  const refused = { "400": failure, "403": failure, "503": failure };
  const loggedOut = {
    description: "There is no session any more.",
    headers: { "Set-Cookie": { schema: { type: "string" } } },
  };
  return {
    [loginPath]: page(
      "login",
      "Sends the browser to the issuer",
      { ...moved("To the issuer."), ...refused },
      {
        security: [],
        parameters: [parameter("to", "The path where the browser goes at the end; /session when left out.")],
      },
    ),
    [callbackPath]: page(
      "loginCallback",
      "Where the issuer sends the browser back to",
      { ...moved("To where the sign-in was to end."), ...refused },
      {
        security: [],
        parameters: ["code", "state", "error"].map((name) => parameter(name, "As the issuer sends it.")),
      },
    ),
    [logoutPath]: {
      post: {
        tags: ["collector"],
        operationId: "logout",
        summary: "Ends the session of the cookie",
        responses: { "204": loggedOut, "403": failure },
        security: [],
      },
    },
  };
}

const signInWaysSchema: JsonSchema = {
  type: "object",
  required: ["required", "ways"],
  properties: {
    required: { type: "boolean", description: "Whether anybody has to." },
    ways: { type: "array", items: { enum: ["password", "token", "issuer"] } },
  },
};

function eventsDescription(guarded: JsonSchema): [summary: string, responses: JsonSchema, rest: JsonSchema] {
  const parameter = (name: string, where: string, description: string): JsonSchema => ({
    name,
    in: where,
    description,
    schema: { type: "string" },
  });
  const events = { description: "Events.", content: { "text/event-stream": { schema: { type: "string" } } } };
  const parameters = [
    parameter("after", "query", "Changes with higher numbers come first; without it the stream begins now."),
    parameter("filter", "query", "Only changes of entries that this filter is true of."),
    parameter("without_layers", "query", "`true` leaves out what sources change."),
    parameter("Last-Event-ID", "header", "As `after`, before it."),
  ];
  const responses = { "200": events, default: { $ref: "#/components/responses/Error" }, ...guarded };
  return ["Changes of the metadata as server-sent events", responses, { parameters }];
}
