import { otherColumn, type Column, type TableLayout, canHold, createLayouts } from "./table-rows.ts";
import type { Clock } from "../../base/report/index.ts";
import { DeliveryError, type Blame } from "../delivery/output-adapter.ts";
import { type HttpAnswer, HttpClient } from "../delivery/http-client.ts";
import { httpFailure, notAcknowledged } from "../delivery/http-client.ts";
import { type ColumnsByField, createRowReader, rowsByTable, type RowReader, type TableRows } from "./table-rows.ts";
import type { Batch } from "../delivery/batch.ts";
import { compressor } from "../http/server-settings.ts";
import { allAccepted, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import { tlsOf, urlsOf } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { ClickHouseSettings } from "./settings.ts";

/** A name in a statement: `` `flow` ``. */
function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** A text in a statement: `'flow'`. */
function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

type Names = Pick<ClickHouseSettings, "DATABASE" | "TABLE_PREFIX">;

function tableName({ DATABASE, TABLE_PREFIX }: Names, layout: TableLayout): string {
  return `${quotedName(DATABASE)}.${quotedName(TABLE_PREFIX + layout.name)}`;
}

const definition = ({ name, type }: Pick<Column, "name" | "type">): string => `${quotedName(name)} ${type}`;

/** The number of the last inserts that a table knows again. */
const deduplicationWindow = 10_000;

function createTable(settings: Names & Pick<ClickHouseSettings, "TABLE_TTL">, layout: TableLayout): string {
  const columns = [...layout.columns, otherColumn].map(definition).join(",\n  ");
  const days = settings.TABLE_TTL;
  const ttl = days === 0 ? "" : `TTL toDateTime(timestamp) + INTERVAL ${days} DAY\n`;
  return (
    `CREATE TABLE IF NOT EXISTS ${tableName(settings, layout)} (\n  ${columns}\n) ENGINE = MergeTree\n` +
    `PARTITION BY toDate(timestamp)\nORDER BY (${layout.orderBy})\n${ttl}` +
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, ttl_only_drop_parts = 1`
  );
}

function addColumns(settings: Names, layout: TableLayout, columns: readonly Column[]): string {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${definition(column)}`).join(", ");
  return `ALTER TABLE ${tableName(settings, layout)} ${added}`;
}

/**
 * The path of a request that inserts rows. The server answers when they are stored, each insert is an insert of its own
 * (`async_insert`), and rows that come again with the same token are left out.
 *
 * @param withoutViews whether views that fail are passed over.
 */
function insertPath(settings: Names, layout: TableLayout, token: string, withoutViews: boolean): string {
  const parameters = new URLSearchParams({
    query: `INSERT INTO ${tableName(settings, layout)} FORMAT JSONEachRow`,
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
function insertNothing(settings: Names, layout: TableLayout): string {
  return `INSERT INTO ${tableName(settings, layout)} (timestamp) SELECT now64(3) WHERE 0`;
}

/** Codes of exceptions (ClickHouse's `ErrorCodes`) by who is at fault. Others: a record may bring them about, such as by a view. */
const codes: Readonly<Record<Exclude<Blame, "unclear">, ReadonlySet<number>>> = {
  record: new Set([
    6, 25, 26, 27, 33, 34, 38, 41, 53, 69, 70, 72, 117, 128, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675, 676,
  ]),
  // Names, permissions, users, quotas, read-only, a full disk.
  operator: new Set([
    16, 36, 47, 48, 60, 80, 81, 115, 164, 180, 192, 193, 194, 195, 201, 242, 243, 290, 291, 344, 452, 497, 516,
  ]),
  // Time, load, memory, parts, the network, replicas and their keeper.
  store: new Set([
    3, 74, 75, 76, 158, 159, 160, 172, 198, 202, 203, 204, 209, 210, 212, 215, 218, 225, 236, 241, 252, 254, 265, 279,
    285, 289, 299, 305, 307, 319, 335, 394, 415, 425, 439, 473, 479, 735, 999, 1000, 1002,
  ]),
};
/** There is no such table, database or column (any more): they are judged again before the next try. */
const ofTables: ReadonlySet<number> = new Set([16, 60, 81]);

/** The code of the exception that an answer carries; 0: none. */
function exceptionCode({ headers, body, status }: HttpAnswer): number {
  const header = Number(headers["x-clickhouse-exception-code"] ?? 0);
  if (header > 0 || (status >= 200 && status < 300)) return header;
  return Number(/^Code: ([0-9]+)\b/.exec(body.subarray(0, 32).toString())?.[1] ?? 0);
}

/**
 * Returns the error for an answer that is no success. Of rows that the server cannot read it names the first at best, so they are
 * found by halves.
 */
function clickHouseFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const code = exceptionCode(answer);
  if (code === 0) {
    const failure = httpFailure(answer, clock);
    const { blame, message, retryAfterMs } = failure;
    // A proxy's fault: the server may have the rows.
    return blame === "unclear" ? new DeliveryError("store", failure.code, message, { retryAfterMs }) : failure;
  }
  const place = new URL(answer.url).host;
  const said = answer.body.subarray(0, 400).toString().replaceAll(/\s+/g, " ").trim();
  const view = viewOf(answer);
  if (view !== undefined) {
    const text = `the materialised view ${view} fails: mend or detach it: ${said}`;
    return new DeliveryError("unclear", `exception_${code}`, `${place}: ${text}`, { isWhole: true });
  }
  const blame = (["record", "operator", "store"] as const).find((one) => codes[one].has(code)) ?? "unclear";
  const what = blame === "record" ? "refuses the content" : "answers";
  return new DeliveryError(blame, `exception_${code}`, `${place} ${what}: ${said}`);
}

/** The materialised view that could not take the rows. Its table has them by then. */
function viewOf({ body }: HttpAnswer): string | undefined {
  return /while pushing to view (\S+?)[.,]?[\s(]/.exec(body.toString())?.[1];
}

function isOfTables(answer: HttpAnswer): boolean {
  return ofTables.has(exceptionCode(answer));
}

const accessDenied = 497;

/** Makes the database, tables and columns that are missing, and learns which columns there are: a table may be an operator's own. */
class TableSetup {
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
   * @returns the columns of each layout.
   * @throws DeliveryError when the server cannot be used, or a table cannot hold records.
   */
  async prepare(): Promise<{ readonly columns: readonly ColumnsByField[]; readonly warnings: readonly string[] }> {
    const { DATABASE: database, TABLE_CREATE: isTableMade } = this.#settings;
    if (isTableMade) {
      const found = await this.#rowsOf(`SELECT name FROM system.databases WHERE name = ${quotedText(database)}`);
      if (found.length === 0) await this.#run(`CREATE DATABASE IF NOT EXISTS ${quotedName(database)}`);
    }
    const columns: ColumnsByField[] = [];
    for (const layout of this.#layouts) columns.push(await this.#prepareTable(layout));
    await this.#judgeDeduplication();
    return { columns, warnings: this.#warnings };
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
  /** The types of a table's columns, by their names. */
  async #columnsOf(layout: TableLayout): Promise<ReadonlyMap<string, string>> {
    const table = `database = ${quotedText(this.#settings.DATABASE)} AND table = ${quotedText(this.#settings.TABLE_PREFIX + layout.name)}`;
    const rows = await this.#rowsOf(`SELECT name, type FROM system.columns WHERE ${table}`);
    return new Map(rows.map(({ name = "", type = "" }) => [name, type]));
  }

  async #prepareTable(layout: TableLayout): Promise<ColumnsByField> {
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
      await this.#run(createTable(this.#settings, layout));
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
      const answer = await this.#ask(addColumns(this.#settings, layout, missing));
      if (answer.status === 200) found = await this.#columnsOf(layout);
      else if (exceptionCode(answer) === accessDenied) {
        this.#warnings.push(
          `the table ${name} lacks ${missing.length} columns that the user may not add: their fields go to the column ${otherColumn.name}`,
        );
      } else throw clickHouseFailure(answer, this.#clock);
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
      this.#warnings.push(
        `the column ${one.name} of the table ${name} is ${type} and cannot hold ${one.field}, which is ${one.type}: its values go to the column ${otherColumn.name}`,
      );
    }
    return new Map(used.map((one) => [one.field, one]));
  }

  async #judgeDeduplication(): Promise<void> {
    const names = this.#layouts.map(({ name }) => quotedText(this.#settings.TABLE_PREFIX + name)).join(", ");
    const tables = await this.#rowsOf(
      `SELECT name, engine, engine_full FROM system.tables WHERE database = ${quotedText(this.#settings.DATABASE)} AND name IN (${names})`,
    );
    for (const { name = "", engine = "", engine_full: full = "" } of tables) {
      if (/^(Replicated|Shared)/.test(engine) || /non_replicated_deduplication_window = [1-9]/.test(full)) continue;
      this.#warnings.push(
        `the table ${name} does not recognise inserts that are sent again: records may be there twice`,
      );
    }
  }
}

