import { explorePath } from "../methods/explore-endpoints.ts";
import type { JsonSchema } from "../methods/shape.ts";

const text = (description: string, ...examples: readonly string[]): JsonSchema => ({
  type: "string",
  description,
  ...(examples.length > 0 && { examples }),
});
const number = (description: string): JsonSchema => ({ type: "number", description });
const list = (items: JsonSchema, description: string): JsonSchema => ({ type: "array", items, description });

const range: Readonly<Record<string, JsonSchema>> = {
  from: text("RFC 3339, or a time span before now. Default -1h.", "-1h", "2026-11-22T04:00:00Z"),
  to: text("The same, or now. Default now.", "now"),
  filter: text("An expression over the fields of records.", "src in 10.0.0.0/8 and dst.port = 443"),
};

const question: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    ...range,
    dimensions: {
      type: "array",
      maxItems: 4,
      items: { type: "string" },
      description: "Fields by which flows are grouped.",
    },
    measure: { enum: ["bytes", "packets", "flows", "bits_per_second", "packets_per_second"], default: "bytes" },
    limit: { type: "integer", minimum: 1, maximum: 1000, default: 10 },
    granularity: {
      enum: ["auto", "none", "10s", "1m", "5m", "1h", "1d"],
      description: "Of the values over time. Default auto; for CSV and Parquet none.",
    },
    compare: { type: "boolean", description: "Also the values of the range before.", default: false },
    percentile: {
      type: "number",
      minimum: 0,
      maximum: 100,
      description: "Also this percentile of the values over time.",
    },
  },
};

const values: Readonly<Record<string, JsonSchema>> = {
  value: number("Over the range."),
  previous: number("Of the range before, where `compare` is true."),
  series: list({ type: "number" }, "One for each of the times."),
  percentile: number("Of the series."),
};
const share = number("Of the total.");
const key = list({}, "A value for each dimension; null: the records lack the field.");

const missingPart = (description: string): JsonSchema => ({
  type: "object",
  required: ["from", "to", "because", "lacking"],
  properties: {
    from: text("RFC 3339."),
    to: text("RFC 3339."),
    because: text("For people."),
    lacking: list({ type: "string" }, "Fields of the question that rollups of this time lack."),
  },
  description,
});

const answer: JsonSchema = {
  type: "object",
  required: [
    "from",
    "to",
    "granularitySeconds",
    "measure",
    "unit",
    "dimensions",
    "rows",
    "others",
    "total",
    "sampling",
    "complete",
    "parts",
    "store",
    "elapsedMs",
  ],
  properties: {
    from: text("RFC 3339."),
    to: text("RFC 3339."),
    granularitySeconds: { type: "integer", description: "0: without times." },
    measure: text("As asked for."),
    unit: { enum: ["B", "packets", "flows", "bit/s", "packet/s"] },
    dimensions: list({ type: "string" }, "As asked for."),
    times: list({ type: "string" }, "Beginnings of the buckets, RFC 3339."),
    rows: list({ type: "object", properties: { key, share, ...values } }, "The largest first."),
    others: {
      type: "object",
      properties: { keys: { type: "integer" }, share, ...values },
      description: "All other keys together.",
    },
    total: { type: "object", properties: values },
    sampling: number("For how many records one that is kept stands at most."),
    complete: { type: "boolean", description: "False: the answer lacks a part of the range; `missing` says which." },
    parts: list(
      {
        type: "object",
        required: ["kind", "from", "to"],
        properties: {
          kind: { enum: ["records", "minutes"], description: "Single records, or sums by minute (rollups)." },
          from: text("RFC 3339."),
          to: text("RFC 3339."),
        },
      },
      "Where the answer comes from, the oldest part first.",
    ),
    missing: missingPart("The part of the range that the answer lacks."),
    missingBefore: missingPart("The part of the range before that the answer lacks, where `compare` is true."),
    store: { enum: ["duckdb", "clickhouse"] },
    elapsedMs: { type: "integer" },
  },
};

