import { apiError } from "../api-error.ts";
import { type Call, sendBytes, sendJson, headerOf } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";

export const exploreFormats = ["json", "csv", "parquet"] as const;
export type ExploreFormat = (typeof exploreFormats)[number];

/** What can be asked of stored flow records. Questions are JSON; each rejects with an error fit to be answered. */
export interface ExploreOperations {
  status(signal: AbortSignal): Promise<unknown>;
  /** @returns JSON; of the other formats, bytes. */
  query(body: unknown, format: ExploreFormat, signal: AbortSignal): Promise<unknown>;
  flows(body: unknown, format: ExploreFormat, signal: AbortSignal): Promise<unknown>;
}

export const explorePath = (operation: "status" | "query" | "flows"): string => `/api/v1/explore/${operation}`;

const contentTypes: Readonly<Record<ExploreFormat, string>> = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
};

function enabled(explore: ExploreOperations | undefined): ExploreOperations {
  if (explore !== undefined) return explore;
  throw apiError("not_found", "EXPLORE_DISABLED", "Explore is off: set SVC_EXPLORE_ENABLE to true");
}

/** `GET`: what there is to ask. */
export async function serveExploreStatus(call: Call, explore: ExploreOperations | undefined): Promise<void> {
  await sendJson(call, 200, await enabled(explore).status(call.signal), { "cache-control": "no-store" });
}

/** The handler of a question. Its body is JSON; the format is said by `format` in the query, or by `Accept`. */
export function createExploreEndpoint(
  operation: "query" | "flows",
  explore: ExploreOperations | undefined,
  bodies: BodyReader,
): (call: Call) => Promise<void> {
  return async (call) => {
    const asked = enabled(explore);
    const format = formatOf(call);
    const body = plainJson(decodeJson(await bodies.readAll(call)));
    const answer = await asked[operation](body, format, call.signal);
    call.code = "ok";
    if (!(answer instanceof Uint8Array)) return sendJson(call, 200, answer, { "cache-control": "no-store" });
    return sendBytes(
      call,
      200,
      {
        "content-type": contentTypes[format],
        "content-disposition": `attachment; filename="${operation}.${format}"`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
      answer,
    );
  };
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
