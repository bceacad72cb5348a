import { ruleScope } from "./answers.ts";
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
  type Value,
} from "./shape.ts";

// These are the shapes of questions about kept flow records, and of their answers.

const range: Readonly<Record<string, JsonSchema>> = {
  from: text("RFC 3339, or a time span before now. Default -1h.", "-1h", "2026-11-22T04:00:00Z").schema,
  to: text("The same, or now. Default now.", "now").schema,
  filter: text("An expression over the fields of records.", "src in 10.0.0.0/8 and dst.port = 443").schema,
};

/** The measures that can be counted. */
export const exploreMeasures = [
  "bytes",
  "packets",
  "flows",
  "bits_per_second",
  "packets_per_second",
  "utilisation_in",
  "utilisation_out",
  "sources",
  "destinations",
  "source_ports",
  "destination_ports",
] as const;

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
    measure: {
      enum: exploreMeasures,
      default: "bytes",
      description:
        "`utilisation_in` and `utilisation_out` are percents of the speed of the interface of the way in, or out, that SNMP or the file of interfaces gives; flows of other interfaces count nothing. `sources` to `destination_ports` count different addresses and ports, by when records were received; one of several keys counts for each of them.",
    },
    when: {
      enum: ["flowed", "received"],
      default: "flowed",
      description:
        "When bytes and packets count: over the time in which they flowed, or when the record of their flow was received. Flows count when their records were received.",
    },
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

/** The answer to a question for the largest rows. */
export const exploreAnswer = openObject(
  {
    from: instant,
    to: instant,
    granularitySeconds: integer("0: without times."),
    measure: text("As asked for."),
    when: choice(["flowed", "received"], "As asked for."),
    unit: choice(["B", "packets", "flows", "bit/s", "packet/s", "%", "addresses", "ports"]),
    dimensions: list(text(), "As asked for."),
    times: list(text(), "Beginnings of the buckets, RFC 3339."),
    rows: list(looseObject({ key, share, ...values }, ...sometimes), "The largest first."),
    others: described(looseObject({ keys: integer(), share, ...values }, ...sometimes), "All other keys together."),
    total: looseObject(values, ...sometimes),
    estimated: flag("True: different addresses or ports were too many to be counted one by one."),
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
  "estimated",
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
    rows: integer("Absent for callers who are limited to scopes, as are `to`, `bytes`, and `droppedRows`."),
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
        "bytes",
      ),
      "Sums by minute, which are kept for longer. Absent: there are none.",
    ),
  },
  "from",
  "to",
  "rows",
  "bytes",
  "droppedRows",
  "rollups",
);

export const profileQuestion: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["field", "value"],
  properties: {
    field: text(
      "What the value is: `address`, `prefix`, `interface`, a field of records, or what stands at either end of a flow, such as `tag`, `as` or `site.name`.",
      "address",
      "tag",
    ).schema,
    value: text("The value; of an interface the exporter, @ and the ifIndex.", "10.1.2.3", "192.0.2.1@5").schema,
    from: range["from"],
    to: range["to"],
    parts: {
      type: "array",
      items: { enum: ["traffic", "rankings", "seen"] },
      description: "What is wanted; left out: all.",
    },
    limit: { type: "integer", minimum: 1, maximum: 1000, default: 8, description: "Rows of each ranking." },
  },
};

const way = choice(["in", "out", "all"], "As seen from the value; `all`: it is no end of a flow.");

/** The activity of a value: the answer for the page of an address, and of any other value. */
export const profileAnswer = openObject(
  {
    field: text("As asked for."),
    value: text("As asked for."),
    filter: text("Of all its flows."),
    traffic: described(
      openObject(
        {
          from: instant,
          to: instant,
          granularitySeconds: integer(),
          times: list(text(), "Beginnings of the buckets, RFC 3339."),
          ways: list(
            openObject(
              {
                way,
                filter: text("Of its flows of this way."),
                value: number("Over the range."),
                series: list(number(), "One for each of the times."),
                previous: described(
                  looseObject({ value: number(), series: list(number()) }),
                  "Of the range before; absent: nothing is kept of it.",
                ),
              },
              "previous",
            ),
          ),
          sampling: number("For how many records one that is kept stands at most."),
          missing: described(missingPart, "The part of the range that the answer lacks."),
        },
        "missing",
      ),
      "Bits per second, over time.",
    ),
    rankings: list(
      looseObject({
        name: choice(["peers", "sources", "destinations", "services", "applications", "exporters"]),
        way,
        dimensions: list(text(), "Fields of the keys."),
        rows: list(looseObject({ key, share, value: number("Bytes.") }), "The largest first."),
        others: described(looseObject({ keys: integer(), share, value: number() }), "All other keys together."),
        total: looseObject({ value: number() }),
      }),
      "The largest by bytes.",
    ),
    seen: described(
      looseObject(
        { first: text("RFC 3339, to ten seconds."), last: instant, keptSince: text("Nothing older is kept.") },
        "first",
        "last",
        "keptSince",
      ),
      "Its first and its last record of those that are kept.",
    ),
    elapsedMs: integer(),
  },
  "traffic",
  "rankings",
  "seen",
);

export type ExploreProfile = Value<typeof profileAnswer>;

export const rulesQuestion: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["rules"],
  properties: {
    ...range,
    rules: {
      description: "Rules as in the file of SVC_PROCESSOR_ENRICH_RULES_PATH: a text of YAML, or the list itself.",
      oneOf: [{ type: "string" }, { type: "array", items: { type: "object" } }],
    },
  },
};

/** The changes that rules would make to kept records. */
export const rulesAnswer = openObject({
  from: instant,
  to: instant,
  flows: number("Flow records of the range that fit the filter."),
  records: integer("Kept records that the rules were asked of."),
  changed: integer("Those of them of which a field is another than with the rules in use."),
  sampling: number("For how many records one that is kept stands at most."),
  complete: flag("False: the rules were asked of a part of the records, or Explore keeps a part of the range."),
  rules: list(
    openObject({
      name: text(),
      of: ruleScope,
      fits: integer("Records that it is true of."),
      changes: integer(
        "Records of which it gives a field another value than now, and no rule behind it gives that field.",
      ),
      lacks: list(text(), "Fields that it asks for and Explore does not keep: it fits fewer records here."),
    }),
    "In their order.",
  ),
  fields: list(
    openObject({
      field: text(),
      gained: integer("Records that do not have it now."),
      lost: integer("Records that have it now alone."),
      changed: integer("Records that have another value now."),
      values: list(
        openObject({ value: text("As in records; what is no text as JSON."), records: integer() }),
        "The most frequent, five at most.",
      ),
    }),
    "That rules give, those with the most changes first.",
  ),
  elapsedMs: integer(),
});

export type ExploreRules = Value<typeof rulesAnswer>;