const flowsQuestion: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    ...range,
    limit: { type: "integer", minimum: 1, maximum: 10_000, default: 100 },
    fields: list({ type: "string" }, "Fields of the records; left out: all that are kept."),
  },
};

const flowsAnswer: JsonSchema = {
  type: "object",
  required: ["records", "sampling", "complete"],
  properties: {
    records: list({ type: "object", additionalProperties: true }, "The newest first."),
    sampling: number("For how many records one of them stands at most."),
    complete: { type: "boolean" },
  },
};

const retention: JsonSchema = {
  type: "object",
  properties: { hours: { type: "integer" }, bytes: { type: "integer" } },
};

const status: JsonSchema = {
  type: "object",
  required: ["enabled", "store", "rows", "bytes", "sampling", "droppedRows", "fields", "retention"],
  properties: {
    enabled: { const: true },
    store: { enum: ["duckdb", "clickhouse"] },
    from: text("Of the oldest record."),
    to: text("Of the newest record."),
    rows: { type: "integer" },
    bytes: { type: "integer", description: "On disk." },
    sampling: number("For how many records one that is taken stands at present."),
    droppedRows: { type: "integer", description: "Records that could not be taken in time." },
    fields: list(
      {
        type: "object",
        required: ["name", "type", "isArray", "dimension", "isRolledUp", "label", "unit"],
        properties: {
          name: text("As in records.", "flow.src.ip.subnet.name"),
          type: { enum: ["string", "ip", "integer", "double", "boolean", "time"] },
          isArray: { type: "boolean" },
          dimension: { type: "boolean", description: "Whether flows can be grouped by it." },
          isRolledUp: { type: "boolean", description: "Whether rollups have it, too." },
          label: text("For people.", "Source name"),
          unit: text("Empty where there is none."),
        },
      },
      "What can be asked for.",
    ),
    retention,
    rollups: {
      type: "object",
      required: ["bytes", "retention"],
      properties: {
        from: text("Of the oldest record that they count."),
        to: text("Of the newest record that they count."),
        bytes: { type: "integer", description: "On disk." },
        retention,
      },
      description: "Sums by minute, which are kept for longer. Absent: there are none.",
    },
  },
};

const refusals: JsonSchema = {
  "401": { $ref: "#/components/responses/Unauthenticated" },
  "404": { $ref: "#/components/responses/Error" },
  default: { $ref: "#/components/responses/Error" },
};

function post(operationId: string, summary: string, asked: JsonSchema, answered: JsonSchema): JsonSchema {
  const file = { schema: { type: "string", format: "binary" } };
  const content = {
    "application/json": { schema: answered },
    "text/csv": { schema: { type: "string" } },
    "application/vnd.apache.parquet": file,
  };
  const format = { name: "format", in: "query", schema: { enum: ["json", "csv", "parquet"], default: "json" } };
  return {
    post: {
      tags: ["collector"],
      operationId,
      summary,
      parameters: [format],
      requestBody: { required: true, content: { "application/json": { schema: asked } } },
      responses: { "200": { description: "The answer.", content }, ...refusals },
    },
  };
}

/** The questions to Explore. */
export function explorePaths(): JsonSchema {
  const content = { "application/json": { schema: status } };
  return {
    [explorePath("status")]: {
      get: {
        tags: ["collector"],
        operationId: "exploreStatus",
        summary: "What is kept of flow records, and which fields can be asked for",
        responses: { "200": { description: "The state.", content }, ...refusals },
      },
    },
    [explorePath("query")]: post(
      "exploreQuery",
      "The largest of flow records by some of their fields, over time",
      question,
      answer,
    ),
    [explorePath("flows")]: post("exploreFlows", "Single flow records, the newest first", flowsQuestion, flowsAnswer),
  };
}
