import type { Operation } from "../services/operation-endpoint.ts";
import type { JsonSchema } from "./message-schema.ts";
import { anyObject, idParameter, jsonResponse, pageId, refusals } from "./path-parts.ts";

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
        "200": jsonResponse("The outcome.", schema),
        ...(hasId && { "404": { $ref: "#/components/responses/Error" } }),
        ...refusals,
      };
      const operation = { tags: [area], operationId: pageId("run", path), summary, responses };
      return [path, { post: { ...operation, ...(hasId && { parameters: [idParameter] }) } }];
    }),
  );
}
