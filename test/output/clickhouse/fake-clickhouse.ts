import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { formatAddress, type Address } from "../../../src/base/ip/index.ts";
import { startHttpServer, type HttpCall, type HttpServerFake } from "../http/http-fixture.ts";
import { NativeReader, type NativeColumn, type NativeValue } from "./native-reader.ts";

type Row = Readonly<Record<string, unknown>>;

export interface FakeClickHouse {
  readonly port: number;
  readonly server: HttpServerFake;
  /** Rows by the name of the table, without the database. */
  readonly tables: Map<string, { readonly columns: Set<string>; readonly rows: Row[]; engine: string }>;
  /** Types of columns by their names. */
  readonly types: Map<string, string>;
  /** Statements that are no inserts and no queries. */
  readonly statements: string[];
  /** An exception in place of what a statement does; undefined: it is done. */
  judge: (statement: string) => number | undefined;
  /** Whether a row can be read. */
  isReadable: (row: Row) => boolean;
  /** Keeps the rows and cuts the connection before it answers. */
  isLying: boolean;
}

/** As much of ClickHouse as the output uses. */
export async function startFakeClickHouse(t: TestContext): Promise<FakeClickHouse> {
  const server = await startHttpServer(t);
  const databases = new Set(["default"]);
  const tokens = new Set<string>();

  const ask = (statement: string): Row[] | number => {
    const tableText = /table = '(\w+)'/.exec(statement)?.[1] ?? "";
    if (statement.startsWith("SELECT name, type FROM system.columns")) {
      return Array.from(fake.tables.get(tableText)?.columns ?? [], (name) => ({
        name,
        type: fake.types.get(name) ?? "",
      }));
    }
    if (statement.startsWith("SELECT name, engine")) {
      const names = new Set(Array.from(statement.split(" IN ")[1]?.matchAll(/'(\w+)'/g) ?? [], ([, name]) => name));
      return [...fake.tables]
        .filter(([name]) => names.has(name))
        .map(([name, { engine }]) => ({ name, engine: /\w*/.exec(engine)?.[0] ?? "", engine_full: engine }));
    }
    if (statement.startsWith("SELECT name FROM system.databases")) {
      const name = /name = '(\w+)'/.exec(statement)?.[1] ?? "";
      return databases.has(name) ? [{ name }] : [];
    }
    fake.statements.push(statement);
    const database = /^CREATE DATABASE IF NOT EXISTS `(\w+)`/.exec(statement)?.[1];
    if (database !== undefined) {
      databases.add(database);
      return [];
    }
    const [, verb, , name = ""] = /^(CREATE TABLE IF NOT EXISTS|ALTER TABLE) `(\w+)`\.`(\w+)`/.exec(statement) ?? [];
    const template = / AS `\w+`\.`(\w+)`/.exec(statement)?.[1] ?? "";
    const columns = Array.from(
      statement.matchAll(/(?:^ {2}|ADD COLUMN IF NOT EXISTS )`(\w+)` (.*?)(?=,$|, ADD|$)/gm),
      (match) => {
        const [, column = "", type = ""] = match;
        if (!fake.types.has(column)) fake.types.set(column, type);
        return column;
      },
    );
    if (verb === undefined) return 62;
    const engine = statement.split("ENGINE = ")[1] ?? "";
    const like = fake.tables.get(template)?.columns;
    const table = fake.tables.get(name) ?? { columns: new Set<string>(like), rows: [], engine };
    fake.tables.set(name, table);
    for (const column of columns) table.columns.add(column);
    return [];
  };

  const insert = (parameters: URLSearchParams, body: Buffer): number | undefined => {
    const [, name = "", list = ""] =
      /^INSERT INTO `\w+`\.`(\w+)` \(([\w,]*)\) FORMAT Native$/.exec(parameters.get("query") ?? "") ?? [];
    const table = fake.tables.get(name);
    if (table === undefined) return 60;
    const named = list.split(",");
    if (named.some((column) => !table.columns.has(column))) return 16;
    const blocks = new NativeReader(body).blocks();
    const columns = blocks.flat();
    assert.deepEqual(new Set(columns.map((column) => column.name)), new Set(named), "columns are named as they come");
    const isConverted = parameters.get("input_format_native_allow_types_conversion") === "1";
    if (!isConverted && columns.some((column) => column.type !== fake.types.get(column.name))) return 53;
    const rows = blocks.flatMap(rowsOf);
    if (rows.some((row) => !fake.isReadable(row))) return 117;
    const token = parameters.get("insert_deduplication_token") ?? "";
    if (!tokens.has(token)) table.rows.push(...rows);
    tokens.add(token);
    return undefined;
  };

  server.answer = (call, response) => {
    const parameters = new URL(call.path, "http://fake").searchParams;
    const statement = parameters.get("query") ?? call.body.replace(/ FORMAT JSONEachRow$/, "");
    const judged = fake.judge(statement);
    if (judged !== undefined) return refuse(response, judged);
    if (statement.endsWith("WHERE 0")) return void response.end();
    if (statement.startsWith("INSERT")) {
      const code = insert(parameters, call.bytes);
      if (fake.isLying) return void response.socket?.resetAndDestroy();
      return code === undefined ? void response.end() : refuse(response, code);
    }
    const rows = ask(statement);
    if (typeof rows === "number") return refuse(response, rows);
    response.end(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  };

  const fake: FakeClickHouse = {
    port: server.port,
    server,
    tables: new Map(),
    statements: [],
    types: new Map([
      ["timestamp", "DateTime64(3, 'UTC')"],
      ["flow_bytes", "Nullable(UInt64)"],
      ["other", "Map(LowCardinality(String), String)"],
    ]),
    judge: () => undefined,
    isReadable: () => true,
    isLying: false,
  };
  return fake;
}

function refuse(response: ServerResponse, code: number): void {
  const status = { 516: 401, 497: 403, 60: 404, 117: 400 }[code] ?? 500;
  response.writeHead(status, { "x-clickhouse-exception-code": String(code) });
  const text = code === 53 ? "Cannot convert: String to UInt64: While executing Native" : "by the test";
  response.end(`Code: ${code}. DB::Exception: ${text}`);
}

/** The rows of blocks, each with the columns that have a value, as JSON would show them. */
export function blockRows(bytes: Buffer): Row[] {
  return new NativeReader(bytes).blocks().flatMap(rowsOf);
}

function rowsOf(block: readonly NativeColumn[]): Row[] {
  const count = block[0]?.values.length ?? 0;
  return Array.from({ length: count }, (_, row) =>
    Object.fromEntries(
      block.flatMap(({ name, type, values }) => {
        const value = shown(type, values[row] ?? null);
        const isAbsent = value === null || value === "" || value === "::" || isEmptyMap(value);
        return isAbsent ? [] : [[name, value]];
      }),
    ),
  );
}

function isEmptyMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shown(type: string, value: NativeValue): unknown {
  if (Array.isArray(value)) return value.map((item: NativeValue) => shown(type, item));
  if (typeof value === "string" && type.includes("IPv6")) return formatAddress(unmapped(BigInt(`0x${value}`)));
  if (typeof value !== "bigint") return value;
  if (type.includes("DateTime64(3")) return new Date(Number(value)).toISOString();
  if (type.includes("DateTime64(9")) return new Date(Number(value / 1_000_000n)).toISOString();
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function unmapped(value: bigint): Address {
  return value >> 32n === 0xffffn ? { family: 4, value: value & 0xffff_ffffn } : { family: 6, value };
}

/** The parameters of the inserts that a server was sent. */
export function insertsOf(calls: readonly HttpCall[]): URLSearchParams[] {
  return calls
    .map(({ path }) => new URL(path, "http://fake").searchParams)
    .filter((parameters) => parameters.get("query")?.startsWith("INSERT"));
}
