import type { Clock } from "../../base/report/index.ts";
import type { HttpAnswer, HttpClient } from "../delivery/http-client.ts";
import { DeliveryError } from "../delivery/output-adapter.ts";
import { accessDenied, clickHouseFailure, exceptionCode } from "./exceptions.ts";
import { sentColumn, type SentColumn } from "./sent-column.ts";
import type { ClickHouseSettings } from "./settings.ts";
import { addColumns, createDatabase, createTables, quotedText } from "./statements.ts";
import { otherColumn, type TableColumn, type TableLayout } from "./table-layout.ts";

/** Creates missing databases, tables and columns, and reads which columns exist: a table may be an operator's own. */
export class TableSetup {
  readonly #client: HttpClient;
  readonly #settings: ClickHouseSettings;
  readonly #layouts: readonly TableLayout[];
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #warnings: string[] = [];

  constructor(
    client: HttpClient,
    settings: ClickHouseSettings,
    layouts: readonly TableLayout[],
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#layouts = layouts;
    this.#clock = clock;
    this.#signal = signal;
  }

  /**
   * @returns the columns sent to the table of each layout.
   * @throws DeliveryError when the server cannot be used, or a table cannot hold records.
   */
  async prepare(): Promise<{
    readonly tables: readonly (readonly SentColumn[])[];
    readonly warnings: readonly string[];
  }> {
    const { DATABASE: database, TABLE_CREATE: isTableMade } = this.#settings;
    if (isTableMade) {
      const found = await this.#rowsOf(`SELECT name FROM system.databases WHERE name = ${quotedText(database)}`);
      if (found.length === 0) await this.#run(createDatabase(this.#settings));
    }
    const tables: (readonly SentColumn[])[] = [];
    for (const layout of this.#layouts) tables.push(await this.#prepareTable(layout));
    await this.#judgeDeduplication();
    return { tables, warnings: this.#warnings };
  }

  #ask(statement: string): Promise<HttpAnswer> {
    const body = [Buffer.from(statement)];
    return this.#client.request({ method: "POST", path: "/?wait_end_of_query=1", body, signal: this.#signal });
  }

  async #run(statement: string): Promise<HttpAnswer> {
    const answer = await this.#ask(statement);
    if (answer.status !== 200 || exceptionCode(answer) !== 0) {
      const { blame, code, message, retryAfterMs } = clickHouseFailure(answer, this.#clock);
      if (blame === "store") throw new DeliveryError(blame, code, message, { retryAfterMs });
      throw new DeliveryError("operator", code, `a statement is refused: ${message}`);
    }
    return answer;
  }

  async #rowsOf(query: string): Promise<Record<string, string>[]> {
    const { body, url } = await this.#run(`${query} FORMAT JSONEachRow`);
    try {
      const lines = body.toString().split("\n");
      return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, string>);
    } catch (error) {
      throw new DeliveryError("store", "protocol", `the answer of ${new URL(url).host} is not ClickHouse's`, {
        cause: error,
      });
    }
  }
  /** Returns the types of a table's columns by name. */
  async #columnsOf(layout: TableLayout): Promise<ReadonlyMap<string, string>> {
    const table = `database = ${quotedText(this.#settings.DATABASE)} AND table = ${quotedText(this.#settings.TABLE_PREFIX + layout.name)}`;
    const rows = await this.#rowsOf(`SELECT name, type FROM system.columns WHERE ${table}`);
    return new Map(rows.map(({ name = "", type = "" }) => [name, type]));
  }

  async #prepareTable(layout: TableLayout): Promise<readonly SentColumn[]> {
    const name = this.#settings.TABLE_PREFIX + layout.name;
    let found = await this.#columnsOf(layout);
    if (found.size === 0) {
      if (!this.#settings.TABLE_CREATE) {
        throw new DeliveryError(
          "operator",
          "configuration",
          `the table ${name} is not in ${this.#settings.DATABASE}, or may not be seen`,
        );
      }
      for (const statement of createTables(this.#settings, layout)) await this.#run(statement);
      found = await this.#columnsOf(layout);
    }
    if (!found.has("timestamp") || !found.has(otherColumn.name)) {
      throw new DeliveryError(
        "operator",
        "configuration",
        `the table ${name} needs the columns timestamp and ${otherColumn.name} ${otherColumn.type}`,
      );
    }
    const missing = layout.columns.filter((column) => !found.has(column.name));
    if (missing.length > 0 && this.#settings.TABLE_CREATE) {
      await this.#addColumns(layout, missing);
      found = await this.#columnsOf(layout);
    }
    return this.#sentColumns(layout, found);
  }

  async #addColumns(layout: TableLayout, missing: readonly TableColumn[]): Promise<void> {
    for (const statement of addColumns(this.#settings, layout, missing)) {
      const answer = await this.#ask(statement);
      if (answer.status === 200) continue;
      if (exceptionCode(answer) !== accessDenied) throw clickHouseFailure(answer, this.#clock);
      this.#warnings.push(
        `the table ${this.#settings.TABLE_PREFIX + layout.name} lacks ${missing.length} columns that the user may not add: their fields go to the column ${otherColumn.name}`,
      );
      return;
    }
  }

  #sentColumns(layout: TableLayout, found: ReadonlyMap<string, string>): SentColumn[] {
    const name = this.#settings.TABLE_PREFIX + layout.name;
    return layout.columns.flatMap((one) => {
      const type = found.get(one.name);
      if (type === undefined) return [];
      const sent = sentColumn(one, type);
      if (sent !== undefined) return [sent];
      if (one.field === "@timestamp") {
        const text = `the column timestamp of the table ${name} is ${type}: it must be ${one.type}`;
        throw new DeliveryError("operator", "configuration", text);
      }
      this.#warnings.push(
        `the column ${one.name} of the table ${name} is ${type} and cannot hold ${one.field}, which is ${one.type}: its values go to the column ${otherColumn.name}`,
      );
      return [];
    });
  }

  async #judgeDeduplication(): Promise<void> {
    const { DATABASE: database, TABLE_PREFIX: prefix } = this.#settings;
    for (const table of await this.#enginesOf(
      database,
      this.#layouts.map(({ name }) => prefix + name),
    )) {
      if (await this.#isKnownAgain(table)) continue;
      this.#warnings.push(
        `the table ${table.name} does not recognise inserts that are sent again: records may be there twice`,
      );
    }
  }

  async #isKnownAgain({ engine, full }: TableEngine): Promise<boolean> {
    const [, database = "", name, shardBy = ""] =
      /^Distributed\('[^']*', '([^']*)', '([^']*)'(?:, (.*))?\)/s.exec(full) ?? [];
    if (name === undefined) {
      return /^(Replicated|Shared)/.test(engine) || /non_replicated_deduplication_window = [1-9]/.test(full);
    }
    // Rows sent again must reach the same shard. The sharding of another server cannot be checked.
    if (/\brand/i.test(shardBy)) return false;
    const [kept] = await this.#enginesOf(database, [name]);
    return kept === undefined || kept.engine === "Distributed" || this.#isKnownAgain(kept);
  }

  async #enginesOf(database: string, names: readonly string[]): Promise<TableEngine[]> {
    const rows = await this.#rowsOf(
      `SELECT name, engine, engine_full FROM system.tables WHERE database = ${quotedText(database)} AND name IN (${names.map(quotedText).join(", ")})`,
    );
    return rows.map(({ name = "", engine = "", engine_full: full = "" }) => ({ name, engine, full }));
  }
}

interface TableEngine {
  readonly name: string;
  readonly engine: string;
  /** The engine with its parameters and settings. */
  readonly full: string;
}
