import type { Clock } from "../../report/index.ts";
import { joinChunks, type Batch } from "../delivery/batch.ts";
import { compressor, type Compression } from "../delivery/compress.ts";
import { createHttpClient, type HttpClient } from "../delivery/http-client.ts";
import { httpFailure } from "../delivery/http-failure.ts";
import { allAccepted, type OutputAdapter } from "../delivery/output-adapter.ts";
import type { TlsConfig } from "../delivery/tls-options.ts";

/** What the settings say of an output by HTTP; plain data. */
export interface HttpOutputConfig {
  readonly kind: "http";
  /** Each `http://…` or `https://…`, without credentials; one or more. */
  readonly urls: readonly string[];
  /** `ndjson`: a record a line. `array`: one JSON array. */
  readonly format: "ndjson" | "array";
  readonly compression: Compression;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsConfig;
  readonly maxConnections: number;
}

/**
 * Posts each batch as one request; any status from 200 to 299 acknowledges it. The server cannot know a batch again, so an
 * acknowledgement that was lost has records arrive twice: at least once.
 */
export function createHttpOutput(config: HttpOutputConfig, clock: Clock): OutputAdapter {
  const { urls, format, compression, tls, maxConnections } = config;
  const compress = compressor(compression);
  const bodyHeaders = {
    "content-type": format === "ndjson" ? "application/x-ndjson" : "application/json",
    ...(compress !== undefined && { "content-encoding": compression }),
  };
  let client: HttpClient | undefined;

  const bodyOf = async (batch: Batch): Promise<readonly Uint8Array[]> => {
    const plain = format === "ndjson" ? batch.chunks : asArray(batch);
    if (compress === undefined) return plain;
    const byteLength = plain.reduce((sum, chunk) => sum + chunk.length, 0);
    return [await compress(joinChunks({ chunks: plain, byteLength }))];
  };

  return {
    async open(signal) {
      client ??= createHttpClient({ urls, headers: config.headers, tls, maxConnections, clock });
      // Any answer will do: what a webhook says to a request without records means nothing.
      const { status } = await client.request({ method: "OPTIONS", path: "", signal });
      return status === 401 || status === 403
        ? [`the server answers ${status} to a first request without records`]
        : [];
    },
    async send(batch, signal) {
      if (client === undefined) throw new Error("not open");
      const answer = await client.request({
        method: "POST",
        path: "",
        headers: bodyHeaders,
        body: await bodyOf(batch),
        signal,
      });
      if (answer.status >= 200 && answer.status < 300) return allAccepted;
      throw httpFailure(answer, clock);
    },
    async close() {
      client?.close();
    },
  };
}

const lineFeed = 0x0a;
const comma = 0x2c;

/** The lines as a JSON array: each line feed becomes a comma, the last one the end. */
function asArray(batch: Batch): readonly Uint8Array[] {
  const text = Buffer.allocUnsafeSlow(batch.byteLength + 1);
  text[0] = 0x5b;
  let at = 1;
  for (const chunk of batch.chunks) {
    text.set(chunk, at);
    for (let end = text.indexOf(lineFeed, at); end >= 0 && end < at + chunk.length; end = text.indexOf(lineFeed, end)) {
      text[end] = comma;
    }
    at += chunk.length;
  }
  text[at - 1] = 0x5d;
  return [text];
}
