import type { DataChunk } from "@duckdb/node-bindings";
import { type Column, addressText } from "../column.ts";
import { blockRows, type Block, type BlockColumn } from "../block.ts";
import type { DuckDb } from "./duckdb-instance.ts";
import type { SqlDialect, SqlValue } from "../query/sql-dialect.ts";

/** Returns the type that a column has in DuckDB. A list is kept as JSON. */
export function sqlType({ type, isArray }: Column): string {
  if (isArray) return "VARCHAR";
  switch (type) {
    case "text":
    case "address":
      return "VARCHAR";
    case "integer":
      return "BIGINT";
    case "unsigned":
      return "UBIGINT";
    case "double":
      return "DOUBLE";
    case "boolean":
      return "BOOLEAN";
    case "time":
      break;
  }
  return "TIMESTAMP_NS";
}

const noValues = new Uint8Array(blockRows / 8);

/** Turns blocks into chunks of rows of DuckDB: the columns, then the weight. */
export class ChunkWriter {
  readonly #bindings: DuckDb["bindings"];
  readonly #columns: readonly Column[];
  readonly #chunk: DataChunk;
  /** The columns of a block in the order of the chunk. Blocks of one kind follow each other. */
  #sources: readonly (BlockColumn | undefined)[] = [];
  #ordered: readonly BlockColumn[] | undefined;

  constructor({ bindings }: DuckDb, columns: readonly Column[]) {
    this.#bindings = bindings;
    this.#columns = columns;
    const { Type } = bindings;
    const ids: Readonly<Record<string, number>> = {
      VARCHAR: Type.VARCHAR,
      BIGINT: Type.BIGINT,
      UBIGINT: Type.UBIGINT,
      DOUBLE: Type.DOUBLE,
      BOOLEAN: Type.BOOLEAN,
      TIMESTAMP_NS: Type.TIMESTAMP_NS,
    };
    const own = columns.map((column) => bindings.create_logical_type(ids[sqlType(column)] as number));
    this.#chunk = bindings.create_data_chunk([...own, bindings.create_logical_type(Type.UINTEGER)]);
  }

  /** Returns a chunk that is valid up to the next call. A column that the block lacks has no values. */
  write(block: Block): DataChunk {
    const bindings = this.#bindings;
    const chunk = this.#chunk;
    if (this.#ordered !== block.columns) {
      this.#ordered = block.columns;
      const byField = new Map(block.columns.map((each) => [each.column.field, each]));
      this.#sources = this.#columns.map(({ field }) => byField.get(field));
    }
    bindings.data_chunk_reset(chunk);
    this.#sources.forEach((source, i) => this.#writeColumn(source, i, block));
    const weights = bindings.data_chunk_get_vector(chunk, this.#columns.length);
    bindings.copy_data_to_vector(weights, 0, block.weights.buffer as ArrayBuffer, 0, 4 * block.rows);
    bindings.data_chunk_set_size(chunk, block.rows);
    return chunk;
  }

  #writeColumn(source: BlockColumn | undefined, i: number, { rows, arena }: Block): void {
    const bindings = this.#bindings;
    const vector = bindings.data_chunk_get_vector(this.#chunk, i);
    const count = source?.count ?? 0;
    if (count < rows) {
      const { buffer, byteOffset } = count > 0 ? (source as BlockColumn).validity : noValues;
      bindings.vector_ensure_validity_writable(vector);
      bindings.copy_data_to_vector_validity(vector, 0, buffer as ArrayBuffer, byteOffset, Math.ceil(rows / 64) * 8);
    }
    if (source === undefined || count === 0) return;
    const { width, data, long } = source;
    bindings.copy_data_to_vector(vector, 0, data, 0, width * rows);
    for (let at = 0; at < long.length; at += 3) {
      const from = long[at + 1] as number;
      const text = arena.subarray(from, from + (long[at + 2] as number));
      bindings.vector_assign_string_element_len(vector, long[at] as number, text);
    }
  }
}

const types: Readonly<Record<SqlValue["type"], string>> = {
  text: "VARCHAR",
  address: "VARCHAR",
  whole: "HUGEINT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  time: "BIGINT",
};

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const elementType = (column: Column): string => sqlType({ ...column, isArray: false });

/** A list is kept as a text of JSON. */
const opened = (kept: string, column: Column): string =>
  column.isArray ? `from_json(${kept}, '["${elementType(column)}"]')` : kept;

export const duckDbDialect: SqlDialect = {
  column: (column) => opened(quoted(column.field), column),
  kept: ({ field }) => quoted(field),
  opened,
  parameter(index, { type }) {
    const parameter = `$${index + 1}::${types[type]}`;
    return type === "time" ? `make_timestamp_ns(${parameter})` : parameter;
  },
  typed: (value, column) => `CAST(${value} AS ${elementType(column)})`,
  lower: (text) => `lower(${text})`,
  like: (text, pattern) => `${text} LIKE ${pattern} ESCAPE '\\'`,
  asText: (value, type) => (type === "text" ? value : `CAST(${value} AS VARCHAR)`),
  isBetween(address, first, last, values) {
    const [from, to] = [addressText(first), addressText(last)];
    const parameter = (text: string): string => values.add({ type: "text", value: text });
    if (from === to) return `${address} = ${parameter(from)}`;
    return `(${address} BETWEEN ${parameter(from)} AND ${parameter(to)} AND length(${address}) = ${from.length})`;
  },
  anyElement: (list, isTrue) => `len(list_filter(${list}, lambda x: coalesce(${isTrue("x")}, FALSE))) > 0`,
  isNotEmpty: (list) => `len(${list}) > 0`,
  unnest: (list) => `unnest(CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END)`,
  bucket: (time, seconds) => `(epoch_ms(${time}) // ${1000 * seconds}) * ${1000 * seconds}`,
  milliseconds: (time) => `epoch_ms(${time})`,
  divide: (dividend, divisor) => `(${dividend} // ${divisor})`,
  unsigned: (value) => `CAST(${value} AS UBIGINT)`,
  eachOf: (first, last) => `unnest(range(${first}, ${last} + 1))`,
  sum: (value) => `sum(${value})`,
  product: (value, weight) => `${value}::HUGEINT * ${weight}`,
};
