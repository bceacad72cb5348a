import { bool, GiB, int, list, MiB, oneOf, path, plainText, row, size } from "../base/settings/index.ts";

/** The settings of the store of flow records behind the pages and `/api/v1/explore/`. */
export const exploreSettings = {
  SVC_EXPLORE_ENABLE: row(
    bool,
    false,
    "Keeps flow records for a look back, to be asked by `/api/v1/explore/` and on the pages.",
    { needs: [{ when: { SVC_EXPLORE_STORE: ["duckdb"] }, must: { SVC_EXPLORE_PATH: "set" } }] },
  ),
  SVC_EXPLORE_STORE: row(
    oneOf(["duckdb", "clickhouse"]),
    "duckdb",
    "Who answers: `duckdb`, the embedded store, or `clickhouse`, the table that SVC_OUTPUT_CLICKHOUSE_ENABLE fills; nothing is kept here then.",
    {
      needs: [
        {
          is: "clickhouse",
          when: { SVC_EXPLORE_ENABLE: [true] },
          must: { SVC_OUTPUT_CLICKHOUSE_ENABLE: true, SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE: false },
        },
      ],
    },
  ),
  SVC_EXPLORE_PATH: row(
    path,
    "",
    "The directory for the files of the embedded store. Each collector needs its own.",
    "/var/lib/netgloss/explore",
  ),
  SVC_EXPLORE_MAX_AGE: row(int(1, 8760, "hours"), 24, "How long single records are kept."),
  SVC_EXPLORE_MAX_SIZE: row(
    size(64 * MiB, 1024 * GiB),
    2 * GiB,
    "The most bytes on disk: when there are more, the oldest records go first.",
  ),
  SVC_EXPLORE_MAX_RATE: row(
    int(0, 10_000_000, "records a second"),
    100_000,
    "The most flow records that are kept: up to so many, every one is, as long as the store follows. Of more, one stands for several, and sums stay right. 0 is no limit.",
  ),
  SVC_EXPLORE_SAMPLED_RATE: row(
    int(1, 10_000_000, "records a second"),
    25_000,
    "How many flow records are kept at most when there are more than SVC_EXPLORE_MAX_RATE.",
  ),
  SVC_EXPLORE_FIELDS: row(
    list(plainText),
    [],
    "Fields that are kept in addition to those of docs/pages.md#explore.",
    "flow.src.mac.addr,flow.dst.mac.addr",
  ),
  SVC_EXPLORE_ROLLUP_MAX_AGE: row(
    int(0, 3660, "days"),
    90,
    "How long rollups are kept: sums by minute for a longer look back, without addresses. 0 makes none and removes those that are there.",
  ),
  SVC_EXPLORE_ROLLUP_MAX_SIZE: row(
    size(16 * MiB, 1024 * GiB),
    GiB,
    "The most bytes of rollups on disk: when there are more, the oldest days go first.",
  ),
  SVC_EXPLORE_ROLLUP_FIELDS: row(
    list(plainText),
    [],
    "Fields that rollups keep in addition to those of docs/pages.md#explore. Explore must keep them. Each value makes rows of its own.",
    "flow.dst.l4.port.id",
  ),
  SVC_EXPLORE_METADATA_FIELDS: row(
    int(0, 200, "fields"),
    32,
    "How many keys of metadata are kept by themselves as they are seen, such as flow.src.site.name.",
  ),
  SVC_EXPLORE_MEMORY: row(
    size(64 * MiB, 256 * GiB),
    512 * MiB,
    "The memory that the embedded store may use for queries and records under way.",
  ),
  SVC_EXPLORE_TIMEOUT: row(int(1, 600, "seconds"), 30, "How long a query may take."),
  SVC_EXPLORE_QUEUE_SIZE: row(
    size(MiB, GiB),
    256 * MiB,
    "The queue of records on their way to the store. When half of it is full, records are sampled; when it is full, they are dropped and counted.",
  ),
};
