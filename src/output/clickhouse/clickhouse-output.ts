import type { Clock } from "../../report/index.ts";
import type { Batch } from "../delivery/batch.ts";
import { compressor } from "../delivery/compress.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import type { NameOf } from "../delivery/field-names.ts";
import { createHttpClient, type HttpClient } from "../delivery/http-client.ts";
import { notAcknowledged } from "../delivery/http-failure.ts";
import { allAccepted, type OutputAdapter } from "../delivery/output-adapter.ts";
import type { ClickHouseOutputConfig } from "./clickhouse-config.ts";
import { clickHouseFailure, exceptionCode, isOfTables, viewOf } from "./clickhouse-failure.ts";
import { createLayouts } from "./columns.ts";
import { prepareClickHouse } from "./prepare-clickhouse.ts";
import { createRowReader, rowsByTable, type RowReader, type TableRows } from "./rows.ts";
import { insertNothing, insertPath } from "./statements.ts";

/**
 * A batch that a materialised view refuses so often, while it takes others, is inserted without it. Its rows are in the table by
 * then, so halves of it would be there twice.
 */
const triesWithViews = 3;

/**
 * Inserts the records of a batch into the tables of their types, one request a table. A token that is the batch's own has
 * the server leave out rows that it has: exactly once, for as long as the table knows its last inserts.
 */
export function createClickHouseOutput(config: ClickHouseOutputConfig, clock: Clock, nameOf: NameOf): OutputAdapter {
  const layouts = createLayouts(nameOf);
  const { urls, headers, tls, maxConnections } = config;
  const compress = compressor(config.isCompressed ? "gzip" : "none");
  const bodyHeaders = {
    "content-type": "application/x-ndjson",
    ...(compress !== undefined && { "content-encoding": "gzip" }),
  };
  let client: HttpClient | undefined;
  let readers: readonly RowReader[] | undefined;
  /** Inserts that a view has refused, by their tokens: how often, why, and how many inserts had worked by the last time. */
  const refusedByView = new Map<string, { tries: number; worked: number; failure: DeliveryError }>();
  let worked = 0;

  const prepare = async (signal: AbortSignal): Promise<readonly string[]> => {
    client ??= createHttpClient({ urls, headers, tls, maxConnections, clock });
    const prepared = await prepareClickHouse(client, { ...config, layouts }, clock, signal);
    readers = prepared.columns.map(createRowReader);
    return prepared.warnings;
  };

  /**
   * @returns the failure of a view that was passed over.
   * @throws DeliveryError
   */
  const insert = async ({ table, token, body }: TableRows, signal: AbortSignal): Promise<DeliveryError | undefined> => {
    const layout = layouts[table];
    if (client === undefined || layout === undefined) throw new Error("not open");
    const refused = refusedByView.get(token);
    const isWithoutViews = refused !== undefined && refused.tries >= triesWithViews;
    const answer = await client.request({
      method: "POST",
      path: insertPath(config, layout, token, isWithoutViews),
      headers: bodyHeaders,
      body: [compress === undefined ? body : await compress(body)],
      signal,
    });
    if (answer.status === 200 && exceptionCode(answer) === 0) {
      if (answer.body.length > 0) throw notAcknowledged(answer, "ClickHouse");
      refusedByView.delete(token);
      worked++;
      return isWithoutViews ? refused.failure : undefined;
    }
    const failure = clickHouseFailure(answer, clock);
    if (viewOf(answer) !== undefined) {
      // As with all suspects, it counts only when others worked meanwhile: else the view fails for all.
      const tries = (refused?.tries ?? 0) + Number(refused === undefined || worked > refused.worked);
      refusedByView.set(token, { tries, worked, failure });
    }
    if (isOfTables(answer)) readers = undefined;
    throw failure;
  };

  return {
    isKnownWhole: true,
    open: prepare,
    async rehearse(batch, signal) {
      for (const { table } of rowsByTable(batch, readers ?? [])) {
        const layout = layouts[table];
        if (client === undefined || layout === undefined) throw new Error("not open");
        const body = [Buffer.from(insertNothing(config, layout))];
        const answer = await client.request({ method: "POST", path: "/?wait_end_of_query=1", body, signal });
        if (answer.status !== 200 || exceptionCode(answer) !== 0) throw clickHouseFailure(answer, clock);
      }
      return allAccepted;
    },
    async send(batch: Batch, signal) {
      if (readers === undefined) await prepare(signal);
      const tables = rowsByTable(batch, readers ?? []);
      const unfit: TableRows[] = [];
      const failures: DeliveryError[] = [];
      let lack: DeliveryError | undefined;
      for (const rows of tables) {
        try {
          lack = (await insert(rows, signal)) ?? lack;
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
    },
    async close() {
      client?.close();
    },
  };
}
