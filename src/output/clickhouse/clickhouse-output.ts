import { lz4Compress } from "@platformatic/wasm-utils";
import type { Clock } from "../../base/report/index.ts";
import type { Batch } from "../delivery/batch.ts";
import { HttpClient, notAcknowledged } from "../delivery/http-client.ts";
import { allAccepted, DeliveryError, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import { compressor, tlsOf, urlsOf } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import { clickHouseFailure, exceptionCode, isOfTables, viewOf } from "./exceptions.ts";
import type { ClickHouseSettings } from "./settings.ts";
import { insertNothing, insertPath } from "./statements.ts";
import { TableBlocks, tablesOf, type Pack, type TableInsert } from "./table-blocks.ts";
import { createLayouts, type TableLayout } from "./table-layout.ts";
import { TableSetup } from "./table-setup.ts";

/**
 * The number of times that a materialised view may refuse a batch, while it takes others, before the batch is inserted without the view.
 * The table has the rows by then, so halves of the batch would be there twice.
 */
const triesWithViews = 3;

/** Returns the function that packs blocks into the body of an insert. Work that waits for other threads comes later. */
export const packOf = (compression: ClickHouseSettings["COMPRESSION"]): Pack =>
  compression === "lz4" ? lz4Compress : (blocks) => Buffer.from(blocks);

/** Makes a client of the server, with the credentials of the settings. */
export function createClickHouseClient(settings: ClickHouseSettings, maxConnections: number, clock: Clock): HttpClient {
  const headers = {
    "x-clickhouse-user": settings.USERNAME,
    ...(settings.PASSWORD !== "" && { "x-clickhouse-key": settings.PASSWORD }),
  };
  return new HttpClient({ urls: urlsOf(settings), headers, tls: tlsOf(settings), maxConnections }, clock);
}

/**
 * Inserts the records of a batch into the tables of their types, with one request for each table. Each batch has its own
 * deduplication token, so the server skips rows that it has: exactly once, for as long as the table remembers its last inserts.
 */
export class ClickHouseOutput implements OutputAdapter {
  readonly isKnownWhole = true;
  readonly #settings: ClickHouseSettings;
  readonly #clock: Clock;
  readonly #layouts: readonly TableLayout[];
  readonly #compress: ReturnType<typeof compressor>;
  #client: HttpClient | undefined;
  #blocks: TableBlocks | undefined;
  /** Inserts that a view has refused, by token: how often, why, and how many inserts had worked by the last refusal. */
  readonly #refusedByView = new Map<string, { tries: number; worked: number; failure: DeliveryError }>();
  #worked = 0;

  constructor(settings: ClickHouseSettings, { clock, nameOf }: AdapterContext) {
    this.#settings = settings;
    this.#clock = clock;
    this.#layouts = createLayouts(nameOf);
    this.#compress = settings.COMPRESSION === "lz4" ? undefined : compressor(settings.COMPRESSION);
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const settings = this.#settings;
    this.#client ??= createClickHouseClient(settings, settings.REQUESTS_IN_FLIGHT, this.#clock);
    const prepared = await new TableSetup(this.#client, settings, this.#layouts, this.#clock, signal).prepare();
    this.#blocks = new TableBlocks(prepared.tables, packOf(this.#settings.COMPRESSION));
    return prepared.warnings;
  }

  async rehearse(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    for (const table of tablesOf(batch)) {
      const [client, layout] = this.#opened(table);
      const body = [Buffer.from(insertNothing(this.#settings, layout))];
      const answer = await client.request({ method: "POST", path: "/?wait_end_of_query=1", body, signal });
      if (answer.status !== 200 || exceptionCode(answer) !== 0) throw clickHouseFailure(answer, this.#clock);
    }
    return allAccepted;
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    if (this.#blocks === undefined) await this.open(signal);
    const inserts = this.#blocks?.insertsOf(batch) ?? [];
    const unfit: TableInsert[] = [];
    const failures: DeliveryError[] = [];
    let lack: DeliveryError | undefined;
    let cut = 0;
    for (const insert of inserts) {
      try {
        lack = (await this.#insert(insert, signal)) ?? lack;
        cut += insert.cut;
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        failures.push(error);
        unfit.push(insert);
      }
    }
    const [failure] = failures;
    if (failure === undefined) return { ...allAccepted, ...(lack !== undefined && { lack }), ...(cut > 0 && { cut }) };
    // Do not halve these: another table has taken records, and halves would have other tokens.
    if (unfit.length === inserts.length) throw failure;
    const retry = unfit.flatMap(({ indexes }) => indexes);
    const fault = failures.find(({ blame }) => blame === "operator" || blame === "store");
    return { refused: [], retry: retry.toSorted((a, b) => a - b), fault, lack, cut };
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
   * @returns the failure of a view that was ignored.
   * @throws DeliveryError
   */
  async #insert(
    { table, token, body, ...insert }: TableInsert,
    signal: AbortSignal,
  ): Promise<DeliveryError | undefined> {
    const [client, layout] = this.#opened(table);
    const { COMPRESSION: compression } = this.#settings;
    const refused = this.#refusedByView.get(token);
    const isWithoutViews = refused !== undefined && refused.tries >= triesWithViews;
    const answer = await client.request({
      method: "POST",
      path: insertPath(this.#settings, layout, { ...insert, token, isWithoutViews }),
      headers: {
        "content-type": "application/octet-stream",
        ...(compression !== "none" && { "content-encoding": compression }),
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
      // A refusal counts only when other inserts worked meanwhile, as with all suspects. Else the view fails for all.
      const tries = (refused?.tries ?? 0) + Number(refused === undefined || this.#worked > refused.worked);
      this.#refusedByView.set(token, { tries, worked: this.#worked, failure });
    }
    if (isOfTables(answer)) this.#blocks = undefined;
    throw failure;
  }
}
