import { callbackPath } from "../guard/session-cookie.ts";
import { loginPath, logoutPath } from "../services/sign-in-endpoints.ts";
import type { JsonSchema } from "./message-schema.ts";

/** What a browser needs to sign in at the issuer. */
export function signInPaths(
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
export const signInWaysSchema: JsonSchema = {
  type: "object",
  required: ["required", "ways"],
  properties: {
    required: { type: "boolean", description: "Whether anybody has to." },
    ways: { type: "array", items: { enum: ["password", "token", "issuer"] } },
  },
};