/**
 * A batch that a materialised view refuses so often, while it takes others, is inserted without it. Its rows are in the table by
 * then, so halves of it would be there twice.
 */
const triesWithViews = 3;

/** Makes a client of the server, with the credentials of the settings. */
export function createClickHouseClient(settings: ClickHouseSettings, maxConnections: number, clock: Clock): HttpClient {
  const headers = {
    "x-clickhouse-user": settings.USERNAME,
    ...(settings.PASSWORD !== "" && { "x-clickhouse-key": settings.PASSWORD }),
  };
  return new HttpClient({ urls: urlsOf(settings), headers, tls: tlsOf(settings), maxConnections }, clock);
}

/**
 * Inserts the records of a batch into the tables of their types, one request a table. A token that is the batch's own has
 * the server leave out rows that it has: exactly once, for as long as the table knows its last inserts.
 */
export class ClickHouseOutput implements OutputAdapter {
  readonly isKnownWhole = true;
  readonly #settings: ClickHouseSettings;
  readonly #clock: Clock;
  readonly #layouts: readonly TableLayout[];
  readonly #compress: ReturnType<typeof compressor>;
  #client: HttpClient | undefined;
  #readers: readonly RowReader[] | undefined;
  /** Inserts that a view has refused, by their tokens: how often, why, and how many inserts had worked by the last time. */
  readonly #refusedByView = new Map<string, { tries: number; worked: number; failure: DeliveryError }>();
  #worked = 0;

