import type { ClickHouseSettings } from "./settings.ts";
import { otherColumn, type TableColumn, type TableLayout } from "./table-layout.ts";

/** A name in a statement: `` `flow` ``. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** A text in a statement: `'flow'`. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

type Names = Pick<ClickHouseSettings, "DATABASE" | "TABLE_PREFIX" | "CLUSTER">;

/** The name of a table that records are inserted into. */
export function tableName({ DATABASE, TABLE_PREFIX }: Names, layout: TableLayout): string {
  return `${quotedName(DATABASE)}.${quotedName(TABLE_PREFIX + layout.name)}`;
}

/** The end of the name of the table that keeps a shard's rows, behind the one that all are inserted into. */
const localEnd = "_local";

function localName({ DATABASE, TABLE_PREFIX, CLUSTER }: Names, layout: TableLayout): string {
  return `${quotedName(DATABASE)}.${quotedName(TABLE_PREFIX + layout.name + (CLUSTER === "" ? "" : localEnd))}`;
}

/** Has a statement run on all servers of the cluster. A text may have a macro of the servers, such as `{cluster}`. */
function onCluster({ CLUSTER }: Names): string {
  return CLUSTER === "" ? "" : ` ON CLUSTER ${quotedText(CLUSTER)}`;
}

const definition = ({ name, type }: Pick<TableColumn, "name" | "type">): string => `${quotedName(name)} ${type}`;

/** The number of the last inserts that a table knows again, and for how many seconds replicas do. */
const deduplicationWindow = 10_000;
const deduplicationSeconds = 604_800;

export function createDatabase(settings: Names): string {
  return `CREATE DATABASE IF NOT EXISTS ${quotedName(settings.DATABASE)}${onCluster(settings)}`;
}

/**
 * The statements that make the table of a layout. In a cluster it is two on each server: one that keeps rows and has replicas, and
 * one that sends rows to the shards and asks all of them.
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
  // The servers' own settings say where the state of replicas is: default_replica_path, default_replica_name.
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

/** The statements that add columns to the table of a layout: first where the rows are. */
export function addColumns(settings: Names, layout: TableLayout, columns: readonly TableColumn[]): string[] {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${definition(column)}`).join(", ");
  const tables = new Set([localName(settings, layout), tableName(settings, layout)]);
  return [...tables].map((table) => `ALTER TABLE ${table}${onCluster(settings)} ${added}`);
}

/** More than any insert has: all of its rows become one block, which a token stands for. */
const oneBlock = { min_insert_block_size_rows: "10000000", min_insert_block_size_bytes: "4000000000" };

/** What is inserted, and how. */
interface Insert {
  readonly columns: readonly string[];
  readonly token: string;
  /** Whether the server may convert to the types of the table; without, a type that was altered since is an error. */
  readonly isConverted: boolean;
  /** Whether views that fail are passed over. */
  readonly isWithoutViews: boolean;
}

/**
 * The path of a request that inserts blocks. The server answers when they are stored, on all shards of a cluster; each insert is
 * an insert of its own (`async_insert`), and rows that come again with the same token are left out. A column that is gone is an error.
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
    // Records of many days in one insert are no mistake here.
    max_partitions_per_insert_block: "0",
    ...(insert.isWithoutViews && { materialized_views_ignore_errors: "1" }),
  });
  return `/?${parameters.toString()}`;
}

/** An insert without rows: the server judges the user and the table as for any other. */
export function insertNothing(settings: Names, layout: TableLayout): string {
  return `INSERT INTO ${tableName(settings, layout)} (timestamp) SELECT now64(3) WHERE 0`;
}
