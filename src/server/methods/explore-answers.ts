import {
  anyValue,
  choice,
  constant,
  described,
  flag,
  integer,
  list,
  looseObject,
  number,
  openObject,
  anyObject,
  text,
  type JsonSchema,
  type Shape,
} from "./shape.ts";

const range: Readonly<Record<string, JsonSchema>> = {
  from: text("RFC 3339, or a time span before now. Default -1h.", "-1h", "2026-11-22T04:00:00Z").schema,
  to: text("The same, or now. Default now.", "now").schema,
  filter: text("An expression over the fields of records.", "src in 10.0.0.0/8 and dst.port = 443").schema,
};

export const exploreQuestion: JsonSchema = {
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

const values = {
  value: number("Over the range."),
  previous: number("Of the range before, where `compare` is true."),
  series: list(number(), "One for each of the times."),
  percentile: number("Of the series."),
};
const sometimes = ["previous", "series", "percentile"] as const;
const share = number("Of the total.");
const key = list(anyValue, "A value for each dimension; null: the records lack the field.");
const instant = text("RFC 3339.");

const missingPart = openObject({
  from: instant,
  to: instant,
  because: text("For people."),
  lacking: list(text(), "Fields of the question that rollups of this time lack."),
});

/** What is answered to a question for the largest. */
export const exploreAnswer = openObject(
  {
    from: instant,
    to: instant,
    granularitySeconds: integer("0: without times."),
    measure: text("As asked for."),
    unit: choice(["B", "packets", "flows", "bit/s", "packet/s"]),
    dimensions: list(text(), "As asked for."),
    times: list(text(), "Beginnings of the buckets, RFC 3339."),
    rows: list(looseObject({ key, share, ...values }, ...sometimes), "The largest first."),
    others: described(looseObject({ keys: integer(), share, ...values }, ...sometimes), "All other keys together."),
    total: looseObject(values, ...sometimes),
    sampling: number("For how many records one that is kept stands at most."),
    complete: flag("False: the answer lacks a part of the range; `missing` says which."),
    parts: list(
      openObject({
        kind: choice(["records", "minutes"], "Single records, or sums by minute (rollups)."),
        from: instant,
        to: instant,
      }),
      "Where the answer comes from, the oldest part first.",
    ),
    missing: described(missingPart, "The part of the range that the answer lacks."),
    missingBefore: described(
      missingPart,
      "The part of the range before that the answer lacks, where `compare` is true.",
    ),
    store: choice(["duckdb", "clickhouse"]),
    elapsedMs: integer(),
  },
  "times",
  "missing",
  "missingBefore",
);

export const flowsQuestion: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    ...range,
    limit: { type: "integer", minimum: 1, maximum: 10_000, default: 100 },
    fields: list(text(), "Fields of the records; left out: all that are kept.").schema,
  },
};

const record: Shape<Readonly<Record<string, unknown>>> = anyObject(undefined, { additionalProperties: true });

export const flowsAnswer = openObject({
  records: list(record, "The newest first."),
  sampling: number("For how many records one of them stands at most."),
  complete: flag(),
});

const retention = looseObject({ hours: integer(), bytes: integer() });

export const exploreStatus = openObject(
  {
    enabled: constant(true),
    store: choice(["duckdb", "clickhouse"]),
    from: text("Of the oldest record."),
    to: text("Of the newest record."),
    rows: integer(),
    bytes: integer("On disk."),
    sampling: number("For how many records one that is taken stands at present."),
    droppedRows: integer("Records that could not be taken in time."),
    fields: list(
      openObject({
        name: text("As in records.", "flow.src.ip.subnet.name"),
        type: choice(["string", "ip", "integer", "double", "boolean", "time"]),
        isArray: flag(),
        dimension: flag("Whether flows can be grouped by it."),
        isRolledUp: flag("Whether rollups have it, too."),
        label: text("For people.", "Source name"),
        unit: text("Empty where there is none."),
      }),
      "What can be asked for.",
    ),
    retention,
    rollups: described(
      openObject(
        {
          from: text("Of the oldest record that they count."),
          to: text("Of the newest record that they count."),
          bytes: integer("On disk."),
          retention,
        },
        "from",
        "to",
      ),
      "Sums by minute, which are kept for longer. Absent: there are none.",
    ),
  },
  "from",
  "to",
  "rollups",
);