  constructor(settings: ClickHouseSettings, { clock, nameOf }: AdapterContext) {
    this.#settings = settings;
    this.#clock = clock;
    this.#layouts = createLayouts(nameOf);
    this.#compress = compressor(settings.COMPRESSION);
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const settings = this.#settings;
    this.#client ??= createClickHouseClient(settings, settings.REQUESTS_IN_FLIGHT, this.#clock);
    const prepared = await new TableSetup(this.#client, settings, this.#layouts, this.#clock, signal).prepare();
    this.#readers = prepared.columns.map(createRowReader);
    return prepared.warnings;
  }

  async rehearse(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    for (const { table } of rowsByTable(batch, this.#readers ?? [])) {
      const [client, layout] = this.#opened(table);
      const body = [Buffer.from(insertNothing(this.#settings, layout))];
      const answer = await client.request({ method: "POST", path: "/?wait_end_of_query=1", body, signal });
      if (answer.status !== 200 || exceptionCode(answer) !== 0) throw clickHouseFailure(answer, this.#clock);
    }
    return allAccepted;
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    if (this.#readers === undefined) await this.open(signal);
    const tables = rowsByTable(batch, this.#readers ?? []);
    const unfit: TableRows[] = [];
    const failures: DeliveryError[] = [];
    let lack: DeliveryError | undefined;
    for (const rows of tables) {
      try {
        lack = (await this.#insert(rows, signal)) ?? lack;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        failures.push(error);
        unfit.push(rows);
      }
    }
    const [failure] = failures;
    if (failure === undefined) return lack === undefined ? allAccepted : { ...allAccepted, lack };
    // Records that another table has taken must not be halved with these: they would have other tokens.
    if (unfit.length === tables.length) throw failure;
    const retry = unfit.flatMap(({ indexes }) => indexes);
    const fault = failures.find(({ blame }) => blame === "operator" || blame === "store");
    return { refused: [], retry: retry.toSorted((a, b) => a - b), fault, lack };
  }

  async close(): Promise<void> {
    this.#client?.close();
  }

  #opened(table: number): [HttpClient, TableLayout] {
    const layout = this.#layouts[table];
    if (this.#client === undefined || layout === undefined) throw new Error("not open");
    return [this.#client, layout];
  }

  /**
   * @returns the failure of a view that was passed over.
   * @throws DeliveryError
   */
  async #insert({ table, token, body }: TableRows, signal: AbortSignal): Promise<DeliveryError | undefined> {
    const [client, layout] = this.#opened(table);
    const refused = this.#refusedByView.get(token);
    const isWithoutViews = refused !== undefined && refused.tries >= triesWithViews;
    const answer = await client.request({
      method: "POST",
      path: insertPath(this.#settings, layout, token, isWithoutViews),
      headers: {
        "content-type": "application/x-ndjson",
        ...(this.#compress !== undefined && { "content-encoding": "gzip" }),
      },
      body: [this.#compress === undefined ? body : await this.#compress(body)],
      signal,
    });
    if (answer.status === 200 && exceptionCode(answer) === 0) {
      if (answer.body.length > 0) throw notAcknowledged(answer, "ClickHouse");
      this.#refusedByView.delete(token);
      this.#worked++;
      return isWithoutViews ? refused.failure : undefined;
    }
    const failure = clickHouseFailure(answer, this.#clock);
    if (viewOf(answer) !== undefined) {
      // As with all suspects, it counts only when others worked meanwhile: else the view fails for all.
      const tries = (refused?.tries ?? 0) + Number(refused === undefined || this.#worked > refused.worked);
      this.#refusedByView.set(token, { tries, worked: this.#worked, failure });
    }
    if (isOfTables(answer)) this.#readers = undefined;
    throw failure;
  }
}
