import type { Clock } from "../../report/index.ts";
import { compressor } from "../delivery/compress.ts";
import { createHttpClient, type HttpClient } from "../delivery/http-client.ts";
import { httpFailure } from "../delivery/http-failure.ts";
import type { NameOf } from "../delivery/field-names.ts";
import type { OutputAdapter } from "../delivery/output-adapter.ts";
import { bulkBody, bulkOutcome, bulkPath } from "./bulk.ts";
import { createIndexOf } from "./index-names.ts";
import { prepareSearch } from "./prepare-search.ts";
import type { SearchOutputConfig } from "./search-config.ts";

/**
 * Brings records to Elasticsearch or OpenSearch by `_bulk`. Each has an identity of its own, so a batch that is sent again is
 * kept once, as long as its index is the same: a data stream that was rolled over between two tries may keep it twice.
 */
export function createSearchOutput(config: SearchOutputConfig, clock: Clock, nameOf: NameOf): OutputAdapter {
  const { urls, headers, tls, maxConnections } = config;
  const indexOf = createIndexOf(config);
  const compress = config.isCompressed ? compressor("gzip") : undefined;
  const bodyHeaders = {
    "content-type": "application/x-ndjson",
    ...(compress !== undefined && { "content-encoding": "gzip" }),
  };
  let client: HttpClient | undefined;
  return {
    async open(signal) {
      client ??= createHttpClient({ urls, headers, tls, maxConnections, clock });
      return prepareSearch(client, { ...config, nameOf }, clock, signal);
    },
    async send(batch, signal) {
      if (client === undefined) throw new Error("not open");
      const plain = bulkBody(batch, indexOf);
      const body = [compress === undefined ? plain : await compress(plain)];
      const answer = await client.request({ method: "POST", path: bulkPath, headers: bodyHeaders, body, signal });
      if (answer.status !== 200) throw httpFailure(answer, clock);
      return bulkOutcome(answer, batch);
    },
    async close() {
      client?.close();
    },
  };
}
