import { callbackPath } from "../auth/authenticator.ts";
import { loginPath, logoutPath, sessionPath, signInWaysPath } from "../methods/sign-in-endpoints.ts";
import type { JsonSchema } from "../methods/shape.ts";
import { anyObject, idParameter, jsonResponse, pageId, refusals } from "./schemas.ts";
import type { StreamDescription } from "../pages.ts";
import { methodAt } from "../methods/collector-methods.ts";
import { eventsPath } from "../tools/watch-udms.ts";

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

/** How people prove who they are. */
const signInWaysSchema: JsonSchema = {
  type: "object",
  required: ["required", "ways"],
  properties: {
    required: { type: "boolean", description: "Whether anybody has to." },
    ways: { type: "array", items: { enum: ["password", "token", "issuer"] } },
  },
};

export interface PageParts {
  /** Whether anybody has to prove who they are. */
  readonly isGuarded: boolean;
  /** Undefined: nobody can sign in at an issuer. */
  readonly sessionCookie: string | undefined;
  readonly authMetrics: boolean;
  /** Paths of views. */
  readonly views: readonly string[];
  readonly streams: ReadonlyMap<string, StreamDescription>;
  /** Whether changes can be followed. */
  readonly hasEvents: boolean;
}

export function pagePaths({ isGuarded, sessionCookie, authMetrics, views, streams, hasEvents }: PageParts): JsonSchema {
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
    const { summary = `The state at ${path}`, answer } = methodAt(path) ?? {};
    const responses = { "200": jsonResponse("The state.", answer?.schema ?? {}), ...missing, ...guarded };
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
    parameter("filter", "query", "Only changes of entries that match this filter."),
    parameter("without_layers", "query", "`true` leaves out what sources change."),
    parameter("Last-Event-ID", "header", "As `after`, before it."),
  ];
  const responses = { "200": events, default: { $ref: "#/components/responses/Error" }, ...guarded };
  return ["Changes of the metadata as server-sent events", responses, { parameters }];
}
