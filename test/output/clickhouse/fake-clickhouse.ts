import type { ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { startHttpServer, type HttpCall, type HttpServerFake } from "../http/http-fixture.ts";

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
      return Array.from(fake.tables, ([name, { engine }]) => ({ name, engine: "MergeTree", engine_full: engine }));
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
    const columns = Array.from(
      statement.matchAll(/(?:^ {2}|ADD COLUMN IF NOT EXISTS )`(\w+)` (.*?)(?=,$|, ADD|$)/gm),
      (match) => {
        const [, column = "", type = ""] = match;
        if (!fake.types.has(column)) fake.types.set(column, type);
        return column;
      },
    );
    if (verb === undefined) return 62;
    const table = fake.tables.get(name) ?? { columns: new Set<string>(), rows: [], engine: statement };
    fake.tables.set(name, table);
    for (const column of columns) table.columns.add(column);
    return [];
  };

  const insert = (parameters: URLSearchParams, body: string): number | undefined => {
    const name = /^INSERT INTO `\w+`\.`(\w+)` FORMAT JSONEachRow$/.exec(parameters.get("query") ?? "")?.[1] ?? "";
    const table = fake.tables.get(name);
    if (table === undefined) return 60;
    const rows = body
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Row);
    if (rows.some((row) => !fake.isReadable(row) || Object.keys(row).some((column) => !table.columns.has(column))))
      return 117;
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
      const code = insert(parameters, call.body);
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
  response.end(`Code: ${code}. DB::Exception: by the test`);
}

/** The parameters of the inserts that a server was sent. */
export function insertsOf(calls: readonly HttpCall[]): URLSearchParams[] {
  return calls
    .map(({ path }) => new URL(path, "http://fake").searchParams)
    .filter((parameters) => parameters.get("query")?.startsWith("INSERT"));
}
