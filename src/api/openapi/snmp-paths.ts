import type { JsonSchema } from "./message-schema.ts";
import { anyObject, jsonResponse, refusals } from "./path-parts.ts";

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
