import { apiError } from "../api-error.ts";
import { type Call, sendBytes, sendJson, headerOf } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import {
  allowed,
  describe,
  failure,
  jsonBody,
  jsonResponse,
  operation,
  page,
  refusals,
  type Endpoint,
} from "./endpoint.ts";
import { exploreAnswer, exploreQuestion, exploreStatus, flowsAnswer, flowsQuestion } from "./explore-answers.ts";
import type { JsonSchema } from "./shape.ts";

export const exploreFormats = ["json", "csv", "parquet"] as const;
export type ExploreFormat = (typeof exploreFormats)[number];

/** What can be asked of stored flow records. Questions are JSON; each rejects with an error fit to be answered. */
export interface ExploreOperations {
  status(signal: AbortSignal): Promise<unknown>;
  /** @returns JSON; of the other formats, bytes. */
  query(body: unknown, format: ExploreFormat, signal: AbortSignal): Promise<unknown>;
  flows(body: unknown, format: ExploreFormat, signal: AbortSignal): Promise<unknown>;
}

const contentTypes: Readonly<Record<ExploreFormat, string>> = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
};

function enabled(explore: ExploreOperations | undefined): ExploreOperations {
  if (explore !== undefined) return explore;
  throw apiError("not_found", "EXPLORE_DISABLED", "Explore is off: set SVC_EXPLORE_ENABLE to true");
}

const ofFlows = allowed("viewer", "flow");
const refused = { ...refusals, "404": failure };

/** Returns the rows of what can be asked of stored flow records. */
export function exploreEndpoints(explore: ExploreOperations | undefined, bodies: BodyReader): readonly Endpoint[] {
  const status = page(
    "/api/v1/explore/status",
    ofFlows,
    async (call) => sendJson(call, 200, await enabled(explore).status(call.signal), { "cache-control": "no-store" }),
    describe("collector", "exploreStatus", "What is kept of flow records, and which fields can be asked for", {
      "200": jsonResponse("The state.", exploreStatus.schema),
      ...refused,
    }),
    "explore/status",
  );
  const question = (name: "query" | "flows", summary: string, asked: JsonSchema, answered: JsonSchema): Endpoint => {
    const content = {
      "application/json": { schema: answered },
      "text/csv": { schema: { type: "string" } },
      "application/vnd.apache.parquet": { schema: { type: "string", format: "binary" } },
    };
    const format = { name: "format", in: "query", schema: { enum: exploreFormats, default: "json" } };
    return operation(
      `/api/v1/explore/${name}`,
      ofFlows,
      true,
      (call) => serveQuestion(call, name, explore, bodies),
      describe(
        "collector",
        name === "query" ? "exploreQuery" : "exploreFlows",
        summary,
        { "200": { description: "The answer.", content }, ...refused },
        { parameters: [format], ...jsonBody(asked) },
      ),
    );
  };
  return [
    status,
    question(
      "query",
      "The largest of flow records by some of their fields, over time",
      exploreQuestion,
      exploreAnswer.schema,
    ),
    question("flows", "Single flow records, the newest first", flowsQuestion, flowsAnswer.schema),
  ];
}

/** Answers a question. Its body is JSON; the format is said by `format` in the query, or by `Accept`. */
async function serveQuestion(
  call: Call,
  name: "query" | "flows",
  explore: ExploreOperations | undefined,
  bodies: BodyReader,
): Promise<void> {
  const asked = enabled(explore);
  const format = formatOf(call);
  const body = plainJson(decodeJson(await bodies.readAll(call)));
  const answer = await asked[name](body, format, call.signal);
  call.code = "ok";
  if (!(answer instanceof Uint8Array)) return sendJson(call, 200, answer, { "cache-control": "no-store" });
  return sendBytes(
    call,
    200,
    {
      "content-type": contentTypes[format],
      "content-disposition": `attachment; filename="${name}.${format}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
    answer,
  );
}

function formatOf(call: Call): ExploreFormat {
  const asked = call.query.get("format");
  if (asked !== null) {
    const found = exploreFormats.find((format) => format === asked);
    if (found !== undefined) return found;
    throw apiError("invalid_argument", "BAD_FORMAT", `format must be one of ${exploreFormats.join(", ")}`);
  }
  const accepted = headerOf(call.headers, "accept") ?? "";
  if (accepted.includes("text/csv")) return "csv";
  return accepted.includes("application/vnd.apache.parquet") ? "parquet" : "json";
}
