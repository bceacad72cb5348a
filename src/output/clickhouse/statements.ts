import type { ClickHouseSettings } from "./settings.ts";
import { otherColumn, type TableColumn, type TableLayout } from "./table-layout.ts";

/** Quotes a name for a statement: `` `flow` ``. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** Quotes a text for a statement: `'flow'`. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

type Names = Pick<ClickHouseSettings, "DATABASE" | "TABLE_PREFIX" | "CLUSTER">;

/** Returns the name of the table into which records are inserted. */
export function tableName({ DATABASE, TABLE_PREFIX }: Names, layout: TableLayout): string {
  return `${quotedName(DATABASE)}.${quotedName(TABLE_PREFIX + layout.name)}`;
}

/** The suffix of the table that keeps a shard's rows; the table that receives all inserts has no suffix. */
const localEnd = "_local";

function localName({ DATABASE, TABLE_PREFIX, CLUSTER }: Names, layout: TableLayout): string {
  return `${quotedName(DATABASE)}.${quotedName(TABLE_PREFIX + layout.name + (CLUSTER === "" ? "" : localEnd))}`;
}

/** Returns the clause that runs a statement on all servers of the cluster. Its text may have a macro of the servers, such as `{cluster}`. */
function onCluster({ CLUSTER }: Names): string {
  return CLUSTER === "" ? "" : ` ON CLUSTER ${quotedText(CLUSTER)}`;
}

const definition = ({ name, type }: Pick<TableColumn, "name" | "type">): string => `${quotedName(name)} ${type}`;

/** The number of recent inserts that a table recognises, and for how many seconds replicas do. */
const deduplicationWindow = 10_000;
const deduplicationSeconds = 604_800;

export function createDatabase(settings: Names): string {
  return `CREATE DATABASE IF NOT EXISTS ${quotedName(settings.DATABASE)}${onCluster(settings)}`;
}

/**
 * Returns the statements that create the table of a layout. A cluster needs two tables on each server: one keeps rows and has
 * replicas; the other sends rows to the shards and queries all of them.
 */
export function createTables(settings: Names & Pick<ClickHouseSettings, "TABLE_TTL">, layout: TableLayout): string[] {
  const columns = [...layout.columns, otherColumn].map(definition).join(",\n  ");
  const days = settings.TABLE_TTL;
  const ttl = days === 0 ? "" : `TTL toDateTime(timestamp) + INTERVAL ${days} DAY\n`;
  const isOfCluster = settings.CLUSTER !== "";
  const window = isOfCluster
    ? `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationSeconds}`
    : `non_replicated_deduplication_window = ${deduplicationWindow}`;
  const local = localName(settings, layout);
  // Server settings place the state of replicas: default_replica_path, default_replica_name.
  const kept =
    `CREATE TABLE IF NOT EXISTS ${local}${onCluster(settings)} (\n  ${columns}\n) ENGINE = ${isOfCluster ? "Replicated" : ""}MergeTree\n` +
    `PARTITION BY toDate(timestamp)\nORDER BY (${layout.orderBy})\n${ttl}SETTINGS ${window}, ttl_only_drop_parts = 1`;
  if (!isOfCluster) return [kept];
  const place = [settings.CLUSTER, settings.DATABASE, settings.TABLE_PREFIX + layout.name + localEnd].map(quotedText);
  const all = tableName(settings, layout);
  return [
    kept,
    `CREATE TABLE IF NOT EXISTS ${all}${onCluster(settings)} AS ${local}\nENGINE = Distributed(${place.join(", ")}, ${layout.shardBy})`,
  ];
}

/** Returns the statements that add columns to the table of a layout, first to the table that has the rows. */
export function addColumns(settings: Names, layout: TableLayout, columns: readonly TableColumn[]): string[] {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${definition(column)}`).join(", ");
  const tables = new Set([localName(settings, layout), tableName(settings, layout)]);
  return [...tables].map((table) => `ALTER TABLE ${table}${onCluster(settings)} ${added}`);
}

/** Limits beyond the size of any insert: all of its rows become one block, which one token identifies. */
const oneBlock = { min_insert_block_size_rows: "10000000", min_insert_block_size_bytes: "4000000000" };

/** The content of an insert and its options. */
interface Insert {
  readonly columns: readonly string[];
  readonly token: string;
  /** True if the server may convert to the types of the table. Otherwise a type that has been altered is an error. */
  readonly isConverted: boolean;
  /** True if views that fail are ignored. */
  readonly isWithoutViews: boolean;
}

/**
 * Returns the path of a request that inserts blocks. The server answers once they are stored, on all shards of a cluster. Inserts
 * are not combined (`async_insert`), and rows repeated with the same token are skipped. A missing column is an error.
 */
export function insertPath(settings: Names, layout: TableLayout, insert: Insert): string {
  const parameters = new URLSearchParams({
    query: `INSERT INTO ${tableName(settings, layout)} (${insert.columns.join(",")}) FORMAT Native`,
    insert_deduplication_token: insert.token,
    insert_deduplicate: "1",
    async_insert: "0",
    wait_end_of_query: "1",
    ...oneBlock,
    insert_distributed_sync: "1",
    input_format_native_allow_types_conversion: insert.isConverted ? "1" : "0",
    // One insert may have records of many days.
    max_partitions_per_insert_block: "0",
    ...(insert.isWithoutViews && { materialized_views_ignore_errors: "1" }),
  });
  return `/?${parameters.toString()}`;
}

/** Returns an insert without rows: the server checks the user and the table as for any other. */
export function insertNothing(settings: Names, layout: TableLayout): string {
  return `INSERT INTO ${tableName(settings, layout)} (timestamp) SELECT now64(3) WHERE 0`;
}
