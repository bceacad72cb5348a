import type { Clock } from "../../report/index.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import type { HttpAnswer, HttpClient } from "../delivery/http-client.ts";
import type { ClickHouseOutputConfig } from "./clickhouse-config.ts";
import { clickHouseFailure, exceptionCode } from "./clickhouse-failure.ts";
import { canHold, otherColumn, type TableLayout } from "./columns.ts";
import type { ColumnsByField } from "./rows.ts";
import { addColumns, createTable, quotedName, quotedText } from "./statements.ts";

export interface PreparedTables {
  /** For each of the layouts. */
  readonly columns: readonly ColumnsByField[];
  readonly warnings: readonly string[];
}

const accessDenied = 497;

/**
 * Makes the database, tables and columns that are missing, and learns which columns there are: a table may be an operator's own.
 *
 * @throws DeliveryError when the server cannot be used, or a table cannot hold records.
 */
export async function prepareClickHouse(
  client: HttpClient,
  config: ClickHouseOutputConfig & { readonly layouts: readonly TableLayout[] },
  clock: Clock,
  signal: AbortSignal,
): Promise<PreparedTables> {
  const { database, tablePrefix, isTableMade, layouts } = config;
  const warnings: string[] = [];
  const ask = (statement: string): Promise<HttpAnswer> =>
    client.request({ method: "POST", path: "/?wait_end_of_query=1", body: [Buffer.from(statement)], signal });
  const run = async (statement: string): Promise<HttpAnswer> => {
    const answer = await ask(statement);
    if (answer.status !== 200 || exceptionCode(answer) !== 0) {
      const { blame, code, message, retryAfterMs } = clickHouseFailure(answer, clock);
      if (blame === "store") throw new DeliveryError(blame, code, message, { retryAfterMs });
      throw new DeliveryError("operator", code, `a statement is refused: ${message}`);
    }
    return answer;
  };
  const rowsOf = async (query: string): Promise<Record<string, string>[]> => {
    const { body, url } = await run(`${query} FORMAT JSONEachRow`);
    try {
      const lines = body.toString().split("\n");
      return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, string>);
    } catch (error) {
      throw new DeliveryError("store", "protocol", `the answer of ${new URL(url).host} is not ClickHouse's`, {
        cause: error,
      });
    }
  };
  /** The types of a table's columns, by their names. */
  const columnsOf = async (layout: TableLayout): Promise<ReadonlyMap<string, string>> => {
    const table = `database = ${quotedText(database)} AND table = ${quotedText(tablePrefix + layout.name)}`;
    const rows = await rowsOf(`SELECT name, type FROM system.columns WHERE ${table}`);
    return new Map(rows.map(({ name = "", type = "" }) => [name, type]));
  };

  const prepareTable = async (layout: TableLayout): Promise<ColumnsByField> => {
    const name = tablePrefix + layout.name;
    let found = await columnsOf(layout);
    if (found.size === 0) {
      if (!isTableMade) {
        throw new DeliveryError(
          "operator",
          "configuration",
          `the table ${name} is not in ${database}, or may not be seen`,
        );
      }
      await run(createTable(config, layout));
      found = await columnsOf(layout);
    }
    if (!found.has("timestamp") || !found.has(otherColumn.name)) {
      throw new DeliveryError(
        "operator",
        "configuration",
        `the table ${name} needs the columns timestamp and ${otherColumn.name} ${otherColumn.type}`,
      );
    }
    const missing = layout.columns.filter((column) => !found.has(column.name));
    if (missing.length > 0 && isTableMade) {
      const answer = await ask(addColumns(config, layout, missing));
      if (answer.status === 200) found = await columnsOf(layout);
      else if (exceptionCode(answer) === accessDenied) {
        warnings.push(
          `the table ${name} lacks ${missing.length} columns that the user may not add: their fields go to the column ${otherColumn.name}`,
        );
      } else throw clickHouseFailure(answer, clock);
    }
    const there = layout.columns.filter((one) => found.has(one.name));
    const used = there.filter((one) => canHold(one, found.get(one.name) ?? ""));
    for (const one of there) {
      if (used.includes(one)) continue;
      const type = found.get(one.name);
      if (one.field === "@timestamp") {
        const text = `the column timestamp of the table ${name} is ${type}: it must be ${one.type}`;
        throw new DeliveryError("operator", "configuration", text);
      }
      warnings.push(
        `the column ${one.name} of the table ${name} is ${type} and cannot hold ${one.field}, which is ${one.type}: its values go to the column ${otherColumn.name}`,
      );
    }
    return new Map(used.map((one) => [one.field, one]));
  };

  const judgeDeduplication = async (): Promise<void> => {
    const names = layouts.map(({ name }) => quotedText(tablePrefix + name)).join(", ");
    const tables = await rowsOf(
      `SELECT name, engine, engine_full FROM system.tables WHERE database = ${quotedText(database)} AND name IN (${names})`,
    );
    for (const { name = "", engine = "", engine_full: full = "" } of tables) {
      if (/^(Replicated|Shared)/.test(engine) || /non_replicated_deduplication_window = [1-9]/.test(full)) continue;
      warnings.push(`the table ${name} does not recognise inserts that are sent again: records may be there twice`);
    }
  };

  if (isTableMade) {
    const found = await rowsOf(`SELECT name FROM system.databases WHERE name = ${quotedText(database)}`);
    if (found.length === 0) await run(`CREATE DATABASE IF NOT EXISTS ${quotedName(database)}`);
  }
  const columns: ColumnsByField[] = [];
  for (const layout of layouts) columns.push(await prepareTable(layout));
  await judgeDeduplication();
  return { columns, warnings };
}
