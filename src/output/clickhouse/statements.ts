import type { ClickHouseOutputConfig } from "./clickhouse-config.ts";
import { otherColumn, type Column, type TableLayout } from "./columns.ts";

/** A name in a statement: `` `flow` ``. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** A text in a statement: `'flow'`. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

type Names = Pick<ClickHouseOutputConfig, "database" | "tablePrefix">;

export function tableName({ database, tablePrefix }: Names, layout: TableLayout): string {
  return `${quotedName(database)}.${quotedName(tablePrefix + layout.name)}`;
}

const definition = ({ name, type }: Pick<Column, "name" | "type">): string => `${quotedName(name)} ${type}`;

/** How many of the last inserts a table knows again. */
const deduplicationWindow = 10_000;

export function createTable(config: Names & Pick<ClickHouseOutputConfig, "ttlDays">, layout: TableLayout): string {
  const columns = [...layout.columns, otherColumn].map(definition).join(",\n  ");
  const ttl = config.ttlDays === 0 ? "" : `TTL toDateTime(timestamp) + INTERVAL ${config.ttlDays} DAY\n`;
  return (
    `CREATE TABLE IF NOT EXISTS ${tableName(config, layout)} (\n  ${columns}\n) ENGINE = MergeTree\n` +
    `PARTITION BY toDate(timestamp)\nORDER BY (${layout.orderBy})\n${ttl}` +
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, ttl_only_drop_parts = 1`
  );
}

export function addColumns(config: Names, layout: TableLayout, columns: readonly Column[]): string {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${definition(column)}`).join(", ");
  return `ALTER TABLE ${tableName(config, layout)} ${added}`;
}

/**
 * The path of a request that inserts rows. The server answers when they are stored, each insert is an insert of its own
 * (`async_insert`), and rows that come again with the same token are left out.
 *
 * @param withoutViews whether views that fail are passed over.
 */
export function insertPath(config: Names, layout: TableLayout, token: string, withoutViews: boolean): string {
  const parameters = new URLSearchParams({
    query: `INSERT INTO ${tableName(config, layout)} FORMAT JSONEachRow`,
    insert_deduplication_token: token,
    insert_deduplicate: "1",
    async_insert: "0",
    wait_end_of_query: "1",
    date_time_input_format: "best_effort",
    // Records of many days in one insert are no mistake here.
    max_partitions_per_insert_block: "0",
    ...(withoutViews && { materialized_views_ignore_errors: "1" }),
  });
  return `/?${parameters.toString()}`;
}

/** An insert without rows: the server judges the user and the table as for any other. */
export function insertNothing(config: Names, layout: TableLayout): string {
  return `INSERT INTO ${tableName(config, layout)} (timestamp) SELECT now64(3) WHERE 0`;
}
