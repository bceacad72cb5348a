import {
  exploreAnswer,
  exploreQuestion,
  exploreStatus,
  flowsAnswer,
  flowsQuestion,
  profileAnswer,
  profileQuestion,
  rulesAnswer,
  rulesQuestion,
} from "./explore-shapes.ts";
import type { JsonSchema } from "./shape.ts";
import { arrowStreamType } from "../../record/index.ts";
import { apiError } from "../api-error.ts";
import { type Call, sendBytes, sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import {
  allowed,
  binary,
  describe,
  failure,
  formatOf,
  formatParameter,
  jsonBody,
  jsonResponse,
  operation,
  page,
  refusals,
  type Endpoint,
} from "./endpoint.ts";

/** The formats of answers. */
const exploreFormats = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
  arrow: arrowStreamType,
} as const;
export type ExploreFormat = keyof typeof exploreFormats;

/** The file name extensions that differ from the names of the formats. */
const endings: Readonly<Partial<Record<ExploreFormat, string>>> = { arrow: "arrows" };

const statusPath = "/api/v1/explore/status";
const questionPath = (name: "query" | "flows" | "profile" | "rules"): string => `/api/v1/explore/${name}`;

/** The answers to the questions of the pages, from which the types of the pages are generated. */
export const exploreAnswers = {
  exploreStatus: { call: `GET ${statusPath}`, answer: exploreStatus },
  exploreQuery: { call: `POST ${questionPath("query")}`, answer: exploreAnswer },
  exploreProfile: { call: `POST ${questionPath("profile")}`, answer: profileAnswer },
} as const;

/**
 * The questions that stored flow records can answer. Questions are JSON; each rejects with an error that may be sent as the answer. `scopes` are
 * the metadata scopes to which the caller is limited; undefined means no limit.
 */
export interface ExploreOperations {
  status(signal: AbortSignal, scopes: ScopeLimit): Promise<unknown>;
  /** Answers a query. @returns JSON, or bytes for the other formats. */
  query(body: unknown, format: ExploreFormat, signal: AbortSignal, scopes: ScopeLimit): Promise<unknown>;
  flows(body: unknown, format: ExploreFormat, signal: AbortSignal, scopes: ScopeLimit): Promise<unknown>;
  profile(body: unknown, signal: AbortSignal, scopes: ScopeLimit): Promise<unknown>;
  /** Returns the changes that rules would make to kept records. */
  rules(body: unknown, signal: AbortSignal): Promise<unknown>;
}

function enabled(explore: ExploreOperations | undefined): ExploreOperations {
  if (explore !== undefined) return explore;
  throw apiError("not_found", "EXPLORE_DISABLED", "Explore is off: set SVC_EXPLORE_ENABLE to true");
}

type ScopeLimit = readonly string[] | undefined;

const ofFlows = allowed("viewer", "flow");
/** The access to questions about records. The answer has only the data that the caller may see. */
const ofOwnFlows = allowed("viewer", "flow", "own");
const refused = { ...refusals, "404": failure };

/** Returns the rows of questions about stored flow records. */
export function exploreEndpoints(explore: ExploreOperations | undefined, bodies: BodyReader): readonly Endpoint[] {
  const status = page(
    statusPath,
    ofOwnFlows,
    async (call) => {
      const state = await enabled(explore).status(call.signal, call.principal?.scopes);
      return sendJson(call, 200, state, { "cache-control": "no-store" });
    },
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
      [exploreFormats.parquet]: { schema: binary },
      [exploreFormats.arrow]: { schema: binary },
    };
    return operation(
      questionPath(name),
      ofOwnFlows,
      true,
      (call) => serveQuestion(call, name, explore, bodies),
      describe(
        "collector",
        name === "query" ? "exploreQuery" : "exploreFlows",
        summary,
        { "200": { description: "The answer.", content }, ...refused },
        { parameters: [formatParameter(exploreFormats)], ...jsonBody(asked) },
      ),
    );
  };
  const plain = (
    name: "profile" | "rules",
    id: string,
    summary: string,
    asked: JsonSchema,
    answered: JsonSchema,
  ): Endpoint =>
    operation(
      questionPath(name),
      // The effect of rules is computed on the records of all scopes.
      name === "rules" ? ofFlows : ofOwnFlows,
      true,
      async (call) => {
        const body = plainJson(decodeJson(await bodies.readAll(call)));
        const answer = await enabled(explore)[name](body, call.signal, call.principal?.scopes);
        return sendJson(call, 200, answer, { "cache-control": "no-store" });
      },
      describe("collector", id, summary, { "200": jsonResponse("The answer.", answered), ...refused }, jsonBody(asked)),
    );
  return [
    status,
    plain(
      "profile",
      "exploreProfile",
      "What an address, or any other value, does: its traffic both ways, its peers and services, who sees it and since when",
      profileQuestion,
      profileAnswer.schema,
    ),
    plain(
      "rules",
      "exploreRules",
      "What rules would change on records that are kept, before they count",
      rulesQuestion,
      rulesAnswer.schema,
    ),
    question(
      "query",
      "The largest of flow records by some of their fields, over time",
      exploreQuestion,
      exploreAnswer.schema,
    ),
    question("flows", "Single flow records, the newest first", flowsQuestion, flowsAnswer.schema),
  ];
}

/** Answers a question. Its body is JSON. `format` in the query, or `Accept`, selects the format. */
async function serveQuestion(
  call: Call,
  name: "query" | "flows",
  explore: ExploreOperations | undefined,
  bodies: BodyReader,
): Promise<void> {
  const asked = enabled(explore);
  const format = formatOf(call, exploreFormats);
  const body = plainJson(decodeJson(await bodies.readAll(call)));
  const answer = await asked[name](body, format, call.signal, call.principal?.scopes);
  call.code = "ok";
  if (!(answer instanceof Uint8Array)) return sendJson(call, 200, answer, { "cache-control": "no-store" });
  return sendBytes(
    call,
    200,
    {
      "content-type": exploreFormats[format],
      "content-disposition": `attachment; filename="${name}.${endings[format] ?? format}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
    answer,
  );
}
